"""Layers with unusual members: names, links, whiteouts and header fields.

Sources: OCI Image Format Specification 1.1, layer.md; POSIX.1-2017, pax.
"""

from collections.abc import Iterator
from typing import Final

from critests.documents.document_fields import ESCAPE, Expected
from critests.documents.layers import LayerVariant, layer
from critests.documents.tar_archives import (
    BLOCK,
    BLOCK_DEVICE,
    CHARACTER,
    DIRECTORY,
    FIFO,
    FILE,
    HARDLINK,
    LONG_LINK,
    LONG_NAME,
    SYMLINK,
    Member,
    archive,
    base_256,
    octal,
)

ACCEPTED, EITHER = Expected.ACCEPTED, Expected.EITHER
KINDS: Final = {
    "a file": FILE,
    "a directory": DIRECTORY,
    "a symbolic link": SYMLINK,
    "a hard link": HARDLINK,
    "a FIFO": FIFO,
    "a device": CHARACTER,
}


NAMES: Final = {
    "is empty": "",
    "is the root": "/",
    "is a dot": ".",
    "is two dots": "..",
    "leads upwards": f"../../../../../../{ESCAPE}",
    "leads upwards in its middle": f"a/../../../../../../{ESCAPE}",
    "is absolute": f"/{ESCAPE}",
    "is absolute and leads upwards": f"/../../../../{ESCAPE}",
    "has two slashes": "odd//name",
    "has a dot in it": "odd/./name",
    "has two dots in it": "odd/../name",
    "begins with a dot": "./odd-name",
    "ends with a slash": "odd-name/",
    "has 255 letters": "x" * 255,
    "has 256 letters": "x" * 256,
    "has more letters than a path": "x/" * 2100 + "x",
    "has a line break": "odd\nname",
    "has a backslash": "odd\\..\\name",
    "is not UTF-8": "odd\udcff\udcfename",
    "begins with a dash": "-rf",
    "is proc": "proc/odd",
    "is dev": "dev/null",
    "is the shell's directory": "bin",
    "is a user's home": "home/tester",
    "is that of an overlay": "work/work/odd",
}


def names() -> Iterator[LayerVariant]:
    """Yield members of each kind with unusual names."""
    for change, name in NAMES.items():
        for kind, flag in KINDS.items():
            target = {SYMLINK: "/odd", HARDLINK: "bin/busybox"}.get(flag, "")
            yield layer(f"name of {kind}", change, archive(Member(name, flag, target=target)))
    yield layer("name", "has a NUL", archive(Member("odd", pax={"path": b"odd\0name"})))
    yield layer(
        "name",
        "has no entry for its directory",
        archive(Member("new/directory/file", content=b"x")),
        ACCEPTED,
        "test -f /new/directory/file",
    )
    yield layer(
        "name",
        "is divided into prefix and name",
        archive(Member("name", content=b"x", raw={"prefix": b"prefix"})),
        ACCEPTED,
        "test -f /prefix/name",
    )
    long_name = "y" * 150
    yield layer(
        "name",
        "is in a header of GNU tar",
        Member("././@LongLink", LONG_NAME, long_name.encode() + b"\0").packed() + archive(Member("short")),
    )


TARGETS: Final = {
    "is empty": "",
    "is the root": "/",
    "leads upwards": f"../../../../../../{ESCAPE}",
    "is absolute": f"/{ESCAPE}",
    "is missing": "no/such/file",
    "is the link itself": "odd-link",
    "is a directory": "etc",
    "has more letters than a path": "x/" * 2100 + "x",
    "has a line break": "a\nb",
    "is a process": "/proc/self/root",
    "is a file descriptor": "/proc/self/fd/3",
    "is the host's user database": "../../../../../../../../etc/passwd",
}


