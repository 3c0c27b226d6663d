"""The programs of test images in addition to busybox, for what a shell cannot do: `pause`, `sys` and `clock`.

Each is a static ELF file of about a kilobyte, without a C library. The sources are here and describe each
program; `tools/build_programs.py` compiles them into the folder of each architecture.
"""

from importlib import resources

from critests.images.platforms import Architecture

PROGRAM_NAMES = ("clock", "pause", "sys")
"""The names for `program`."""


def program(name: str, architecture: Architecture) -> bytes:
    """Return one of the programs as a static ELF file for an architecture."""
    return resources.files(__name__).joinpath(architecture, name).read_bytes()
