/* sys NAME [ARGUMENT ...] [, NAME [ARGUMENT ...]] ...: makes system calls and prints a line for each,
 * `ret=-1 errno=13` or `ret=3 errno=0`, in decimal.
 *
 * An argument that begins with a digit or `-` is a number (decimal, or hexadecimal in lower case with `0x`), `$`
 * is the result of the call before, `%` a buffer of 3,800 bytes, `=TEXT` the string TEXT, anything else itself as
 * a string.
 */

#include "line.h"

#define CALL(name) {#name, __NR_##name}
/* Those that tests make. */
static const struct {
    const char *name;
    long number;
} calls[] = {
    CALL(chroot),
    CALL(clock_gettime),
    CALL(clone),
    CALL(close),
    CALL(fcntl),
    CALL(geteuid),
    CALL(getpid),
    CALL(getuid),
    CALL(getxattr),
    CALL(openat),
    CALL(personality),
    CALL(prctl),
    CALL(unshare),
    CALL(write),
};

/* The number of a system call; -1 for a name that is not among them. */
static long number_of(const char *name) {
    for (unsigned at = 0; at < sizeof calls / sizeof *calls; at++) {
        const char *one = name, *other = calls[at].name;
        while (*one && *one == *other)
            one++, other++;
        if (*one == *other)
            return calls[at].number;
    }
    return -1;
}

static long parsed(const char *digits) {
    int negative = *digits == '-';
    digits += negative;
    int base = digits[0] == '0' && digits[1] == 'x' ? 16 : 10;
    digits += base == 16 ? 2 : 0;
    unsigned long value = 0;
    for (; *digits; digits++)
        value = value * base + (*digits <= '9' ? *digits - '0' : *digits - 'a' + 10);
    return negative ? -value : value;
}

static long value_of(const char *argument, long result, char *buffer) {
    switch (*argument) {
    case '$':
        return result;
    case '%':
        return (long)buffer;
    case '=':
        return (long)(argument + 1);
    case '-':
    case '0' ... '9':
        return parsed(argument);
    default:
        return (long)argument;
    }
}

static void print_result(long result) {
    struct line line;
    int failed = result < 0 && result > -4096; /* the kernel's error numbers */
    begin_line(&line);
    prepend_number(&line, failed ? -result : 0);
    prepend(&line, " errno=");
    prepend_number(&line, failed ? 1 : result < 0 ? -(unsigned long)result : result);
    prepend(&line, result < 0 ? "ret=-" : "ret=");
    print(&line);
}

static int explain(void) {
    static const char usage[] = "usage: sys NAME [ARGUMENT ...] [, NAME [ARGUMENT ...]] ...\n";
    kernel(__NR_write, 2, (long)usage, sizeof usage - 1, 0, 0, 0);
    return 2;
}

static int program(char **arguments) {
    char buffer[3800];
    long result = 0;
    if (!*++arguments)
        return explain();
    while (*arguments) {
        long number = number_of(*arguments++), values[6], given = 0;
        for (; *arguments && **arguments != ','; arguments++) {
            if (given == 6)
                return explain();
            values[given++] = value_of(*arguments, result, buffer);
        }
        while (given < 6)
            values[given++] = 0;
        if (number < 0)
            return explain();
#if defined(__s390x__) /* there, the flags of clone are its second argument */
        if (number == __NR_clone) {
            long flags = values[0];
            values[0] = values[1];
            values[1] = flags;
        }
#endif
        result = kernel(number, values[0], values[1], values[2], values[3], values[4], values[5]);
        print_result(result);
        if (*arguments)
            arguments++;
    }
    return 0;
}
