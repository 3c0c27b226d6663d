"""The files of an image that name its users and groups, /etc/passwd and /etc/group.

Source: passwd(5), group(5); LinuxContainerSecurityContext.run_as_username, whose user must exist in the
image, and supplemental_groups_policy, by which the groups of the image are merged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from critests.documents.document_fields import Expected

USER, UID, GID = "odd", 1234, 4321
"""The user that a container requests, and its ids in a valid /etc/passwd."""
FURTHER_GROUP = 4242
"""The group of which the user is a member in a valid /etc/group."""
PASSWD, GROUP = "etc/passwd", "etc/group"
_LONG = 1 << 20
_MANY = 10_000


@dataclass(frozen=True)
class ImageFile:
    """A file of an image.

    Attributes:
        content: of a regular file.
        kind: `file`, `directory`, `symlink`, `fifo` or `character device`; empty for none at all.
        target: of a link.
        device: major and minor number of a device.
    """

    content: bytes = b""
    kind: str = "file"
    target: str = ""
    device: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class UserFiles:
    """The users and groups of an image.

    Attributes:
        name: what is unusual, in words.
        files: of the image, by their paths.
        expected: whether a container of the user can be created.
        user: that it requests.
        uid, gid: that it has.
        groups: that it has among others.
    """

    name: str
    files: Mapping[str, ImageFile]
    expected: Expected = Expected.EITHER
    user: str = USER
    uid: int = UID
    gid: int = GID
    groups: frozenset[int] = frozenset({FURTHER_GROUP})

    def __str__(self) -> str:
        return self.name


ROOT = b"root:x:0:0:root:/root:/bin/sh\n"
LINE = f"{USER}:x:{UID}:{GID}:A user:/home/odd:/bin/sh\n".encode()
_GROUPS = f"root:x:0:\nodd:x:{GID}:\nfurther:x:{FURTHER_GROUP}:{USER}\n".encode()
_VALID = {PASSWD: ImageFile(ROOT + LINE), GROUP: ImageFile(_GROUPS)}


def _users(
    name: str,
    text: bytes,
    expected: Expected = Expected.EITHER,
    user: str = USER,
    uid: int = UID,
    gid: int = GID,
) -> UserFiles:
    files = {**_VALID, PASSWD: ImageFile(text)}
    return UserFiles(f"passwd {name}", files, expected, user, uid, gid, _groups_of(user))


def _groups_of(user: str) -> frozenset[int]:
    return frozenset({FURTHER_GROUP} if user == USER else ())


def _groups(name: str, text: bytes, expected: Expected = Expected.EITHER) -> UserFiles:
    return UserFiles(f"group {name}", {**_VALID, GROUP: ImageFile(text)}, expected)


def passwd_variants() -> Iterator[UserFiles]:
    """Yield variants of the text of /etc/passwd."""
    accepted, refused = Expected.ACCEPTED, Expected.REFUSED
    yield _users("has the user alone", LINE, accepted)
    yield _users("has no line break at its end", ROOT + LINE[:-1], accepted)
    yield _users("has the user after many others", ROOT + _others(_MANY) + LINE, accepted)
    for what, field in {"an empty": "", "a locked": "!", "an impossible": "*", "a long": "h" * 200}.items():
        line = f"{USER}:{field}:{UID}:{GID}::/:/bin/sh\n".encode()
        yield _users(f"has {what} password", ROOT + line, accepted)
    yield _users("has a user without comment, home and shell", ROOT + b"odd:x:1234:4321:::\n", accepted)
    yield _users("has a comment in UTF-8", ROOT + "odd:x:1234:4321:Zoë,,,:/:/bin/sh\n".encode(), accepted)
    yield _users("has a comment that is not UTF-8", ROOT + b"odd:x:1234:4321:Zo\xeb:/:/bin/sh\n")
    yield _users("has a home with spaces", ROOT + b"odd:x:1234:4321::/a home:/bin/sh\n", accepted)
    for name in ("odd.user", "odd_user", "odd-user", "9odd", "o" * 32):
        line = LINE.replace(b"odd:", f"{name}:".encode(), 1)
        yield _users(f"has the user {name}", ROOT + line, accepted, user=name)
    for name in ("Odd", "odd$", "odd user", "öd", "-odd", "../odd", "o" * 5000, "+odd"):
        line = LINE.replace(b"odd:", f"{name}:".encode(), 1)
        yield _users(f"has the user {name[:20]}", ROOT + line, user=name)
    for uid in (1, 65534, (1 << 31) - 1):
        line = f"{USER}:x:{uid}:{uid}::/:/bin/sh\n".encode()
        yield _users(f"has the id {uid}", ROOT + line, accepted, uid=uid, gid=uid)
    for other in (b"", ROOT, ROOT + _others(3), ROOT + LINE.replace(b"odd:", b"odd2:", 1)):
        yield _users(f"lacks the user, and has {other.count(bytes([10]))} others", other, refused)
    yield _users("has the user in upper case only", ROOT + LINE.replace(b"odd:", b"ODD:", 1), refused)
    for count in range(1, 7):
        short = b":".join(LINE.strip().split(b":")[:count])
        yield _users(f"has {count} fields", ROOT + short + b"\n")
    yield _users("has a field too many", ROOT + LINE[:-1] + b":more\n")
    yield _users("has many fields", ROOT + LINE[:-1] + b":more" * 1000 + b"\n")
    for what, number in _ODD_NUMBERS.items():
        yield _users(f"has an id that is {what}", ROOT + b"odd:x:" + number + b":4321::/:/bin/sh\n")
        yield _users(f"has a group that is {what}", ROOT + b"odd:x:1234:" + number + b"::/:/bin/sh\n")
    for what, before in _ODD_LINES.items():
        yield _users(f"has {what} before the user", ROOT + before + LINE)
    yield _users("has line ends of Windows", (ROOT + LINE).replace(b"\n", b"\r\n"))
    yield _users("has line ends of old Macs", (ROOT + LINE).replace(b"\n", b"\r"))
    yield _users("has a space before the user", ROOT + b" " + LINE)
    yield _users("has a tab before the user", ROOT + b"\t" + LINE)
    yield _users("has a comment sign before the user", ROOT + b"#" + LINE)
    yield _users("has spaces around the id", ROOT + LINE.replace(b"1234", b" 1234 "))
    yield _users("has a byte order mark", b"\xef\xbb\xbf" + LINE)
    yield _users("is UTF-16", (ROOT + LINE).decode().encode("utf-16"))
    yield _users("has the user twice", ROOT + LINE + LINE.replace(b"1234", b"5678"))
    yield _users("has the id twice", ROOT + LINE.replace(b"odd:", b"other:", 1) + LINE)
    yield _users("has a user whose name is the id", ROOT + LINE.replace(b"odd:", b"1234:", 1) + LINE)
    yield _users("has a line of 1 MiB for the user", ROOT + LINE.replace(b"A user", b"u" * _LONG))
    yield _users("has a home of 1 MiB", ROOT + LINE.replace(b"/home/odd", b"/" + b"h" * _LONG))
    yield _users(
        "has a home that leads upwards", ROOT + LINE.replace(b"/home/odd", b"/../../critests-escape")
    )
    yield _users("has a relative home", ROOT + LINE.replace(b"/home/odd", b"home"))
    yield _users("is of 16 MiB", ROOT + b"# filler\n" * (2 * _LONG) + LINE)
    yield _users("is a hole", bytes(_LONG))


_ODD_NUMBERS = {
    "empty": b"",
    "negative": b"-1",
    "a large negative number": b"-4294967296",
    "of 32 bits": b"4294967295",
    "one more than 31 bits": b"2147483648",
    "one more than 32 bits": b"4294967296",
    "one more than 64 bits": b"18446744073709551616",
    "hexadecimal": b"0x4d2",
    "with leading zeros": b"0001234",
    "with a sign": b"+1234",
    "a fraction": b"1234.0",
    "with an underscore": b"1_234",
    "a name": b"root",
    "in other digits": "١٢٣٤".encode(),
    "with a NUL": b"12\x0034",
}
_ODD_LINES = {
    "an empty line": b"\n",
    "many empty lines": b"\n" * _MANY,
    "a comment": b"# a comment\n",
    "a comment with colons": b"# a:b:c:d:e:f:g\n",
    "a line of spaces": b"   \n",
    "a line of colons": b"::::::\n",
    "a line without a colon": b"nonsense\n",
    "a line of NIS": b"+::::::\n",
    "a line of NIS for one user": b"+odd::::::\n",
    "a line of bytes beyond ASCII": b"\xff\xfe\xfd\n",
    "a line with a NUL": b"a\0b:x:1:1::/:\n",
    "a line of 64 KiB": b"l" * (1 << 16) + b"\n",
    "a line of 1 MiB": b"l" * _LONG + b"\n",
}


def _others(count: int) -> bytes:
    return b"".join(
        f"u{number}:x:{number}:{number}::/:/bin/sh\n".encode() for number in range(100, 100 + count)
    )


def group_variants() -> Iterator[UserFiles]:
    """Yield variants of the text of /etc/group."""
    accepted = Expected.ACCEPTED
    base = f"root:x:0:\nodd:x:{GID}:\n".encode()
    further = f"further:x:{FURTHER_GROUP}:{USER}\n".encode()
    yield _groups("has no line break at its end", base + further[:-1], accepted)
    yield _groups("lacks the user's own group", further, accepted)
    for what, members in {
        "among others": "a,odd,b",
        "last of many": ",".join([*(f"u{number}" for number in range(1000)), "odd"]),
        "twice": "odd,odd",
    }.items():
        line = f"further:x:{FURTHER_GROUP}:{members}\n".encode()
        yield _groups(f"has the user {what}", base + line, accepted)
    many = b"".join(f"g{number}:x:{number}:{USER}\n".encode() for number in range(5000, 6000))
    yield _groups("has the user in a thousand groups", base + many + further, accepted)
    most = b"".join(f"g{number}:x:{number}:{USER}\n".encode() for number in range(100_000, 170_000))
    yield _groups("has the user in more groups than a process may have", base + most + further)
    for password in ("", "!", "*"):
        line = f"further:{password}:{FURTHER_GROUP}:{USER}\n".encode()
        yield _groups(f"has the password {password!r}", base + line, accepted)
    for what, members in {
        "with spaces": "a, odd",
        "after an empty member": ",odd",
        "before an empty member": "odd,",
        "with other separators": "a;odd b",
        "in upper case": "ODD",
        "as an id": "1234",
        "before a field too many": "odd:x",
        "among a hundred thousand": ",".join([*(f"u{number}" for number in range(100_000)), "odd"]),
    }.items():
        yield _groups(f"has the user {what}", base + f"further:x:{FURTHER_GROUP}:{members}\n".encode())
    for count in range(1, 4):
        short = b":".join(further.strip().split(b":")[:count])
        yield _groups(f"has {count} fields", base + short + b"\n")
    for what, number in _ODD_NUMBERS.items():
        yield _groups(f"has an id that is {what}", base + b"bad:x:" + number + b":odd\n" + further)
    for what, before in _ODD_LINES.items():
        yield _groups(f"has {what} before the group", base + before + further)
    yield _groups("has line ends of Windows", (base + further).replace(b"\n", b"\r\n"))
    yield _groups("has a comment sign before the group", base + b"#" + further)
    yield _groups("has the group twice", base + further + further)
    yield _groups("has the name twice", base + further.replace(b"4242", b"4243") + further)
    yield _groups("has the group of root with the user", f"root:x:0:{USER}\n".encode() + further)
    yield _groups("is of 16 MiB", base + b"# filler\n" * (2 * _LONG) + further)
    yield _groups("is empty", b"")


def kind_variants() -> Iterator[UserFiles]:
    """Yield images in which the files are no regular files, or are found through links."""
    accepted, refused = Expected.ACCEPTED, Expected.REFUSED
    for path, there, absent in ((PASSWD, accepted, refused), (GROUP, accepted, Expected.EITHER)):
        name = path.rpartition("/")[2]
        content = _VALID[path]
        moved = {**_VALID, f"usr/etc/{name}": content}

        def link(
            what: str,
            target: str,
            expected: Expected,
            path: str = path,
            name: str = name,
            moved: Mapping[str, ImageFile] = moved,
        ) -> UserFiles:
            return UserFiles(
                f"{name} is a link {what}",
                {**moved, path: ImageFile(kind="symlink", target=target)},
                expected,
            )

        yield link("to an absolute path", f"/usr/etc/{name}", there)
        yield link("to a relative path", f"../usr/etc/{name}", there)
        yield link("to a path upwards beyond the root", f"../../../../../usr/etc/{name}", there)
        yield link("to itself", name, absent)
        yield link("to nothing", "/usr/etc/absent", absent)
        yield link("to a file of the kernel", f"/proc/1/root/usr/etc/{name}", Expected.EITHER)
        yield link("to a device", "/dev/null", Expected.EITHER)
        chain = {
            f"etc/link{number}": ImageFile(kind="symlink", target=f"link{number + 1}") for number in range(5)
        }
        chain["etc/link5"] = content
        yield UserFiles(
            f"{name} is a chain of links",
            {**_VALID, **chain, path: ImageFile(kind="symlink", target="link0")},
            there,
        )
        yield UserFiles(f"{name} is a directory", {**_VALID, path: ImageFile(kind="directory")})
        yield UserFiles(f"{name} is absent", {**_VALID, path: ImageFile(kind="")}, absent)
        yield UserFiles(f"{name} is a pipe", {**_VALID, path: ImageFile(kind="fifo")})
        for what, device in {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "tty": (5, 0)}.items():
            special = ImageFile(kind="character device", device=device)
            yield UserFiles(f"{name} is the device {what}", {**_VALID, path: special})
    for what, target in {"an absolute": "/usr/etc", "a relative": "usr/etc"}.items():
        files = {f"usr/{path}": content for path, content in _VALID.items()}
        yield UserFiles(
            f"etc is a link to {what} path",
            {**files, "etc": ImageFile(kind="symlink", target=target)},
            accepted,
        )
