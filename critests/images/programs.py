"""The programs of a few instructions that test images hold beside busybox: `pause`, `sys` and `clock`.

Each is written once with the operations of `assembly.Assembler` and is a static ELF file of less than two
kilobytes:

* `pause` blocks until SIGTERM or SIGINT, exits 0 then, and reaps every child it is given. As the first
  process of a PID namespace it would not see those signals by their default action, so it blocks them and
  takes them with rt_sigtimedwait;
* `sys NUMBER [ARGUMENT …] [, NUMBER [ARGUMENT …]] …` makes system calls and prints a line for each: `ret=-1
  errno=13` or `ret=3 errno=0`, in decimal. An argument that begins with a digit or `-` is a number (decimal,
  or hexadecimal in lower case with `0x`), `$` is the result of the call before, `%` a buffer of 3,800 bytes,
  `=TEXT` the string TEXT, anything else itself as a string;
* `clock` prints CLOCK_MONOTONIC in nanoseconds, in decimal.
"""

from collections.abc import Callable
from functools import cache

from critests.images.amd64 import Amd64
from critests.images.arm64 import Arm64
from critests.images.assembly import Assembler, Condition, Register
from critests.images.elf import static_executable
from critests.images.platforms import Architecture
from critests.images.system_calls import SYSTEM_CALLS

_R = Register
_ARGUMENTS = (_R.A0, _R.A1, _R.A2, _R.A3, _R.A4, _R.A5)
_SIGINT, _SIGTERM, _SIGCHLD = 2, 15, 17
_SIGNAL_SET_BYTES = 8
_CLOCK_MONOTONIC = 1
_FRAME = 4096
"""What `sys` takes from the stack: the number and six arguments of a call, then the buffer, and at the far
end the line to print.
"""
_BUFFER_AT = 64


def _call(asm: Assembler, numbers: dict[str, int], name: str, *arguments: Register | int) -> None:
    """Make a system call; an argument that is a register must not have been set by an earlier argument."""
    for register, value in zip(_ARGUMENTS, arguments, strict=False):
        if isinstance(value, Register):
            asm.copy(register, value)
        else:
            asm.set(register, value)
    asm.set(_R.NUMBER, numbers[name])
    asm.kernel()


def _prepend(asm: Assembler, text: str) -> None:
    """Put a text in front of the line that begins at S1."""
    for byte in reversed(text.encode()):
        asm.set(_R.A0, byte)
        asm.subtract(_R.S1, 1)
        asm.store_byte(_R.A0, _R.S1)


def _subroutine_digits(asm: Assembler) -> None:
    """`digits` puts S3, taken without sign, in front of the line that begins at S1. Destroys S3."""
    asm.label("digits")
    asm.divide(_R.S3, _R.A0, 10)
    asm.add(_R.A0, ord("0"))
    asm.subtract(_R.S1, 1)
    asm.store_byte(_R.A0, _R.S1)
    asm.jump_if(_R.S3, Condition.NOT_EQUAL, 0, "digits")
    asm.back()


def _write_line(asm: Assembler, numbers: dict[str, int], frame: int) -> None:
    """Write what lies between S1 and the end of the frame to the standard output."""
    asm.copy(_R.A2, _R.STACK)
    asm.add(_R.A2, frame)
    asm.subtract(_R.A2, _R.S1)
    _call(asm, numbers, "write", 1, _R.S1)


def _pause(asm: Assembler, numbers: dict[str, int]) -> None:
    asm.subtract(_R.STACK, 16)
    asm.set(_R.S0, sum(1 << signal - 1 for signal in (_SIGINT, _SIGTERM, _SIGCHLD)))
    asm.store(_R.S0, _R.STACK)
    _call(asm, numbers, "rt_sigprocmask", 0, _R.STACK, 0, _SIGNAL_SET_BYTES)

    asm.label("wait")
    _call(asm, numbers, "rt_sigtimedwait", _R.STACK, 0, 0, _SIGNAL_SET_BYTES)
    asm.copy(_R.S0, _R.RESULT)
    asm.jump_if(_R.S0, Condition.EQUAL, _SIGTERM, "leave")
    asm.jump_if(_R.S0, Condition.EQUAL, _SIGINT, "leave")
    asm.jump_if(_R.S0, Condition.NOT_EQUAL, _SIGCHLD, "wait")

    asm.label("reap")
    _call(asm, numbers, "wait4", -1, 0, 1, 0)  # 1 is WNOHANG
    asm.copy(_R.S0, _R.RESULT)
    asm.jump_if(_R.S0, Condition.GREATER, 0, "reap")
    asm.jump("wait")

    asm.label("leave")
    _call(asm, numbers, "exit_group", 0)