def links(canary: str) -> Iterator[LayerVariant]:
    """Yield links with unusual targets.

    Args:
        canary: absolute path of a file of the machine that no layer may change.
    """
    targets = {
        **TARGETS,
        "is a file of the machine": canary,
        "is a file of the machine, upwards": f"../../../../../../../../..{canary}",
    }
    folder = canary.rpartition("/")[0]
    for change, target in targets.items():
        for kind in (SYMLINK, HARDLINK):
            link = Member("odd-link", kind, target=target)
            name = "symbolic link" if kind == SYMLINK else "hard link"
            yield layer(f"target of a {name}", change, archive(link))
            yield layer(
                f"target of a {name}",
                f"{change}, and is written",
                archive(link, Member("odd-link", content=b"x")),
            )
            yield layer(
                f"target of a {name}",
                f"{change}, and has a file below",
                archive(link, Member(f"odd-link/{ESCAPE}", content=b"x")),
            )
            yield layer(
                f"target of a {name}",
                f"{change}, and has another link to it",
                archive(link, Member("second", HARDLINK, target="odd-link"), Member("second", content=b"x")),
            )
    yield layer(
        "links",
        "are a loop",
        archive(
            Member("a", SYMLINK, target="b"), Member("b", SYMLINK, target="a"), Member("a/c", content=b"x")
        ),
    )
    chain = [Member(f"l{number}", SYMLINK, target=f"l{number + 1}") for number in range(300)]
    yield layer("links", "are a long chain", archive(*chain, Member("l0/x", content=b"x")))
    yield layer(
        "links",
        "lead to the machine's directory by two",
        archive(
            Member("up", SYMLINK, target=".."),
            Member("more", SYMLINK, target="up/up/up/up/up/up/up/up"),
            Member(f"more{folder}/{ESCAPE}", content=b"x"),
        ),
    )
    yield layer(
        "links",
        "replace a directory that has files",
        archive(
            Member("d", DIRECTORY),
            Member("d/file", content=b"x"),
            Member("d", SYMLINK, target=folder),
            Member(f"d/{ESCAPE}", content=b"x"),
        ),
    )
    yield layer(
        "links",
        "are to a later member",
        archive(Member("early", HARDLINK, target="late"), Member("late", content=b"x")),
    )
    yield layer("links", "replace proc", archive(Member("proc", SYMLINK, target=folder)))
    yield layer("links", "replace etc", archive(Member("etc", SYMLINK, target=folder)))
    yield layer("links", "replace dev", archive(Member("dev", SYMLINK, target=folder)))
    yield layer("links", "replace the user database", archive(Member("etc/passwd", SYMLINK, target=canary)))
    yield layer(
        "links",
        "have a long target in a header of GNU tar",
        Member("././@LongLink", LONG_LINK, b"y" * 150 + b"\0").packed()
        + archive(Member("l", SYMLINK, target="s")),
    )


WHITEOUTS: Final = (
    ".wh.",
    ".wh..",
    ".wh...",
    ".wh..wh.",
    ".wh..wh..",
    ".wh..wh..opq",
    ".wh..wh..opq.wh.x",
    ".wh..wh.plnk",
    ".wh..wh.aufs",
    ".wh..wh.orph",
    ".wh.missing",
    ".wh.bin",
    ".wh.proc",
    "bin/.wh..wh..opq",
    "bin/.wh.busybox",
    "etc/.wh.",
    "etc/.wh..",
    "etc/.wh...",
    "missing/.wh.x",
    "missing/.wh..wh..opq",
    "etc/passwd/.wh.x",
    "bin/sh/.wh..wh..opq",
    ".wh.x/y",
    ".wh../x",
    ".wh.../x",
    "../.wh.critests-canary",
    "../../../../../.wh.critests-canary",
    "/../../.wh..wh..opq",
    ".wh.a\nb",
)


def whiteouts(canary: str) -> Iterator[LayerVariant]:
    """Yield whiteouts with unusual names.

    Args:
        canary: absolute path of a file of the machine that no layer may change.
    """
    for name in WHITEOUTS:
        for kind, flag in KINDS.items():
            target = {SYMLINK: canary, HARDLINK: "bin/busybox"}.get(flag, "")
            yield layer(f"whiteout as {kind}", repr(name), archive(Member(name, flag, target=target)))
    folder, _, file = canary.rpartition("/")
    link = Member("odd-link", SYMLINK, target=folder)
    yield layer("whiteout", "is behind a link", archive(link, Member(f"odd-link/.wh.{file}")))
    yield layer("whiteout", "is opaque and behind a link", archive(link, Member("odd-link/.wh..wh..opq")))
    yield layer("whiteout", "has content", archive(Member("etc/.wh.group", content=b"x" * BLOCK)))
    gone, stays = "! test -e /home/tester", "test -f /home/new"
    new, hidden = Member("home/new", content=b"x"), Member("home/.wh..wh..opq")
    home = Member("home", DIRECTORY)
    # layer.md, Opaque Whiteout, and: files of the same layer can only be hidden by subsequent layers
    both = f"{gone} && {stays}"
    yield layer("whiteout", "is opaque before a file", archive(home, hidden, new), ACCEPTED, both)
    yield layer("whiteout", "is opaque after a file", archive(home, new, hidden), ACCEPTED, both)
    yield layer("whiteout", "is of a directory", archive(home, Member("home/.wh.tester")), ACCEPTED, gone)
    yield layer(
        "whiteout",
        "is before a file of its name",
        archive(Member("etc/.wh.group"), Member("etc/group", content=b"new\n")),
        ACCEPTED,
        "test $(cat /etc/group) = new",
    )


