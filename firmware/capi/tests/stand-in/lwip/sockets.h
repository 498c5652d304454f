#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
typedef uint32_t socklen_t;
typedef uint8_t sa_family_t;
typedef uint16_t in_port_t;
typedef uint32_t in_addr_t;
struct in_addr {
  in_addr_t s_addr;
};
struct sockaddr {
  uint8_t sa_len;
  sa_family_t sa_family;
  char sa_data[14];
};
struct sockaddr_in {
  uint8_t sin_len;
  sa_family_t sin_family;
  in_port_t sin_port;
  struct in_addr sin_addr;
  char sin_zero[8];
};
struct ip_mreq {
  struct in_addr imr_multiaddr;
  struct in_addr imr_interface;
};
#define AF_INET 2
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOL_SOCKET 0xfff
#define SO_REUSEADDR 4
#define IPPROTO_IP 0
#define IPPROTO_TCP 6
#define TCP_NODELAY 1
#define IP_ADD_MEMBERSHIP 3
#define INADDR_ANY ((uint32_t)0)
#define MSG_PEEK 1
uint16_t htons(uint16_t value);
uint16_t ntohs(uint16_t value);
uint32_t htonl(uint32_t value);
in_addr_t inet_addr(const char *text);
int socket(int domain, int type, int protocol);
int accept(int fd, struct sockaddr *address, socklen_t *len);
int bind(int fd, const struct sockaddr *address, socklen_t len);
int listen(int fd, int backlog);
int setsockopt(int fd, int level, int option, const void *value, socklen_t len);
ssize_t recv(int fd, void *bytes, size_t len, int flags);
ssize_t recvfrom(int fd, void *bytes, size_t len, int flags, struct sockaddr *from, socklen_t *from_len);
ssize_t send(int fd, const void *bytes, size_t len, int flags);
ssize_t sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t to_len);
