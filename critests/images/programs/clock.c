/* clock: prints CLOCK_MONOTONIC in nanoseconds, in decimal. */

#include "line.h"
#include <linux/time.h>
#include <linux/time_types.h>

static int program(char **arguments) {
    (void)arguments;
    struct __kernel_timespec now;
    struct line line;
    kernel(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    begin_line(&line);
    prepend_number(&line, now.tv_sec * 1000000000UL + now.tv_nsec);
    print(&line);
    return 0;
}
