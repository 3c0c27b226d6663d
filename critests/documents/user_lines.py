"""Unusual lines and contents of the files that define the users and groups of an image.

Sources: passwd(5), group(5); LinuxContainerSecurityContext.run_as_username; SupplementalGroupsPolicy.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from critests.documents.document_fields import ESCAPE
from critests.documents.user_files import (
    ACCEPTED,
    BY_NAME,
    BY_UID,
    FURTHER_GID,
    FURTHER_LINE,
    GID,
    GROUPS,
    LINE,
    NAME,
    REFUSED,
    ROOT,
    UID,
    NamedUser,
    UserVariant,
    files,
)
from critests.documents.variants import LONG_TEXT

MANY: Final = 300
"""Members of a group, and groups of a user: far below the kernel's limit of 65,536 (NGROUPS_MAX)."""
_VALID_IDS: Final[Mapping[str, bytes]] = {
    "is 1": b"1",
    "is 65534": b"65534",
    "is the largest of 31 bits": str((1 << 31) - 1).encode(),
}
"""Up to the largest id that every kernel and C library can represent."""
_NO_IDS: Final[Mapping[str, bytes]] = {
    "is empty": b"",
    "is negative": b"-1",
    "is the negative of 32 bits": b"-4294967296",
    "is more than 32 bits hold": b"4294967296",
    "is more than 64 bits hold": b"18446744073709551616",
    "is hexadecimal": b"0x4d2",
    "is a fraction": b"1234.0",
    "has an underscore": b"1_234",
    "is a name": b"daemon",
    "is of other digits": "١٢٣٤".encode(),
    "has a NUL": b"12\x0034",
    "has a space in it": b"12 34",
}
"""Texts in place of an id that are no id."""
_ODD_IDS: Final[Mapping[str, bytes]] = {
    "is more than 31 bits hold": b"2147483648",
    "is the largest of 32 bits": b"4294967295",
    "has leading zeros": b"0001234",
    "has a sign": b"+1234",
    "has spaces around it": b" 1234 ",
}
"""Ids of which the specifications do not say whether they can be used."""

_IN_IMAGES_TOO: Final = ("is empty", "is a name", "is more than 32 bits hold")
"""The texts in place of an id that are also tried with the user of the image's configuration."""


def _of_user(name: str, uid: int, gid: int = GID) -> dict[str, bytes]:
    """Return the seven fields of a line in /etc/passwd, by their names."""
    return {
        "name": name.encode(),
        "password": b"x",
        "UID": str(uid).encode(),
        "GID": str(gid).encode(),
        "comment": b"A user",
        "home": b"/home/odd",
        "shell": b"/bin/sh",
    }


def _line(fields: Mapping[str, bytes], count: int | None = None) -> bytes:
    """Return a line with all fields, or with the first ones."""
    return b":".join(list(fields.values())[:count]) + b"\n"


_VALID_FIELDS: Final[Mapping[str, Mapping[str, bytes]]] = {
    "password": {"is empty": b"", "is locked": b"!", "is impossible": b"*", "has 200 letters": b"h" * 200},
    "comment": {"is empty": b"", "has commas": b"A,,1-2,", "is UTF-8": "Zoë".encode()},
    "home": {"has a space": b"/a home", "does not exist": b"/no/such/home"},
    "shell": {"is empty": b"", "does not exist": b"/no/such/shell"},
    "UID": _VALID_IDS,
    "GID": _VALID_IDS,
}
_ODD_FIELDS: Final[Mapping[str, Mapping[str, bytes]]] = {
    "UID": {**_NO_IDS, **_ODD_IDS},
    "GID": _NO_IDS,
    "comment": {"is not UTF-8": b"Zo\xeb"},
    "home": {
        "is empty": b"",
        "is relative": b"home",
        "leads upwards": f"/../../../../{ESCAPE}".encode(),
        "is long": LONG_TEXT.encode(),
    },
    "shell": {"is relative": b"bin/sh"},
}
_VALID_NAMES: Final = ("odd.user", "odd_user", "odd-user", "odd2", "o" * 32)
_ODD_NAMES: Final = ("Odd", "odd$", "odd user", "öd", "-odd", "../odd", "+odd", "#odd", "777", "o" * 5000)

Table = list[tuple[str, str, dict[str, bytes]]]
"""Lines of one file: the unusual field, what is unusual, and all fields."""


def _users(names: Sequence[str], fields: Mapping[str, Mapping[str, bytes]]) -> Table:
    table: Table = []
    for name in names:
        change = f"is {name}" if len(name) < 20 else f"has {len(name)} letters"
        table.append(("name", change, _of_user(name, 2000 + len(table))))
    for field, values in fields.items():
        for change, value in values.items():
            number = len(table)
            table.append((field, change, _of_user(f"u{number}", 3000 + number) | {field: value}))
    return table


