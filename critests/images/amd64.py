"""The operations of `assembly.Assembler` as amd64 machine code.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (encodings); System V ABI for
x86-64, appendix A (registers of a system call: number and result in rax, arguments in rdi, rsi, rdx, r10, r8,
r9; rcx and r11 are destroyed).
"""

import struct

from critests.images.assembly import Assembler, Condition, Reference, Register

_NUMBER_OF = {
    Register.NUMBER: 0,  # rax
    Register.RESULT: 0,
    Register.A0: 7,  # rdi
    Register.A1: 6,  # rsi
    Register.A2: 2,  # rdx
    Register.A3: 10,  # r10
    Register.A4: 8,  # r8
    Register.A5: 9,  # r9
    Register.S0: 3,  # rbx
    Register.S1: 5,  # rbp
    Register.S2: 13,  # r13
    Register.S3: 14,  # r14
    Register.S4: 15,  # r15
    Register.STACK: 4,  # rsp
}
_JUMP_ON = {
    Condition.EQUAL: 0x84,
    Condition.NOT_EQUAL: 0x85,
    Condition.LESS: 0x8C,
    Condition.GREATER: 0x8F,
    Condition.LESS_OR_EQUAL: 0x8E,
    Condition.GREATER_OR_EQUAL: 0x8D,
}
_RSP = 4
_SCRATCH = 11  # r11, which no role uses: the kernel destroys it at every call


class Amd64(Assembler):
    """Encodes for amd64. Every operation works on 64 bits (REX.W)."""

    def resolve(self, reference: Reference, target: int) -> None:
        """Fill in a 32-bit distance, counted from the end of its field."""
        struct.pack_into("<i", self.code, reference.offset, target - (reference.offset + 4))

    def set(self, into: Register, value: int) -> None:
        """`mov r32, imm32` where that is enough (it clears the upper half), else `mov r64, imm64`."""
        self._set(_NUMBER_OF[into], value)

    def copy(self, into: Register, source: Register) -> None:
        """`mov r/m64, r64`."""
        self._two_registers(0x89, source, into)

    def add(self, into: Register, operand: Register | int) -> None:
        """`add`."""
        self._arithmetic(0x01, 0, into, operand)

    def subtract(self, into: Register, operand: Register | int) -> None:
        """`sub`."""
        self._arithmetic(0x29, 5, into, operand)

    def negate(self, into: Register) -> None:
        """`neg`."""
        self._group(0xF7, 3, _NUMBER_OF[into])

    def multiply(self, into: Register, factor: int) -> None:
        """`imul r64, r/m64, imm32`."""
        self._two_registers(0x69, into, into)
        self.code += struct.pack("<i", factor)

    def divide(self, quotient: Register, remainder: Register, divisor: int) -> None:
        """`div` takes rdx:rax apart by r11 and leaves the quotient in rax, the rest in rdx."""
        self.copy(Register.RESULT, quotient)
        self.code += b"\x31\xd2"  # xor edx, edx
        self._set(_SCRATCH, divisor)
        self._group(0xF7, 6, _SCRATCH)
        self.copy(remainder, Register.A2)
        self.copy(quotient, Register.RESULT)

    def load_byte(self, into: Register, base: Register, offset: int = 0) -> None:
        """`movzx r64, byte [base + disp32]`."""
        self._memory(b"\x0f\xb6", into, base, offset)

    def store_byte(self, source: Register, base: Register, offset: int = 0) -> None:
        """`mov byte [base + disp32], r8`; with a REX prefix every register has a lowest byte (and REX.W means
        nothing here).
        """
        self._memory(b"\x88", source, base, offset)

    def load(self, into: Register, base: Register, offset: int = 0) -> None:
        """`mov r64, [base + disp32]`."""
        self._memory(b"\x8b", into, base, offset)

    def store(self, source: Register, base: Register, offset: int = 0) -> None:
        """`mov [base + disp32], r64`."""
        self._memory(b"\x89", source, base, offset)

    def address(self, into: Register, label: str) -> None:
        """`lea r64, [rip + rel32]`."""
        number = _NUMBER_OF[into]
        self.code += bytes([self._rex(number, 0), 0x8D, (number & 7) << 3 | 0b101])
        self._distance(label)

    def jump(self, label: str) -> None:
        """`jmp rel32`."""
        self.code += b"\xe9"
        self._distance(label)

    def jump_if(self, left: Register, condition: Condition, right: Register | int, label: str) -> None:
        """`cmp`, then `jcc rel32`."""
        self._arithmetic(0x39, 7, left, right)
        self.code += bytes([0x0F, _JUMP_ON[condition]])
        self._distance(label)

    def call(self, label: str) -> None:
        """`call rel32`."""
        self.code += b"\xe8"
        self._distance(label)

    def back(self) -> None:
        """`ret`."""
        self.code += b"\xc3"

    def kernel(self) -> None:
        """`syscall`."""
        self.code += b"\x0f\x05"

    @staticmethod
    def _rex(reg: int, rm: int) -> int:
        """The prefix for 64-bit operands, with the fourth bits of the two register numbers."""
        return 0x48 | (reg >> 3) << 2 | rm >> 3

    def _set(self, number: int, value: int) -> None:
        if 0 <= value < 1 << 32:
            self.code += b"\x41" * (number >> 3) + bytes([0xB8 | number & 7]) + struct.pack("<I", value)
        else:
            self.code += bytes([self._rex(0, number), 0xB8 | number & 7]) + struct.pack(
                "<Q", value & (1 << 64) - 1
            )

    def _two_registers(self, opcode: int, reg: Register, rm: Register) -> None:
        self._raw_registers(opcode, _NUMBER_OF[reg], _NUMBER_OF[rm])

    def _raw_registers(self, opcode: int, reg: int, rm: int) -> None:
        self.code += bytes([self._rex(reg, rm), opcode, 0b11 << 6 | (reg & 7) << 3 | rm & 7])

    def _group(self, opcode: int, extension: int, rm: int) -> None:
        """An operation whose kind stands in the place of a register number."""
        self._raw_registers(opcode, extension, rm)

    def _arithmetic(self, opcode: int, extension: int, into: Register, operand: Register | int) -> None:
        if isinstance(operand, Register):
            self._two_registers(opcode, operand, into)
        else:
            self._group(0x81, extension, _NUMBER_OF[into])
            self.code += struct.pack("<i", operand)

    def _memory(self, opcode: bytes, reg: Register, base: Register, offset: int) -> None:
        number, address = _NUMBER_OF[reg], _NUMBER_OF[base]
        self.code += (
            bytes([self._rex(number, address)])
            + opcode
            + bytes([0b10 << 6 | (number & 7) << 3 | address & 7])
        )
        if address & 7 == _RSP:
            self.code += b"\x24"  # a base with this number must be named in a SIB byte
        self.code += struct.pack("<i", offset)

    def _distance(self, label: str) -> None:
        self.refer(label, "rel32")
        self.code += bytes(4)
