"""SEC: images in which a directory that the runtime uses is a link out of their root."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Changes,
    Containers,
    FileChange,
    Registry,
    Sandbox,
    may_be_refused,
    mounts_below,
    requirement,
    requires,
)

FOLDER = "outside"
"""In the log directory of the pod, which exists on the node."""


@requirement("SEC-17")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("form", ["absolute", "parents", "absent"])
@pytest.mark.parametrize("place", ["dev", "etc", "proc", "run", "sys"])
def test_no_link_of_an_image_lets_the_runtime_write_on_the_node(
    containers: Containers, registry: Registry, own_sandbox: Sandbox, place: str, form: str
) -> None:
    """A container of an image whose /dev, /etc, /proc, /run or /sys is a link MUST create or mount nothing at
    the path of that name on the node; it may be rejected.

    Source: not stated by the CRI; the author of an image would write on the node as root.
    """
    folder = own_sandbox.log_directory / FOLDER
    folder.mkdir(parents=True)
    target = {
        "absolute": str(folder),
        "parents": "../" * 20 + str(folder)[1:],
        "absent": str(folder / "absent"),
    }[form]
    link = Changes(files=[FileChange(path=place, kind="symlink", target=target)])
    image = registry.pull(registry.mint(changes=link))

    with may_be_refused():
        containers.attempt(containers.config(image=image), in_sandbox=own_sandbox)

    assert sorted(folder.rglob("*")) == []
    assert mounts_below([folder]) == []
    assert own_sandbox.state() == cri.SANDBOX_READY
