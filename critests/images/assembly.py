"""A tiny assembler: a program is written once, in a dozen operations, and encoded for each architecture.

A few of our test programs must be smaller and more exact than a shell can be: a pause process that ends on
SIGTERM, a system call with its plain result, a clock without a library. They need no compiler: `programs.py`
writes them with the operations of `Assembler`, and `amd64.py` and `arm64.py` say which bytes each operation
is.

Registers are named by their role, because the kernel's calling convention differs between the two:

* `NUMBER` and `A0` … `A5` hold a system call's number and arguments, `RESULT` its result. `RESULT` is another
  name of `NUMBER` (amd64) or of `A0` (arm64), so a program copies a result away before it sets the next call
  up;
* `S0` … `S4` keep their value over system calls and subroutines;
* `STACK` is the stack pointer. At the start of a program it points at argc, followed by the argv pointers.

A `divide` may destroy `NUMBER`, `RESULT` and `A2`, every system call `NUMBER`, `RESULT` and `A0`. Subroutines
do not nest: there is one return address.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, unique


@unique
class Register(Enum):
    """A register by its role."""

    NUMBER = "number"
    RESULT = "result"
    A0 = "a0"
    A1 = "a1"
    A2 = "a2"
    A3 = "a3"
    A4 = "a4"
    A5 = "a5"
    S0 = "s0"
    S1 = "s1"
    S2 = "s2"
    S3 = "s3"
    S4 = "s4"
    STACK = "stack"


@unique
class Condition(Enum):
    """When a conditional branch is taken. The order is that of signed 64-bit numbers."""

    EQUAL = "equal"
    NOT_EQUAL = "not equal"
    LESS = "less"
    GREATER = "greater"
    LESS_OR_EQUAL = "less or equal"
    GREATER_OR_EQUAL = "greater or equal"


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in the code that is filled in once the address of `label` is known."""

    offset: int
    label: str
    form: str
    """Which kind of field it is; the architecture's `resolve` knows."""


@dataclass(slots=True)
class Assembler(ABC):
    """Code that grows operation by operation; `finish` fills in the addresses of the labels.

    `Register | int` as second operand means: a register, or a constant that fits 31 bits.
    """

    code: bytearray = field(default_factory=bytearray)
    labels: dict[str, int] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)

    def label(self, name: str) -> None:
        """Name the place where the next operation or datum will be."""
        if name in self.labels:
            raise ValueError(f"the label {name} is set twice")
        self.labels[name] = len(self.code)

    def data(self, content: bytes) -> None:
        """Place bytes, padded to a multiple of eight so that what follows stays aligned."""
        self.code += content + bytes(-len(content) % 8)

    def finish(self) -> bytes:
        """Return the code with every label resolved.

        Raises:
            ValueError: A label is used and never set.
        """
        for reference in self.references:
            if reference.label not in self.labels:
                raise ValueError(f"the label {reference.label} is used and never set")
            self.resolve(reference, self.labels[reference.label])
        return bytes(self.code)

    def refer(self, label: str, form: str) -> None:
        """Remember that the field which starts here is to be filled with the way to `label`."""
        self.references.append(Reference(len(self.code), label, form))

    @abstractmethod
    def resolve(self, reference: Reference, target: int) -> None:
        """Fill one reference in; `target` is the label's offset in the code."""

    @abstractmethod
    def set(self, into: Register, value: int) -> None:
        """Set a register to a constant of at most 64 bits."""

    @abstractmethod
    def copy(self, into: Register, source: Register) -> None:
        """Copy a register."""

    @abstractmethod
    def add(self, into: Register, operand: Register | int) -> None:
        """`into += operand`."""

    @abstractmethod
    def subtract(self, into: Register, operand: Register | int) -> None:
        """`into -= operand`."""

    @abstractmethod
    def negate(self, into: Register) -> None:
        """`into = -into`."""

    @abstractmethod
    def multiply(self, into: Register, factor: int) -> None:
        """`into *= factor`."""

    @abstractmethod
    def divide(self, quotient: Register, remainder: Register, divisor: int) -> None:
        """Divide `quotient`, taken without sign, by a constant and leave the rest in `remainder`."""

    @abstractmethod
    def load_byte(self, into: Register, base: Register, offset: int = 0) -> None:
        """Load the byte at `base + offset`, without sign."""

    @abstractmethod
    def store_byte(self, source: Register, base: Register, offset: int = 0) -> None:
        """Store the lowest byte of `source` at `base + offset`."""

    @abstractmethod
    def load(self, into: Register, base: Register, offset: int = 0) -> None:
        """Load the eight bytes at `base + offset`; the offset is a multiple of eight."""

    @abstractmethod
    def store(self, source: Register, base: Register, offset: int = 0) -> None:
        """Store `source` in the eight bytes at `base + offset`; the offset is a multiple of eight."""

    @abstractmethod
    def address(self, into: Register, label: str) -> None:
        """Set a register to the address of a label."""

    @abstractmethod
    def jump(self, label: str) -> None:
        """Go on at a label."""

    @abstractmethod
    def jump_if(self, left: Register, condition: Condition, right: Register | int, label: str) -> None:
        """Go on at a label if the comparison holds."""

    @abstractmethod
    def call(self, label: str) -> None:
        """Enter a subroutine, which must not call another."""

    @abstractmethod
    def back(self) -> None:
        """Return from a subroutine."""

    @abstractmethod
    def kernel(self) -> None:
        """Enter the kernel with the call that `NUMBER` and the arguments describe."""
