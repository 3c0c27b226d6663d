/* pause: blocks until SIGTERM or SIGINT, ends with 0 then, and reaps every child it is given.
 *
 * As the first process of a PID namespace it would not see those signals by their default action, so it blocks
 * them and takes them with rt_sigtimedwait.
 */

#include "kernel.h"
#include <linux/signal.h>
#include <linux/wait.h>

static int program(char **arguments) {
    (void)arguments;
    unsigned long awaited = 1UL << (SIGINT - 1) | 1UL << (SIGTERM - 1) | 1UL << (SIGCHLD - 1);
    kernel(__NR_rt_sigprocmask, SIG_BLOCK, (long)&awaited, 0, sizeof awaited, 0, 0);
    for (;;) {
        long signal = kernel(__NR_rt_sigtimedwait, (long)&awaited, 0, 0, sizeof awaited, 0, 0);
        if (signal == SIGTERM || signal == SIGINT)
            return 0;
        if (signal == SIGCHLD)
            while (kernel(__NR_wait4, -1, 0, WNOHANG, 0, 0, 0) > 0)
                ;
    }
}
