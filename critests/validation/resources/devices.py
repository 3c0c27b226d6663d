"""Device nodes that tests pass to containers, and scripts that try to open them."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from critests.testing import blocked

HARMLESS = ("fuse", "loop-control", "cpu_dma_latency", "vhost-net", "uinput", "kmsg")
"""Names in /dev of devices that containers do not have by default, and that can be opened without effect."""


@dataclass(frozen=True)
class Device:
    """A character device of this machine.

    Attributes:
        name: in /dev.
        major: number of the driver.
        minor: number of the device.
    """

    name: str
    major: int
    minor: int

    @property
    def numbers(self) -> str:
        """Major and minor number in hexadecimal, as `stat -c %t:%T` prints them."""
        return f"{self.major:x}:{self.minor:x}"

    def create_node(self, path: Path, mode: int = 0o666) -> Path:
        """Create a node for the device; the test is blocked if that is not permitted."""
        try:
            os.mknod(path, stat.S_IFCHR | mode, os.makedev(self.major, self.minor))
        except PermissionError as error:
            blocked(f"the suite cannot create a device node: {error}; it needs CAP_MKNOD")
        # mknod(2) applies the umask
        path.chmod(mode)
        return path


def spare_device() -> Device:
    """Return a device that a container has only on request, and that can be opened for reading and writing;
    the test is blocked if the machine has none.
    """
    paths = (Path("/dev", name) for name in HARMLESS)
    found = next((path for path in paths if path.is_char_device() and _opens(path)), None)
    if found is None:
        blocked(f"needs one of the devices {', '.join(HARMLESS)} in /dev, and the right to open it")
    number = found.stat().st_rdev
    return Device(found.name, os.major(number), os.minor(number))


def _opens(path: Path) -> bool:
    # for reading and for writing separately, as `open_script` does
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags))
        except OSError:
            return False
    return True


def open_script(path: str) -> str:
    """Return a shell script that prints the kind of a file, and whether it can be read and written."""
    return (
        # in subshells: a shell exits if a redirection of the built-in `:` fails
        f"stat -L -c '%F %t:%T' {path}; "
        f"(: < {path}) && echo reads || echo cannot read; (: > {path}) && echo writes || echo cannot write"
    )
