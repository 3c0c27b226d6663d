"""Mounts that the suite itself makes on this machine, with the system call."""

import ctypes
import os
from pathlib import Path
from typing import Final

# flags of mount(2)
BIND: Final = 1 << 12
PRIVATE: Final = 1 << 18
SHARED: Final = 1 << 20
_DETACH: Final = 2  # umount2(2)


def mount(target: Path, *, source: str = "none", kind: str = "", flags: int = 0, options: str = "") -> None:
    """Make or change one mount.

    Raises:
        OSError: the kernel refused it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    named = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    if libc.mount(*named, ctypes.c_ulong(flags), options.encode() or None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def unmount(target: Path) -> None:
    """Detach one mount and whatever is below it.

    Raises:
        OSError: the kernel refused it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(target), _DETACH) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))