def valid_users() -> Iterator[UserVariant]:
    """Yield users with valid lines in one /etc/passwd."""
    table = _users(_VALID_NAMES, _VALID_FIELDS)
    layer = files(ROOT.encode() + b"".join(_line(fields) for _, _, fields in table))
    for field, change, fields in table:
        yield UserVariant(
            part=f"a user's {field}",
            change=change,
            layer=layer,
            named=NamedUser(name=fields["name"].decode()),
            expected=ACCEPTED,
            uid=int(fields["UID"]),
            gid=int(fields["GID"]),
        )


def odd_users() -> Iterator[UserVariant]:
    """Yield users with unusual lines in one /etc/passwd."""
    table = _users(_ODD_NAMES, _ODD_FIELDS)
    content = ROOT.encode() + b"".join(_line(fields) for _, _, fields in table)
    for count in range(1, 7):
        content += _line(_of_user(f"s{count}", 5000 + count), count)
    for count in (1, 1000):
        content += _line(_of_user(f"t{count}", 6000 + count))[:-1] + b":more" * count + b"\n"
    layer = files(content)
    for field, change, fields in table:
        name = fields["name"].decode()
        invalid = {"UID": "user", "GID": "group"}.get(field, "") if change in _NO_IDS else ""
        also = [NamedUser(image=name)] if invalid and change in _IN_IMAGES_TOO else []
        for named in (NamedUser(name=name), *also):
            yield UserVariant(
                part=f"a user's {field}", change=change, layer=layer, named=named, invalid=invalid
            )
    for count in range(1, 7):
        yield UserVariant(
            part="a user's line",
            change=f"has {count} fields",
            layer=layer,
            named=NamedUser(name=f"s{count}"),
            invalid={1: "user", 2: "user", 3: "group"}.get(count, ""),
        )
    for count in (1, 1000):
        yield UserVariant(
            part="a user's line",
            change=f"has {count} fields too many",
            layer=layer,
            named=NamedUser(name=f"t{count}"),
        )


_ODD_LINES: Final[Mapping[str, bytes]] = {
    "a blank line": b"\n",
    "many blank lines": b"\n" * 10_000,
    "a comment": b"# a:b:c:d:e:f:g\n",
    "a line of colons": b"::::::\n",
    "a line without a colon": b"nonsense\n",
    "a line of NIS": b"+::::::\n",
    "a line of NIS for the user": b"+odd::::::\n",
    "a line of bytes beyond ASCII": b"\xff\xfe\xfd\n",
    "a line with a NUL": b"a\0b:x:1:1::/:\n",
    "a line of 64 KiB": b"l" * (1 << 16) + b"\n",
    "a line of 1 MiB": b"l" * (1 << 20) + b"\n",
    "a space": b" ",
    "a comment sign": b"#",
}
"""What is in a file before the line that is looked for."""


def passwd_files() -> Iterator[UserVariant]:
    """Yield unusual contents of /etc/passwd."""
    root, line = ROOT.encode(), LINE.encode()
    contents = {f"has {what} before the user": root + before + line for what, before in _ODD_LINES.items()}
    contents |= {
        "has no line break at its end": root + line[:-1],
        "has line ends of Windows": (root + line).replace(b"\n", b"\r\n"),
        "has line ends of old Macs": (root + line).replace(b"\n", b"\r"),
        "has a byte order mark": b"\xef\xbb\xbf" + line,
        "is UTF-16": (root + line).decode().encode("utf-16"),
        "has the user twice": root + line + line.replace(b"1234", b"5678"),
        "has a user whose name is the id": root + line.replace(b"odd:", b"1234:", 1) + line,
        "has a home of 1 MiB": root + line.replace(b"/home/odd", b"/" + b"h" * (1 << 20)),
        "has 1 MiB of comments": root + b"# filler\n" * (1 << 17) + line,
        "is a hole": bytes(1 << 20),
    }
    for change, content in contents.items():
        also = () if "before the user" in change else (BY_UID,)
        for named in (BY_NAME, *also):
            yield UserVariant(part="passwd", change=change, layer=files(content), named=named)
    shared = files(root + line.replace(b"odd:", b"other:", 1) + line)
    yield UserVariant(
        part="passwd",
        change="has the id twice",
        layer=shared,
        named=BY_NAME,
        expected=ACCEPTED,
        uid=UID,
        gid=GID,
        groups=(FURTHER_GID,),
    )
    for change, text in {
        "is empty": "",
        "lacks the user": ROOT,
        "has the user in upper case": ROOT + LINE.replace("odd:", "ODD:", 1),
        "has a user whose name begins like the user's": ROOT + LINE.replace("odd:", "oddity:", 1),
        "has a user whose name ends like the user's": ROOT + LINE.replace("odd:", "oddodd:", 1),
        "has the user's name as a comment": ROOT + LINE.replace("odd:", "u:", 1).replace("A user", NAME),
    }.items():
        yield UserVariant(part="passwd", change=change, layer=files(text), named=BY_NAME, expected=REFUSED)
    yield UserVariant(
        part="passwd", change="is empty", layer=files(""), named=BY_UID, expected=ACCEPTED, uid=UID
    )


