/* Preloaded into a program, it moves that program's wall clock by the seconds in the file $CLOCK_STEPS, whenever those change. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    const char *path = getenv("CLOCK_STEPS");
    if (failed || clock != CLOCK_REALTIME || !path)
        return failed;
    char text[32] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) > 0)
            now->tv_sec += atol(text);
        close(file);
    }
    return 0;
}