NUMBERS: Final = {
    "is empty": b"",
    "is spaces": b" " * 12,
    "is a text": b"critests",
    "is octal without an end": b"777777777777",
    "has 8 in it": b"0000008\0",
    "is negative": b"-1\0",
    "is negative in base 256": base_256(-1, 12),
    "is large in base 256": base_256(1 << 62, 12),
    "is too large in base 256": base_256((1 << 79), 12),
}


def numbers() -> Iterator[LayerVariant]:
    """Yield members with unusual numbers in their headers."""
    for name in ("mode", "uid", "gid", "size", "mtime", "devmajor", "devminor"):
        for change, raw in NUMBERS.items():
            # both ends of a shorter field
            value = raw[:1] + raw[-7:] if len(raw) > 8 and name not in {"size", "mtime"} else raw
            kind = CHARACTER if name.startswith("dev") else FILE
            yield layer(
                name,
                change,
                archive(Member("odd", kind, b"" if kind == CHARACTER else b"x", raw={name: value})),
            )
    bits = {"has setuid and setgid": 0o6755, "is sticky": 0o1644, "is 0": 0}
    for change, mode in bits.items():
        file = Member("odd", content=b"x", raw={"mode": octal(mode, 8)})
        yield layer("mode", change, archive(file), ACCEPTED, f"test $(stat -c %a /odd) = {mode:o}")
    yield layer("mode", "has bits of a type", archive(Member("odd", raw={"mode": octal(0o140644, 8)})))
    for number in (0o7777777, 65534, 65536):
        file = Member("odd", raw={"uid": octal(number, 8), "gid": octal(number, 8)})
        condition = f"test $(stat -c %u:%g /odd) = {number}:{number}"
        yield layer("uid", f"is {number}", archive(file), ACCEPTED, condition)
    for number in (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000):
        yield layer("uid", f"is {number}", archive(Member("odd", raw={"uid": base_256(number, 8)})))
        yield layer("gid", f"is {number}", archive(Member("odd", raw={"gid": base_256(number, 8)})))


def headers() -> Iterator[LayerVariant]:
    """Yield members with other unusual fields of their headers."""
    for flag in ("\0", "7", "8", "9", "A", "D", "M", "N", "S", "V", "X", "Z", "s", "\xff"):
        raw = {"type": flag.encode("latin-1")}
        yield layer("type", f"is {flag!r}", archive(Member("odd", content=b"x" * 600, raw=raw)))
    for kind, flag in KINDS.items():
        if flag != FILE:
            yield layer("size", f"is that of {kind}", archive(Member("odd", flag, b"x" * 600, "bin/busybox")))
    for major, minor in ((0, 0), (1, 3), (1, 1), (8, 0), (0o7777777, 0o7777777)):
        numbers = {"devmajor": octal(major, 8), "devminor": octal(minor, 8)}
        for kind in (CHARACTER, BLOCK_DEVICE):
            what = "character" if kind == CHARACTER else "block"
            yield layer(f"{what} device", f"is {major}:{minor}", archive(Member("odd", kind, raw=numbers)))
    for change, raw in {
        "is wrong": {"checksum": b"000001\0 "},
        "is empty": {"checksum": b""},
        "is a text": {"checksum": b"critests"},
    }.items():
        yield layer("checksum", change, archive(Member("odd", raw=raw)))
    for change, raw in {
        "is GNU's": {"magic": b"ustar ", "version": b" \0"},
        "is that of version 7": {"magic": b"", "version": b""},
        "is unknown": {"magic": b"crites"},
    }.items():
        yield layer("magic", change, archive(Member("odd", content=b"x", raw=raw)))
    names = {"uname": b"x" * 32, "gname": b"\xff" * 32}
    yield layer(
        "uname", "is unknown", archive(Member("odd", raw=names)), ACCEPTED, "test $(stat -c %u /odd) = 0"
    )
