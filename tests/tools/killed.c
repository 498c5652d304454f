/* Preloaded into a program, it kills that program at its $KILLED_AT-th renaming or removal of a file: as a power failure would. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

static void step(void) {
    static int steps;
    const char *at = getenv("KILLED_AT");
    if (at && ++steps == atoi(at))
        raise(SIGKILL);
}

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    step();
    return next(from, to);
}

int unlink(const char *path) {
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    step();
    return next(path);
}
