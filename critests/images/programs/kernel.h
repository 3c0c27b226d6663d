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
#elif defined(__powerpc64__)
    register long r0 __asm__("r0") = number, r3 __asm__("r3") = a, r4 __asm__("r4") = b, r5 __asm__("r5") = c;
    register long r6 __asm__("r6") = d, r7 __asm__("r7") = e, r8 __asm__("r8") = f;
    /* an error is a positive number and the summary overflow bit */
    __asm__ volatile("sc\n\tbns 1f\n\tneg 3, 3\n1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
                     :
                     : "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
    return r3;
#elif defined(__riscv) && __riscv_xlen == 64
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d, a4 __asm__("a4") = e, a5 __asm__("a5") = f;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
#elif defined(__s390x__)
    register long r1 __asm__("r1") = number, r2 __asm__("r2") = a, r3 __asm__("r3") = b, r4 __asm__("r4") = c;
    register long r5 __asm__("r5") = d, r6 __asm__("r6") = e, r7 __asm__("r7") = f;
    __asm__ volatile("svc 0" : "+r"(r2) : "r"(r1), "r"(r3), "r"(r4), "r"(r5), "r"(r6), "r"(r7) : "memory");
    return r2;
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
#elif defined(__powerpc64__)
/* r2 is the base of the table of addresses; a function has a frame for those that it calls */
__asm__(".globl _start\n_start: lis 2, .TOC.@ha\naddi 2, 2, .TOC.@l\nmr 3, 1\nli 0, 0\nstdu 0, -32(1)\nbl begin");
#elif defined(__riscv)
__asm__(".globl _start\n_start: mv a0, sp\ncall begin");
#elif defined(__s390x__)
/* a function saves registers in the 160 bytes above its stack pointer */
__asm__(".globl _start\n_start: lgr %r2, %r15\naghi %r15, -160\nbrasl %r14, begin");
#endif
