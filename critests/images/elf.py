"""Reads from an ELF executable for which machine it is, and whether it is static.

Source: the ELF-64 object file format; elf(5).
"""

import struct
from dataclasses import dataclass

from critests.images.platforms import Architecture

_MACHINE = {
    Architecture.AMD64: 62,  # EM_X86_64
    Architecture.ARM64: 183,  # EM_AARCH64
    Architecture.PPC64LE: 21,  # EM_PPC64
    Architecture.RISCV64: 243,  # EM_RISCV
    Architecture.S390X: 22,  # EM_S390
}
_BIG_ENDIAN = frozenset({Architecture.S390X})
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
    known = {
        number: architecture
        for architecture, number in _MACHINE.items()
        if (architecture in _BIG_ENDIAN) == (order == ">")
    }
    return ElfFacts(known.get(machine), _INTERPRETER not in kinds)
