/* Preloaded into a program, it moves that program's wall clock by $CLOCK_AHEAD seconds, or by as many as the file $CLOCK_AHEAD_FILE
 * says now. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    const char *ahead = getenv("CLOCK_AHEAD");
    if (failed || clock != CLOCK_REALTIME)
        return failed;
    if (ahead)
        now->tv_sec += atol(ahead);
    const char *file = getenv("CLOCK_AHEAD_FILE");
    int opened = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (opened >= 0) {
        char text[24] = {0};
        if (read(opened, text, sizeof text - 1) > 0)
            now->tv_sec += atol(text);
        close(opened);
    }
    return failed;
}
