/* What a program without a C library needs: where it starts, and system calls.
 *
 * A program defines `program`, and is built with `-nostdlib`. Sources: the calling convention of the kernel in
 * syscall(2); the System V ABI for the stack that a process starts with.
 */

#include <asm/unistd.h>

/* The program: its arguments from the name on, and NULL after the last. What it returns is its exit code. */
static int program(char **arguments);

static inline long kernel(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}

/* argc is at the stack pointer, argv above it. */
__attribute__((used, noreturn)) static void begin(char **stack) {
    kernel(__NR_exit_group, program(stack + 1), 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\ncall begin");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\nbl begin");
#endif
