/* Where Android's C library differs from glibc, so that the library for Android can be called on Linux for arm64. It is built as
 * libc.so, which that library asks for. All else that it needs is in glibc by the same name and with the same layout.
 * Source: bionic's <netdb.h>, <pthread.h>, <string.h> and <bits/sysconf.h>. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int *__errno(void) { return &errno; }

extern int __xpg_strerror_r(int, char *, size_t);
int bionic_strerror_r(int number, char *text, size_t size) __asm__("strerror_r");
int bionic_strerror_r(int number, char *text, size_t size) { return __xpg_strerror_r(number, text, size); }

long sysconf(int name) {
  switch (name) {
    case 0x27: /* _SC_PAGESIZE */
    case 0x28: /* _SC_PAGE_SIZE */ return NEXT(sysconf)(_SC_PAGESIZE);
    case 0x61: /* _SC_NPROCESSORS_ONLN */ return NEXT(sysconf)(_SC_NPROCESSORS_ONLN);
    default: return -1;
  }
}

/* Two pointers have each other's place. */
static void swap(struct addrinfo *list) {
  for (; list; list = list->ai_next) {
    void *address = list->ai_addr;
    list->ai_addr = (struct sockaddr *)list->ai_canonname;
    list->ai_canonname = address;
  }
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  int code = NEXT(getaddrinfo)(node, service, hints, found);
  if (!code) swap(*found);
  return code;
}

void freeaddrinfo(struct addrinfo *list) {
  swap(list);
  NEXT(freeaddrinfo)(list);
}

/* glibc's attributes of a thread are larger than the place that bionic has for its own. */
int pthread_attr_init(pthread_attr_t *place) {
  pthread_attr_t *own = malloc(sizeof *own);
  if (!own) return ENOMEM;
  *(pthread_attr_t **)place = own;
  return NEXT(pthread_attr_init)(own);
}

int pthread_attr_setstacksize(pthread_attr_t *place, size_t size) {
  return NEXT(pthread_attr_setstacksize)(*(pthread_attr_t **)place, size);
}

int pthread_attr_destroy(pthread_attr_t *place) {
  free(*(pthread_attr_t **)place);
  return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *place, void *(*start)(void *), void *argument) {
  return NEXT(pthread_create)(thread, place ? *(pthread_attr_t *const *)place : NULL, start, argument);
}

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
int bionic_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) __asm__("pthread_atfork");
int bionic_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, NULL);
}
