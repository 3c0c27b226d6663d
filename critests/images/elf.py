"""Static ELF executables: written from a piece of code, and recognised.

Source: the ELF-64 object file format; elf(5).
"""

import struct
from dataclasses import dataclass

from critests.images.platforms import Architecture

_MACHINE = {Architecture.AMD64: 62, Architecture.ARM64: 183}  # EM_X86_64, EM_AARCH64
_LOAD_ADDRESS = 0x400000
_PAGE = 0x10000  # the largest page size that arm64 kernels use; good for amd64 too
_FILE_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_EXECUTABLE = 2
_LOAD, _INTERPRETER, _STACK = 1, 3, 0x6474E551
_READ, _WRITE, _EXECUTE = 4, 2, 1


def static_executable(code: bytes, architecture: Architecture) -> bytes:
    """Wrap position-independent code, entered at its first byte, as an executable file.

    One segment holds the headers and the code, readable and executable; the stack is not executable. There
    are no sections.
    """
    headers = _FILE_HEADER.size + 2 * _PROGRAM_HEADER.size
    entry = _LOAD_ADDRESS + headers
    size = headers + len(code)
    file_header = _FILE_HEADER.pack(
        b"\x7fELF",
        2,  # 64 bits
        1,  # little endian
        1,  # version
        0,  # System V
        _EXECUTABLE,
        _MACHINE[architecture],
        1,
        entry,
        _FILE_HEADER.size,  # the program headers follow at once
        0,  # no section headers
        0,
        _FILE_HEADER.size,
        _PROGRAM_HEADER.size,
        2,
        64,
        0,
        0,
    )
    load = _PROGRAM_HEADER.pack(_LOAD, _READ | _EXECUTE, 0, _LOAD_ADDRESS, _LOAD_ADDRESS, size, size, _PAGE)
    stack = _PROGRAM_HEADER.pack(_STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 16)
    return file_header + load + stack + code


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """What an executable file says of itself."""

    architecture: Architecture | None
    """None for an architecture that we build no images for."""
    static: bool
    """It asks for no program interpreter, so it runs in an otherwise empty root."""


def read_elf(content: bytes) -> ElfFacts:
    """Read the headers of a 64-bit little-endian ELF file.

    Raises:
        ValueError: It is something else.
    """
    if len(content) < _FILE_HEADER.size or content[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    fields = _FILE_HEADER.unpack_from(content)
    machine, offset, entry_size, entries = fields[6], fields[9], fields[13], fields[14]
    kinds = {struct.unpack_from("<I", content, offset + index * entry_size)[0] for index in range(entries)}
    known = {number: architecture for architecture, number in _MACHINE.items()}
    return ElfFacts(known.get(machine), _INTERPRETER not in kinds)
