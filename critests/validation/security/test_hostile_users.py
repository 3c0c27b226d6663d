"""USR: users that an image, or a variable, is written to gain something by."""

import pytest

from critests.fixtures.containers import Containers
from critests.fixtures.images import Registry
from critests.fixtures.runtime import may_be_refused
from critests.images.catalogue import Changes, FileChange
from critests.lifecycle.process import EXEC
from critests.run.marks import requirement
from critests.validation.security.contexts import context

NUMBERS = {
    "beyond 31 bits": "2147483648",
    "beyond 32 bits": "4294967296",
    "negative": "-1000",
}
INJECTED = "critests-injected"
INJECTION = f"/home\n{INJECTED}:x:0:0::/root:/bin/sh"


def naming_root(number: str) -> Changes:
    """Return an image whose user is a number that its own /etc/passwd has as a name of root."""
    line = f"root:x:0:0::/root:/bin/sh\n{number}:x:0:0::/root:/bin/sh\n"
    return Changes(user=number, files=[FileChange(path="etc/passwd", content=line)])


@requirement("USR-24")
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_a_number_that_no_user_can_have_is_no_name_of_root(
    containers: Containers, registry: Registry, number: str
) -> None:
    """An image whose user is a number that no uid can be MUST NOT come to root by a line of its own
    /etc/passwd.

    Source: Image.uid, by which the kubelet tells who is not root.
    """
    image = registry.pull(registry.mint(changes=naming_root(number)))
    uid = 1

    with may_be_refused():
        uid = containers.attempt(containers.config(image=image)).process_status(EXEC).uids[0]

    assert uid != 0


@requirement("USR-02")
@pytest.mark.parametrize("target", ["/store/passwd", "../store/passwd"], ids=["absolute", "relative"])
def test_users_are_found_behind_a_link(containers: Containers, registry: Registry, target: str) -> None:
    """A run_as_username MUST be resolved in the image's /etc/passwd, also where that is a link to another
    file of the image.

    Source: LinuxContainerSecurityContext.run_as_username.
    """
    linked = Changes(
        files=[
            FileChange(path="store/passwd", content="root:x:0:0::/:/bin/sh\nlinked:x:1234:1234::/:/bin/sh\n"),
            FileChange(path="etc/passwd", kind="symlink", target=target),
        ]
    )
    image = registry.pull(registry.mint(changes=linked))

    container = containers.attempt(
        containers.config(image=image, security_context=context(run_as_username="linked"))
    )

    assert container.process_status(EXEC).uids == (1234,) * 4


@requirement("USR-25")
@pytest.mark.parametrize("written", [INJECTION, INJECTION.replace("\n", "\\n")], ids=["newline", "escape"])
def test_a_home_writes_no_line_of_the_users(containers: Containers, written: str) -> None:
    """A newline in HOME MUST NOT begin a line of /etc/passwd; such a container may be refused.

    Source: ContainerConfig.envs. Not stated by the CRI; who sets a variable would make himself root.
    """
    config = containers.config(envs={"HOME": written}, security_context=context(43210))
    lines = []

    with may_be_refused():
        lines = containers.attempt(config).output("cat", "/etc/passwd").splitlines()

    assert [line for line in lines if line.startswith(INJECTED)] == []
