"""Users of images: the files that define them and where these are, and the ways to name a user.

Sources: passwd(5), group(5); OCI Image Format Specification 1.1, config.md, `User`;
LinuxContainerSecurityContext.run_as_user, run_as_username and run_as_group; SupplementalGroupsPolicy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from critests.documents.document_fields import Expected
from critests.documents.tar_archives import DIRECTORY, SYMLINK, Member, archive

ACCEPTED, EITHER, REFUSED = Expected.ACCEPTED, Expected.EITHER, Expected.REFUSED
NAME, UID, GID = "odd", 1234, 4321
"""The user of most variants, and its ids in a valid /etc/passwd."""
FURTHER, FURTHER_GID = "further", 4242
"""The group of which the user is a member in a valid /etc/group."""
OTHER_GID = 2002
"""A group that is in no file."""
PASSWD, GROUP = "etc/passwd", "etc/group"


@dataclass(frozen=True)
class NamedUser:
    """How a container names its user.

    Attributes:
        image: `User` of the image's configuration; empty for none.
        name: run_as_username of the request; empty for none.
        uid: run_as_user of the request; None for none.
        gid: run_as_group of the request; None for none.
    """

    image: str = ""
    name: str = ""
    uid: int | None = None
    gid: int | None = None

    def __str__(self) -> str:
        parts = {"image": self.image, "name": self.name, "uid": self.uid, "gid": self.gid}
        return ", ".join(
            f"{part} {str(value)[:20]}" for part, value in parts.items() if value not in {"", None}
        )


@dataclass(frozen=True, kw_only=True)
class UserVariant:
    """An image with unusual users or groups, and a container that names one of them.

    Attributes:
        part: what is unusual: a field of a line, a file, or how the user is named.
        change: how, in words.
        layer: a tar archive with the files, for the top of a usual image.
        named: the user of the container.
        expected: whether the container can be created.
        uid, gid: of its process; None where they are not known.
        groups: that its process has among others.
        invalid: `user` or `group`, whose number in the files is no id; empty where it is one.
    """

    part: str
    change: str
    layer: bytes
    named: NamedUser
    expected: Expected = EITHER
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()
    invalid: str = ""

    def __str__(self) -> str:
        return f"{self.part} {self.change} ({self.named})"

    @property
    def condition(self) -> str:
        """A condition of the shell, true in a container whose process has the ids."""
        ids = {"-u": self.uid, "-g": self.gid}
        tests = [f'test "$(id {option})" = {number}' for option, number in ids.items() if number is not None]
        # from the kernel, because id(1) may read the image's files for the groups
        tests += [f"grep -q '^Groups:.*\\<{number}\\>' /proc/self/status" for number in self.groups]
        return " && ".join(tests) or "true"


BY_NAME, BY_UID = NamedUser(name=NAME), NamedUser(uid=UID)
ROOT: Final = "root:x:0:0:root:/root:/bin/sh\n"
LINE: Final = f"{NAME}:x:{UID}:{GID}:A user:/home/odd:/bin/sh\n"
FURTHER_LINE: Final = f"{FURTHER}:x:{FURTHER_GID}:{NAME}\n"
GROUPS: Final = f"root:x:0:\nown:x:{GID}:\n"


def files(passwd: str | bytes = ROOT + LINE, group: str | bytes = GROUPS + FURTHER_LINE) -> bytes:
    """Return a layer with the two files."""
    contents = {PASSWD: passwd, GROUP: group}
    members = (
        Member(path, content=text.encode() if isinstance(text, str) else text)
        for path, text in contents.items()
    )
    return archive(*members)


def named_users() -> Iterator[UserVariant]:
    """Yield the ways to name a user of valid files."""
    layer = files()

    def named(
        change: str,
        user: NamedUser,
        uid: int | None = UID,
        gid: int | None = GID,
        groups: tuple[int, ...] = (),
        expected: Expected = ACCEPTED,
    ) -> UserVariant:
        return UserVariant(
            part="user",
            change=change,
            layer=layer,
            named=user,
            expected=expected,
            uid=uid,
            gid=gid,
            groups=groups,
        )

    own = (FURTHER_GID,)
    yield named("has a name", BY_NAME, groups=own)
    yield named("has a name and a gid", NamedUser(name=NAME, gid=OTHER_GID), gid=OTHER_GID, groups=own)
    yield named("has a uid", BY_UID, groups=own)
    yield named("has a uid and a gid", NamedUser(uid=UID, gid=OTHER_GID), gid=OTHER_GID, groups=own)
    yield named("has an unknown uid", NamedUser(uid=4999), uid=4999, gid=0)
    yield named("has an unknown uid and a gid", NamedUser(uid=4999, gid=OTHER_GID), uid=4999, gid=OTHER_GID)
    for image, gid in {
        NAME: GID,
        str(UID): GID,
        f"{NAME}:{FURTHER}": FURTHER_GID,
        f"{NAME}:{OTHER_GID}": OTHER_GID,
        f"{UID}:{FURTHER}": FURTHER_GID,
        f"{UID}:{OTHER_GID}": OTHER_GID,
    }.items():
        yield named("is that of the image", NamedUser(image=image), gid=gid)
    yield named("is unknown in the image", NamedUser(image=f"4999:{FURTHER}"), uid=4999, gid=FURTHER_GID)
    # "a default value to use when the value is not specified when creating a container", config.md
    for image in ("root", "nobody-has-this-name"):
        yield named("replaces that of the image", NamedUser(image=image, name=NAME))
        yield named("replaces that of the image", NamedUser(image=image, uid=UID))
    for change, name in {
        "is absent": "nobody-has-this-name",
        "is a group": FURTHER,
        "is in upper case": NAME.upper(),
        "has a space before it": f" {NAME}",
        "has a space after it": f"{NAME} ",
        "is a path": f"../{NAME}",
        "is a pattern": "*",
        "is long": NAME * 10_000,
    }.items():
        yield named(change, NamedUser(name=name), None, None, expected=REFUSED)
    yield named("is absent", NamedUser(image="nobody-has-this-name"), None, None, expected=REFUSED)
    for image in (f"{NAME}:no-such-group", f"{UID}:no-such-group", f"{NAME}:{NAME}:{NAME}"):
        yield named("has an unusual group", NamedUser(image=image), None, None, expected=EITHER)
    yield named("has a colon", NamedUser(name=f"{NAME}:{FURTHER}"), None, None, expected=EITHER)


def kinds_of_files(node_users: str) -> Iterator[UserVariant]:
    """Yield files that are no regular files, or are found through links.

    Args:
        node_users: absolute path of a file of the machine that defines the user; no image has such a path.
    """
    for change, members in _links(PASSWD).items():
        yield _kind(PASSWD, change, members, BY_NAME, ACCEPTED)
    for change, members in _links(GROUP).items():
        yield _kind(GROUP, change, members, BY_NAME, ACCEPTED)
    for change, members in _without_content(PASSWD).items():
        yield _kind(PASSWD, change, members, BY_NAME, REFUSED)
        yield _kind(PASSWD, change, members, BY_UID, EITHER)
    for change, members in _without_content(GROUP).items():
        yield _kind(GROUP, change, members, BY_NAME, EITHER)
    for path in (PASSWD, GROUP):
        beyond = [_moved(path), Member(path, SYMLINK, target=f"../../../../../usr/{path}")]
        yield _kind(path, "is a link beyond the root, to a file in the image", beyond, BY_NAME, EITHER)
    absent = [Member(PASSWD.replace("/", "/.wh."))]
    yield _kind(PASSWD, "is absent", absent, BY_NAME, REFUSED)
    yield _kind(PASSWD, "is absent", absent, BY_UID, ACCEPTED, gid=0, groups=())
    absent = [Member(GROUP.replace("/", "/.wh."))]
    yield _kind(GROUP, "is absent", absent, BY_NAME, ACCEPTED, groups=())
    for change, target in {
        "an absolute": node_users,
        "a relative": f"../../../../../../..{node_users}",
    }.items():
        link = [Member(PASSWD, SYMLINK, target=target)]
        yield _kind(PASSWD, f"is {change} link to a file of the node", link, BY_NAME, REFUSED)
    both = [_moved(PASSWD), _moved(GROUP)]
    for change, target in {"an absolute": "/usr/etc", "a relative": "usr/etc"}.items():
        link = [*both, Member("etc", SYMLINK, target=target)]
        yield _kind("etc", f"is {change} link", link, BY_NAME, ACCEPTED)


_CONTENTS: Final = {PASSWD: (ROOT + LINE).encode(), GROUP: (GROUPS + FURTHER_LINE).encode()}


def _moved(path: str) -> Member:
    return Member(f"usr/{path}", content=_CONTENTS[path])


def _links(path: str) -> dict[str, list[Member]]:
    """Return members by which a file is found through links."""
    name = path.rpartition("/")[2]
    chain = [Member(f"etc/link{number}", SYMLINK, target=f"link{number + 1}") for number in range(5)]

    def link(target: str) -> list[Member]:
        return [_moved(path), Member(path, SYMLINK, target=target)]

    return {
        "is an absolute link": link(f"/usr/etc/{name}"),
        "is a relative link": link(f"../usr/etc/{name}"),
        "is a relative link through a link": [
            *link(f"../usr/link/{name}"),
            Member("usr/link", SYMLINK, target="etc"),
        ],
        "is an absolute link through a link": [
            *link(f"/usr/link/{name}"),
            Member("usr/link", SYMLINK, target="/usr/etc"),
        ],
        "is a chain of links": [
            Member("etc/link5", content=_CONTENTS[path]),
            *chain,
            Member(path, SYMLINK, target="link0"),
        ],
    }


def _without_content(path: str) -> dict[str, list[Member]]:
    """Return members that are in the place of a file and have no content."""
    name = path.rpartition("/")[2]
    return {
        "is a link to itself": [Member(path, SYMLINK, target=name)],
        "is a loop of links": [
            Member(path, SYMLINK, target="loop"),
            Member("etc/loop", SYMLINK, target=name),
        ],
        "is a link to nothing": [Member(path, SYMLINK, target="/no/such/file")],
        "is a link to a directory": [Member(path, SYMLINK, target="/usr")],
        "is a directory": [Member(path, DIRECTORY)],
    }


def _kind(
    path: str,
    change: str,
    members: list[Member],
    named: NamedUser,
    expected: Expected,
    gid: int = GID,
    groups: tuple[int, ...] = (FURTHER_GID,),
) -> UserVariant:
    """Return a variant with these members in place of a file, and the other file as usual."""
    others = [Member(each, content=text) for each, text in _CONTENTS.items() if path not in {each, "etc"}]
    return UserVariant(
        part=path,
        change=change,
        layer=archive(*others, *members),
        named=named,
        expected=expected,
        uid=UID,
        gid=gid,
        groups=groups,
    )
