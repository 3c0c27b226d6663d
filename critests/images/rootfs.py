"""The root file system of most test images: a static busybox, its applets, users and groups."""

import os
from dataclasses import dataclass
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.images.elf import read_elf
from critests.images.oci_image import LayerEntry, directory, symlink
from critests.images.platforms import Architecture

_DEFAULT_BUSYBOX = Path("/bin/busybox")
_PACKAGE_HINT = (
    "install the package busybox-static (Debian, Ubuntu), or name a static busybox with"
    " BUSYBOX=/path/to/busybox"
)

_APPLET_NAMES = """
[ [[ arch ash awk base64 basename brctl bunzip2 bzip2 cat chgrp chmod chown chroot clear cmp cp cpio cut date
dd df diff dirname dmesg du echo egrep env expand expr factor fallocate false fgrep find fold free freeramdisk
fsfreeze getopt grep groups gunzip gzip halt head hexdump hostid hostname httpd id ifconfig insmod ionice ip
ipcalc ipcrm ipcs kill killall less link linux32 linux64 ln logger ls lsmod md5sum mkdir mkfifo mknod mktemp
modprobe more mount mountpoint mt mv nc netstat nice nl nohup nproc nsenter nslookup od paste pgrep pidof ping
ping6 pivot_root pkill printenv printf ps pwd readlink realpath reboot renice reset rev rm rmdir route rmmod
sed seq setpriv setsid sh sha1sum sha256sum sha512sum shred shuf sleep sort split start-stop-daemon stat
strings stty su swapoff swapon sync sysctl tac tail tar taskset tee telnet test tftp time timeout top touch tr
traceroute true truncate tty umount uname uniq unlink unshare uptime usleep vi watch wc wget which whoami
xargs xxd yes zcat
"""
_APPLETS = tuple(_APPLET_NAMES.split())

USERS = (
    # name, uid, gid, home, shell
    ("root", 0, 0, "/root", "/bin/sh"),
    ("daemon", 1, 1, "/", "/bin/false"),
    ("tester", 1000, 1000, "/home/tester", "/bin/sh"),
    ("second", 1001, 1001, "/home/second", "/bin/sh"),
    ("nobody", 65534, 65534, "/", "/bin/false"),
)
"""The content of /etc/passwd."""
GROUPS = (
    # name, gid, members
    ("root", 0, ()),
    ("daemon", 1, ()),
    ("tester", 1000, ()),
    ("second", 1001, ()),
    ("crew", 2000, ("tester",)),
    ("staff", 2001, ("tester", "second")),
    ("others", 2002, ()),
    ("nogroup", 65534, ()),
)
"""The content of /etc/group: tester is a member of crew and staff in addition to its own group."""


class BusyboxError(CannotTest):
    """There is no busybox to build the test images from; the message names the package."""


@dataclass(frozen=True, slots=True)
class Busybox:
    """A static busybox of the architecture that images are built for."""

    path: Path
    content: bytes
    applets: tuple[str, ...]
    """The applets of the images that this busybox has."""


def find_busybox(architecture: Architecture, path: Path | None = None) -> Busybox:
    """Read the machine's static busybox: `path`, else the environment's BUSYBOX, else /bin/busybox.

    Raises:
        BusyboxError: It is missing, cannot be read, is for another architecture or not static.
    """
    named = path or (Path(os.environ["BUSYBOX"]) if os.environ.get("BUSYBOX") else None)
    place = named or _DEFAULT_BUSYBOX
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        raise BusyboxError(
            f"there is no busybox at {place} to build the test images from: {_PACKAGE_HINT}"
        ) from None
    except OSError as error:
        raise BusyboxError(
            f"cannot read the busybox at {place} ({error.strerror}): {_PACKAGE_HINT}"
        ) from error
    try:
        facts = read_elf(content)
    except ValueError as error:
        raise BusyboxError(f"{place} is {error}: {_PACKAGE_HINT}") from error
    if facts.architecture is not architecture:
        found = facts.architecture or "another architecture"
        raise BusyboxError(
            f"{place} is for {found} and the images are for {architecture}: name a busybox for {architecture}"
            " with BUSYBOX=…"
        )
    if not facts.static:
        raise BusyboxError(f"{place} is linked dynamically and would not run in an image: {_PACKAGE_HINT}")
    # the names of the applets are a table of strings in the file, so they can be read without running it (it
    # may be for another machine)
    strings = set(content.split(b"\0"))
    applets = tuple(name for name in _APPLETS if name.encode() in strings)
    if "sh" not in applets:
        raise BusyboxError(f"{place} is no busybox, or one without a shell: {_PACKAGE_HINT}")
    return Busybox(place, content, applets)


def root_entries(busybox: Busybox) -> list[LayerEntry]:
    """Return the members of the base layer of images with a shell."""
    passwd = "".join(f"{name}:x:{uid}:{gid}:{name}:{home}:{shell}\n" for name, uid, gid, home, shell in USERS)
    groups = "".join(f"{name}:x:{gid}:{','.join(members)}\n" for name, gid, members in GROUPS)
    return [
        LayerEntry("bin/busybox", busybox.content, mode=0o755),
        *(symlink(f"bin/{name}", "busybox") for name in busybox.applets),
        directory("dev"),
        LayerEntry("etc/group", groups.encode()),
        LayerEntry("etc/passwd", passwd.encode()),
        directory("home/second", 0o750, uid=1001, gid=1001),
        directory("home/tester", 0o750, uid=1000, gid=1000),
        directory("proc", 0o555),
        directory("root", 0o700),
        directory("run"),
        directory("sbin"),
        directory("sys", 0o555),
        directory("tmp", 0o1777),
        symlink("usr/bin/env", "../../bin/busybox"),
        directory("usr/sbin"),
        directory("var/tmp", 0o1777),
    ]
