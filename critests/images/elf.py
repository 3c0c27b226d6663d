"""Reads from an ELF executable for which machine it is, and whether it is static.

Source: the ELF-64 object file format; elf(5).
"""

import struct
from dataclasses import dataclass

from critests.images.platforms import Architecture

_MACHINES = {
    ("<", 62): Architecture.AMD64,  # EM_X86_64
    ("<", 183): Architecture.ARM64,  # EM_AARCH64
    ("<", 21): Architecture.PPC64LE,  # EM_PPC64
    ("<", 243): Architecture.RISCV64,  # EM_RISCV
    (">", 22): Architecture.S390X,  # EM_S390
}
"""Byte order and e_machine to the architecture."""
_ORDERS = {1: "<", 2: ">"}  # ELFDATA2LSB, ELFDATA2MSB
_FILE_HEADER = "4sBBBB8xHHIQQQIHHHHHH"
_INTERPRETER = 3  # PT_INTERP


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """Properties of an executable."""

    architecture: Architecture | None
    """None for an architecture without test images."""
    static: bool
    """It has no program interpreter, so it runs in an otherwise empty root."""


def read_elf(content: bytes) -> ElfFacts:
    """Read the headers of a 64-bit ELF file.

    Raises:
        ValueError: It is something else.
    """
    order = _ORDERS.get(content[5]) if content[:5] == b"\x7fELF\x02" and len(content) >= 64 else None
    if order is None:
        raise ValueError("not a 64-bit ELF file")
    fields = struct.unpack_from(order + _FILE_HEADER, content)
    # e_machine, e_phoff, e_phentsize, e_phnum
    machine, offset, entry_size, entries = fields[6], fields[9], fields[13], fields[14]
    kinds = {
        struct.unpack_from(f"{order}I", content, offset + index * entry_size)[0] for index in range(entries)
    }
    return ElfFacts(_MACHINES.get((order, machine)), _INTERPRETER not in kinds)