def _clock(asm: Assembler, numbers: dict[str, int]) -> None:
    frame = 128
    asm.subtract(_R.STACK, frame)
    _call(asm, numbers, "clock_gettime", _CLOCK_MONOTONIC, _R.STACK)
    asm.load(_R.S3, _R.STACK, 0)
    asm.multiply(_R.S3, 1_000_000_000)
    asm.load(_R.A0, _R.STACK, 8)
    asm.add(_R.S3, _R.A0)
    asm.copy(_R.S1, _R.STACK)
    asm.add(_R.S1, frame)
    _prepend(asm, "\n")
    asm.call("digits")
    _write_line(asm, numbers, frame)
    _call(asm, numbers, "exit_group", 0)
    _subroutine_digits(asm)


def _sys(asm: Assembler, numbers: dict[str, int]) -> None:
    """S0 walks over argv, S1 over the slots of the call, S4 holds the result of the call before."""
    asm.copy(_R.S0, _R.STACK)
    asm.add(_R.S0, 16)  # over argc and the program's own name
    asm.subtract(_R.STACK, _FRAME // 2)
    asm.subtract(_R.STACK, _FRAME // 2)
    asm.set(_R.S4, 0)
    asm.load(_R.A1, _R.S0)
    asm.jump_if(_R.A1, Condition.EQUAL, 0, "usage")

    asm.label("next call")
    asm.set(_R.A1, 0)
    for slot in range(7):
        asm.store(_R.A1, _R.STACK, 8 * slot)
    asm.copy(_R.S1, _R.STACK)
    _sys_arguments(asm)
    _sys_perform(asm, numbers)
    asm.load(_R.A1, _R.S0)
    asm.jump_if(_R.A1, Condition.NOT_EQUAL, 0, "next call")
    _call(asm, numbers, "exit_group", 0)

    usage = b"usage: sys NUMBER [ARGUMENT ...] [, NUMBER [ARGUMENT ...]] ...\n"
    asm.label("usage")
    asm.address(_R.S0, "usage text")
    _call(asm, numbers, "write", 2, _R.S0, len(usage))
    _call(asm, numbers, "exit_group", 2)
    _subroutine_digits(asm)
    asm.label("usage text")
    asm.data(usage)


def _sys_arguments(asm: Assembler) -> None:
    """Fill the slots from argv up to its end or a lone comma: S2 walks over one argument, S3 is its value."""
    asm.label("next argument")
    asm.load(_R.S2, _R.S0)
    asm.jump_if(_R.S2, Condition.EQUAL, 0, "perform")
    asm.add(_R.S0, 8)
    asm.load_byte(_R.A0, _R.S2)
    asm.jump_if(_R.A0, Condition.EQUAL, ord(","), "perform")
    asm.copy(_R.A1, _R.STACK)
    asm.add(_R.A1, 56)
    asm.jump_if(_R.S1, Condition.GREATER_OR_EQUAL, _R.A1, "usage")  # more than six arguments

    asm.copy(_R.S3, _R.S4)
    asm.jump_if(_R.A0, Condition.EQUAL, ord("$"), "store")
    asm.copy(_R.S3, _R.STACK)
    asm.add(_R.S3, _BUFFER_AT)
    asm.jump_if(_R.A0, Condition.EQUAL, ord("%"), "store")
    asm.set(_R.A1, 0)  # 1 for a negative number
    asm.jump_if(_R.A0, Condition.EQUAL, ord("-"), "negative")
    asm.jump_if(_R.A0, Condition.LESS, ord("0"), "text")
    asm.jump_if(_R.A0, Condition.LESS_OR_EQUAL, ord("9"), "number")

    asm.label("text")
    asm.copy(_R.S3, _R.S2)
    asm.jump_if(_R.A0, Condition.NOT_EQUAL, ord("="), "store")
    asm.add(_R.S3, 1)
    asm.jump("store")

    _sys_number(asm)
    asm.label("store")
    asm.store(_R.S3, _R.S1)
    asm.add(_R.S1, 8)
    asm.jump("next argument")


def _sys_number(asm: Assembler) -> None:
    """Read the number at S2 into S3; A1 is 1 where it is negative."""
    asm.label("negative")
    asm.set(_R.A1, 1)
    asm.add(_R.S2, 1)
    asm.load_byte(_R.A0, _R.S2)
    asm.label("number")
    asm.set(_R.S3, 0)
    asm.jump_if(_R.A0, Condition.NOT_EQUAL, ord("0"), "decimal")
    asm.load_byte(_R.A0, _R.S2, 1)
    asm.jump_if(_R.A0, Condition.NOT_EQUAL, ord("x"), "decimal")
    asm.add(_R.S2, 2)

    asm.label("hexadecimal")
    asm.load_byte(_R.A0, _R.S2)
    asm.jump_if(_R.A0, Condition.EQUAL, 0, "sign")
    asm.subtract(_R.A0, ord("0"))
    asm.jump_if(_R.A0, Condition.LESS_OR_EQUAL, 9, "hexadecimal digit")
    asm.subtract(_R.A0, ord("a") - ord("0") - 10)
    asm.label("hexadecimal digit")
    asm.multiply(_R.S3, 16)
    asm.add(_R.S3, _R.A0)
    asm.add(_R.S2, 1)
    asm.jump("hexadecimal")

    asm.label("decimal")
    asm.load_byte(_R.A0, _R.S2)
    asm.jump_if(_R.A0, Condition.EQUAL, 0, "sign")
    asm.subtract(_R.A0, ord("0"))
    asm.multiply(_R.S3, 10)
    asm.add(_R.S3, _R.A0)
    asm.add(_R.S2, 1)
    asm.jump("decimal")

    asm.label("sign")
    asm.jump_if(_R.A1, Condition.EQUAL, 0, "store")
    asm.negate(_R.S3)


def _sys_perform(asm: Assembler, numbers: dict[str, int]) -> None:
    """Make the call of the slots and print its line, which is put together from its end."""
    asm.label("perform")
    asm.load(_R.NUMBER, _R.STACK)
    for slot, register in enumerate(_ARGUMENTS, start=1):
        asm.load(register, _R.STACK, 8 * slot)
    asm.kernel()
    asm.copy(_R.S4, _R.RESULT)

    asm.copy(_R.S1, _R.STACK)
    asm.add(_R.S1, _FRAME)
    _prepend(asm, "\n")
    asm.copy(_R.S3, _R.S4)
    asm.set(_R.S2, 0)  # 1 where the result is to be printed with a minus
    asm.jump_if(_R.S4, Condition.GREATER_OR_EQUAL, 0, "kept")
    asm.set(_R.S2, 1)
    asm.negate(_R.S3)
    asm.jump_if(_R.S3, Condition.GREATER_OR_EQUAL, 4096, "kept")  # the kernel's error numbers are below

    asm.call("digits")
    asm.set(_R.S3, 1)
    asm.jump("ret")
    asm.label("kept")
    _prepend(asm, "0")
    asm.label("ret")
    _prepend(asm, " errno=")
    asm.call("digits")
    asm.jump_if(_R.S2, Condition.EQUAL, 0, "line")
    _prepend(asm, "-")
    asm.label("line")
    _prepend(asm, "ret=")
    _write_line(asm, numbers, _FRAME)


_PROGRAMS: dict[str, Callable[[Assembler, dict[str, int]], None]] = {
    "clock": _clock,
    "pause": _pause,
    "sys": _sys,
}

PROGRAM_NAMES = tuple(_PROGRAMS)
"""The names that `program` knows."""


@cache
def program(name: str, architecture: Architecture) -> bytes:
    """Return one of the programs as a static ELF file for an architecture."""
    asm: Assembler = Amd64() if architecture is Architecture.AMD64 else Arm64()
    _PROGRAMS[name](asm, SYSTEM_CALLS[architecture])
    return static_executable(asm.finish(), architecture)