_VALID_GROUPS: Final[Mapping[str, Mapping[str, bytes]]] = {
    "members": {
        "have the user first": b"%(user)s,a,b",
        "have the user last of many": b"".join(b"a%d," % number for number in range(MANY)) + b"%(user)s",
        "have the user twice": b"%(user)s,%(user)s",
    },
    "password": {"is empty": b"", "is locked": b"!", "is impossible": b"*"},
    "GID": _VALID_IDS,
}
_ODD_GROUPS: Final[Mapping[str, Mapping[str, bytes]]] = {
    "members": {
        "have spaces between them": b"a, %(user)s",
        "begin with an empty one": b",%(user)s",
        "end with an empty one": b"%(user)s,",
        "have empty ones": b",,%(user)s,,,",
        "have other separators": b"a;%(user)s b",
        "are ids": b"%(uid)d",
        "are followed by a field too many": b"%(user)s:x",
        "are none": b"",
    },
    "GID": {**_NO_IDS, **_ODD_IDS},
}


def _groups(groups: Mapping[str, Mapping[str, bytes]]) -> tuple[bytes, Table]:
    """Return a layer, and the lines of its /etc/group: `gN` has the member `uN`, whose UID is 3000 + N."""
    table: Table = []
    for field, values in groups.items():
        for change, value in values.items():
            at = len(table)
            usual = {
                "name": b"g%d" % at,
                "password": b"x",
                "GID": b"%d" % (7000 + at),
                "members": b"%(user)s",
            }
            fields = usual | {field: value}
            fields["members"] %= {b"user": b"u%d" % at, b"uid": 3000 + at}
            table.append((field, change, fields))
    users = b"".join(_line(_of_user(f"u{at}", 3000 + at)) for at in range(len(table)))
    lines = b"".join(_line(fields) for _, _, fields in table)
    return files(ROOT.encode() + users, GROUPS.encode() + lines), table


def valid_groups() -> Iterator[UserVariant]:
    """Yield groups with valid lines in one /etc/group, and their members."""
    layer, table = _groups(_VALID_GROUPS)
    for at, (field, change, fields) in enumerate(table):
        number = int(fields["GID"])
        ways: dict[NamedUser, tuple[int, tuple[int, ...]]] = {NamedUser(name=f"u{at}"): (GID, (number,))}
        if field == "GID":
            ways[NamedUser(image=f"u{at}:g{at}")] = (number, ())
        for named, (gid, groups) in ways.items():
            yield UserVariant(
                part=f"a group's {field}",
                change=change,
                layer=layer,
                named=named,
                expected=ACCEPTED,
                uid=3000 + at,
                gid=gid,
                groups=groups,
            )
    many = "".join(f"g{number}:x:{number}:{NAME}\n" for number in range(5000, 5000 + MANY))
    yield UserVariant(
        part="groups",
        change="have the user many times",
        layer=files(group=GROUPS + many),
        named=BY_NAME,
        expected=ACCEPTED,
        uid=UID,
        gid=GID,
        groups=(5000, 5000 + MANY - 1),
    )


def odd_groups() -> Iterator[UserVariant]:
    """Yield groups with unusual lines in one /etc/group, and their members."""
    layer, table = _groups(_ODD_GROUPS)
    for at, (field, change, _) in enumerate(table):
        invalid = "group" if change in _NO_IDS else ""
        also = [NamedUser(image=f"u{at}:g{at}")] if change in _IN_IMAGES_TOO else []
        for named in (NamedUser(name=f"u{at}"), *also):
            yield UserVariant(
                part=f"a group's {field}", change=change, layer=layer, named=named, invalid=invalid
            )
    usual = {"name": b"short", "password": b"x", "GID": b"7100", "members": b"odd"}
    for count in (1, 2, 3):
        yield UserVariant(
            part="a group's line",
            change=f"has {count} fields",
            layer=files(group=GROUPS.encode() + _line(usual, count)),
            named=NamedUser(image=f"{NAME}:short"),
            invalid="" if count == 3 else "group",
        )


def group_files() -> Iterator[UserVariant]:
    """Yield unusual contents of /etc/group."""
    base, further = GROUPS.encode(), FURTHER_LINE.encode()
    contents = {
        f"has {what} before the group": base + before + further for what, before in _ODD_LINES.items()
    }
    contents |= {
        "has no line break at its end": base + further[:-1],
        "has line ends of Windows": (base + further).replace(b"\n", b"\r\n"),
        "has the group twice": base + further + further.replace(b"4242", b"4243"),
        "has the group of root with the user": b"root:x:0:odd\n" + further,
        "is a hole": bytes(1 << 20),
    }
    for change, content in contents.items():
        yield UserVariant(part="group file", change=change, layer=files(group=content), named=BY_NAME)
    for change, text in {"is empty": "", "lacks the user's own group": FURTHER_LINE}.items():
        yield UserVariant(
            part="group file",
            change=change,
            layer=files(group=text),
            named=BY_NAME,
            expected=ACCEPTED,
            uid=UID,
            gid=GID,
        )
