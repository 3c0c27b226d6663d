"""USR: users of images, and variables, that are crafted to gain privileges."""

import pytest

from critests.testing import EXEC, Changes, Containers, FileChange, Registry, may_be_refused, requirement
from critests.validation.security.contexts import context

NUMBERS = {
    "beyond 31 bits": "2147483648",
    "beyond 32 bits": "4294967296",
    "negative": "-1000",
}
INJECTED = "critests-injected"
INJECTION = f"/home\n{INJECTED}:x:0:0::/root:/bin/sh"
LINKS = pytest.mark.parametrize(
    "link",
    [
        FileChange(path="etc/passwd", kind="symlink", target="/usr/etc/passwd"),
        FileChange(path="etc/passwd", kind="symlink", target="../usr/etc/passwd"),
        FileChange(path="etc", kind="symlink", target="/usr/etc"),
        FileChange(path="etc", kind="symlink", target="usr/etc"),
    ],
    ids=["absolute", "relative", "absolute directory", "relative directory"],
)


def linked(link: FileChange) -> Changes:
    """Return changes of an image: its users and groups are in /usr/etc, and found through a link."""
    files = [
        FileChange(path="usr/etc/passwd", content="root:x:0:0::/:/bin/sh\nlinked:x:1234:1234::/:/bin/sh\n"),
        FileChange(path="usr/etc/group", content="root:x:0:\nlinked:x:1234:\nfurther:x:4242:linked\n"),
        link,
    ]
    if link["path"] != "etc":
        group = link["target"].replace("passwd", "group")
        files.append(FileChange(path="etc/group", kind="symlink", target=group))
    return Changes(files=files)


def image_naming_root(number: str) -> Changes:
    """Return changes of an image: its user is a number, which its /etc/passwd has as a name with UID 0."""
    line = f"root:x:0:0::/root:/bin/sh\n{number}:x:0:0::/root:/bin/sh\n"
    return Changes(user=number, files=[FileChange(path="etc/passwd", content=line)])


@requirement("USR-24")
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_out_of_range_uid_of_an_image_is_not_root(
    containers: Containers, registry: Registry, number: str
) -> None:
    """An image whose user is a number out of range MUST NOT run as root through a line of its /etc/passwd.

    Source: Image.uid, from which the kubelet concludes that a user is not root.
    """
    image = registry.pull(registry.mint(changes=image_naming_root(number)))
    uid = 1  # not root, for a container that is rejected

    with may_be_refused():
        uid = containers.attempt(containers.config(image=image)).process_status(EXEC).uids[0]

    assert uid != 0


@requirement("USR-02")
@LINKS
def test_username_is_resolved_through_a_symbolic_link(
    containers: Containers, registry: Registry, link: FileChange
) -> None:
    """The image's /etc/passwd MUST resolve `run_as_username`, even if the file or its directory is a link to
    another place in the image.

    Source: LinuxContainerSecurityContext.run_as_username.
    """
    image = registry.pull(registry.mint(changes=linked(link)))

    container = containers.attempt(
        containers.config(image=image, security_context=context(run_as_username="linked"))
    )

    assert container.process_status(EXEC).uids == (1234,) * 4


@requirement("USR-11")
@LINKS
def test_groups_are_resolved_through_a_symbolic_link(
    containers: Containers, registry: Registry, link: FileChange
) -> None:
    """The image's /etc/group MUST define the groups of a user, even if the file or its directory is a link to
    another place in the image.

    Source: SupplementalGroupsPolicy.
    """
    image = registry.pull(registry.mint(changes=linked(link)))

    container = containers.attempt(
        containers.config(image=image, security_context=context(run_as_username="linked"))
    )

    assert 4242 in container.process_status(EXEC).groups


@requirement("USR-25")
@pytest.mark.parametrize("home", [INJECTION, INJECTION.replace("\n", "\\n")], ids=["newline", "escape"])
def test_newline_in_home_adds_no_line_to_passwd(containers: Containers, home: str) -> None:
    """A newline in HOME MUST NOT start a new line of /etc/passwd; such a container may be rejected.

    Source: ContainerConfig.envs. Not stated by the CRI; the author of a variable could become root.
    """
    # a user that the image lacks: some runtimes add a line for it, with HOME as its directory
    config = containers.config(envs={"HOME": home}, security_context=context(43210))
    lines = []

    with may_be_refused():
        lines = containers.attempt(config).output("cat", "/etc/passwd").splitlines()

    assert [line for line in lines if line.startswith(INJECTED)] == []
