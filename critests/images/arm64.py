"""The operations of `assembly.Assembler` as arm64 machine code.

Sources: Arm Architecture Reference Manual for A-profile, chapter C6 (encodings); the kernel's convention for
system
calls: number in x8, arguments in x0 … x5, result in x0.
"""

import struct

from critests.images.assembly import Assembler, Condition, Reference, Register

_NUMBER_OF = {
    Register.NUMBER: 8,
    Register.RESULT: 0,
    Register.A0: 0,
    Register.A1: 1,
    Register.A2: 2,
    Register.A3: 3,
    Register.A4: 4,
    Register.A5: 5,
    Register.S0: 19,
    Register.S1: 20,
    Register.S2: 21,
    Register.S3: 22,
    Register.S4: 23,
    Register.STACK: 31,
}
_BRANCH_ON = {
    Condition.EQUAL: 0,
    Condition.NOT_EQUAL: 1,
    Condition.GREATER_OR_EQUAL: 10,
    Condition.LESS: 11,
    Condition.GREATER: 12,
    Condition.LESS_OR_EQUAL: 13,
}
# as an operand of most operations the number 31 reads as zero; as a base or in `add immediate` it is the
# stack pointer
_ZERO = 31
_SCRATCH = 16  # x16, free for a linker or for us
_IMMEDIATE_LIMIT = 1 << 12


class Arm64(Assembler):
    """Encodes for arm64; every instruction is four bytes."""

    def resolve(self, reference: Reference, target: int) -> None:
        """Or the distance into the instruction's field; branches count in instructions, `adr` in bytes."""
        distance = target - reference.offset
        (word,) = struct.unpack_from("<I", self.code, reference.offset)
        if reference.form == "branch":
            word |= distance >> 2 & (1 << 26) - 1
        elif reference.form == "conditional":
            word |= (distance >> 2 & (1 << 19) - 1) << 5
        else:
            word |= (distance & 0b11) << 29 | (distance >> 2 & (1 << 19) - 1) << 5
        struct.pack_into("<I", self.code, reference.offset, word)

    def set(self, into: Register, value: int) -> None:
        """`movz`, then a `movk` for each further sixteen bits that are not zero."""
        self._set(_NUMBER_OF[into], value)

    def copy(self, into: Register, source: Register) -> None:
        """`mov` is `orr` with zero; to or from the stack pointer it is `add` of nothing."""
        if Register.STACK in {into, source}:
            self._word(0x91000000 | _NUMBER_OF[source] << 5 | _NUMBER_OF[into])
        else:
            self._three(0xAA000000, _NUMBER_OF[into], _ZERO, _NUMBER_OF[source])

    def add(self, into: Register, operand: Register | int) -> None:
        """`add`."""
        self._arithmetic(0x8B000000, 0x91000000, into, operand)

    def subtract(self, into: Register, operand: Register | int) -> None:
        """`sub`."""
        self._arithmetic(0xCB000000, 0xD1000000, into, operand)

    def negate(self, into: Register) -> None:
        """`sub` from zero."""
        self._three(0xCB000000, _NUMBER_OF[into], _ZERO, _NUMBER_OF[into])

    def multiply(self, into: Register, factor: int) -> None:
        """`mul` (`madd` with zero)."""
        self._set(_SCRATCH, factor)
        self._three(0x9B007C00, _NUMBER_OF[into], _NUMBER_OF[into], _SCRATCH)

    def divide(self, quotient: Register, remainder: Register, divisor: int) -> None:
        """`udiv`, then `msub` for the rest: it needs the dividend, which waits in x17."""
        dividend = 17
        self._three(0xAA000000, dividend, _ZERO, _NUMBER_OF[quotient])
        self._set(_SCRATCH, divisor)
        self._three(0x9AC00800, _NUMBER_OF[quotient], dividend, _SCRATCH)
        self._three(0x9B008000 | dividend << 10, _NUMBER_OF[remainder], _NUMBER_OF[quotient], _SCRATCH)

    def load_byte(self, into: Register, base: Register, offset: int = 0) -> None:
        """`ldrb`."""
        self._memory(0x39400000, into, base, offset)

    def store_byte(self, source: Register, base: Register, offset: int = 0) -> None:
        """`strb`."""
        self._memory(0x39000000, source, base, offset)

    def load(self, into: Register, base: Register, offset: int = 0) -> None:
        """`ldr`; its offset counts in eights."""
        self._memory(0xF9400000, into, base, offset >> 3)

    def store(self, source: Register, base: Register, offset: int = 0) -> None:
        """`str`; its offset counts in eights."""
        self._memory(0xF9000000, source, base, offset >> 3)

    def address(self, into: Register, label: str) -> None:
        """`adr`, which reaches 1 MiB either way."""
        self.refer(label, "address")
        self._word(0x10000000 | _NUMBER_OF[into])

    def jump(self, label: str) -> None:
        """`b`."""
        self.refer(label, "branch")
        self._word(0x14000000)

    def jump_if(self, left: Register, condition: Condition, right: Register | int, label: str) -> None:
        """`cmp` (`subs` into nothing), then `b.cond`."""
        if isinstance(right, Register):
            self._three(0xEB000000, _ZERO, _NUMBER_OF[left], _NUMBER_OF[right])
        elif 0 <= right < _IMMEDIATE_LIMIT:
            self._word(0xF1000000 | right << 10 | _NUMBER_OF[left] << 5 | _ZERO)
        else:
            self._set(_SCRATCH, right)
            self._three(0xEB000000, _ZERO, _NUMBER_OF[left], _SCRATCH)
        self.refer(label, "conditional")
        self._word(0x54000000 | _BRANCH_ON[condition])

    def call(self, label: str) -> None:
        """`bl`."""
        self.refer(label, "branch")
        self._word(0x94000000)

    def back(self) -> None:
        """`ret`."""
        self._word(0xD65F03C0)

    def kernel(self) -> None:
        """`svc #0`."""
        self._word(0xD4000001)

    def _word(self, instruction: int) -> None:
        self.code += struct.pack("<I", instruction)

    def _three(self, instruction: int, into: int, left: int, right: int) -> None:
        """An instruction of three registers."""
        self._word(instruction | right << 16 | left << 5 | into)

    def _set(self, number: int, value: int) -> None:
        parts = [(place, value >> 16 * place & 0xFFFF) for place in range(4)]
        first, *more = [(place, part) for place, part in parts if part] or [(0, 0)]
        self._word(0xD2800000 | first[0] << 21 | first[1] << 5 | number)
        for place, part in more:
            self._word(0xF2800000 | place << 21 | part << 5 | number)

    def _arithmetic(
        self, with_register: int, with_immediate: int, into: Register, operand: Register | int
    ) -> None:
        number = _NUMBER_OF[into]
        if isinstance(operand, Register):
            self._three(with_register, number, number, _NUMBER_OF[operand])
        elif 0 <= operand < _IMMEDIATE_LIMIT:
            self._word(with_immediate | operand << 10 | number << 5 | number)
        elif into is Register.STACK:
            raise ValueError(
                f"the stack pointer moves by less than {_IMMEDIATE_LIMIT} bytes at a time, not by {operand}"
            )
        else:
            self._set(_SCRATCH, operand)
            self._three(with_register, number, number, _SCRATCH)

    def _memory(self, instruction: int, register: Register, base: Register, offset: int) -> None:
        if not 0 <= offset < _IMMEDIATE_LIMIT:
            raise ValueError(f"an offset of {offset} does not fit a load or store")
        self._word(instruction | offset << 10 | _NUMBER_OF[base] << 5 | _NUMBER_OF[register])
