"""Device nodes that tests give to containers, and what a container can do with them."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from critests.run.outcomes import blocked

HARMLESS = ("fuse", "loop-control", "cpu_dma_latency", "vhost-net", "uinput", "kmsg")
"""Names in /dev of devices that containers do not get by themselves, and whose opening does nothing."""


@dataclass(frozen=True)
class Device:
    """A character device of this machine.

    Attributes:
        name: in /dev.
        major: as the kernel has it.
        minor: as the kernel has it.
    """

    name: str
    major: int
    minor: int

    @property
    def numbers(self) -> str:
        """Major and minor as `stat -c %t:%T` prints them."""
        return f"{self.major:x}:{self.minor:x}"

    def make_node(self, path: Path, mode: int = 0o666) -> Path:
        """Make a node for it; ends the test as blocked where that is not allowed here."""
        try:
            os.mknod(path, stat.S_IFCHR | mode, os.makedev(self.major, self.minor))
        except PermissionError as error:
            blocked(f"a device node cannot be made here: {error}; the suite needs CAP_MKNOD")
        path.chmod(mode)
        return path


def spare_device() -> Device:
    """Return a device that a container has only where it is requested, and that can be opened for reading and
    for writing; ends the test as blocked where this machine has none.
    """
    paths = (Path("/dev", name) for name in HARMLESS)
    found = next((path for path in paths if path.is_char_device() and _opens(path)), None)
    if found is None:
        blocked(f"needs one of the devices {', '.join(HARMLESS)} in /dev, and the right to open it")
    number = found.stat().st_rdev
    return Device(found.name, os.major(number), os.minor(number))


def _opens(path: Path) -> bool:
    for way in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, way))
        except OSError:
            return False
    return True


def attempts(path: str) -> str:
    """Return a script of the shell that prints what a path is, and whether it can be read and written."""
    return (
        f"stat -L -c '%F %t:%T' {path}; "
        f"(: < {path}) && echo reads || echo cannot read; (: > {path}) && echo writes || echo cannot write"
    )
