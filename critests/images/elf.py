"""Reads from an ELF executable for which machine it is, and whether it is static.

Source: the ELF-64 object file format; elf(5).
"""

import struct
from dataclasses import dataclass

from critests.images.platforms import Architecture

_MACHINE = {Architecture.AMD64: 62, Architecture.ARM64: 183}  # EM_X86_64, EM_AARCH64
_FILE_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_INTERPRETER = 3  # PT_INTERP


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """Properties of an executable."""

    architecture: Architecture | None
    """None for an architecture without test images."""
    static: bool
    """It has no program interpreter, so it runs in an otherwise empty root."""


def read_elf(content: bytes) -> ElfFacts:
    """Read the headers of a 64-bit little-endian ELF file.

    Raises:
        ValueError: It is something else.
    """
    if len(content) < _FILE_HEADER.size or content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    fields = _FILE_HEADER.unpack_from(content)
    # e_machine, e_phoff, e_phentsize, e_phnum
    machine, offset, entry_size, entries = fields[6], fields[9], fields[13], fields[14]
    kinds = {struct.unpack_from("<I", content, offset + index * entry_size)[0] for index in range(entries)}
    known = {number: architecture for architecture, number in _MACHINE.items()}
    return ElfFacts(known.get(machine), _INTERPRETER not in kinds)
