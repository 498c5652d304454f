#pragma once
#include <stdint.h>
#include <sys/types.h>
typedef size_t socklen_t;
typedef unsigned short sa_family_t;
struct in_addr {
  uint32_t s_addr;
};
struct sockaddr {
  sa_family_t sa_family;
  char data[24];
};
struct sockaddr_in {
  sa_family_t sin_family;
  uint16_t sin_port;
  struct in_addr sin_addr;
};
struct ip_mreqn {
  struct in_addr imr_multiaddr;
  struct in_addr imr_address;
  int imr_ifindex;
};
#define AF_INET 1
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define IPPROTO_IP 0
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IP_ADD_MEMBERSHIP 35
#define ZSOCK_MSG_PEEK 2
uint16_t htons(uint16_t value);
uint16_t ntohs(uint16_t value);
int zsock_socket(int family, int type, int protocol);
int zsock_close(int fd);
int zsock_bind(int fd, const struct sockaddr *address, socklen_t len);
int zsock_listen(int fd, int backlog);
int zsock_accept(int fd, struct sockaddr *address, socklen_t *len);
int zsock_fcntl(int fd, int command, ...);
int zsock_inet_pton(sa_family_t family, const char *text, void *out);
int zsock_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
ssize_t zsock_recv(int fd, void *bytes, size_t len, int flags);
ssize_t zsock_recvfrom(int fd, void *bytes, size_t len, int flags, struct sockaddr *from, socklen_t *from_len);
ssize_t zsock_send(int fd, const void *bytes, size_t len, int flags);
ssize_t zsock_sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t to_len);
