"""VOL: the paths that an image declares as volumes."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Changes,
    Containers,
    FileChange,
    Images,
    RecordVariant,
    Registry,
    Sandboxes,
    lingering,
    may_be_refused,
    requirement,
    requires,
    with_user_namespace,
)

DATA, EMPTY = "/data", "/empty-volume"
"""The volumes of the image `process`; the image has a file in the first."""


@requirement("VOL-17/copied")
def test_a_volume_of_the_image_has_the_files_of_the_image(containers: Containers, images: Images) -> None:
    """A volume declared by the image SHOULD contain the image's files at that path, with owner and mode, and
    be writable.

    Source: `Volumes` in the configuration of an OCI image; not stated by the CRI.
    """
    container = containers.exited(
        image=images.pull("process"),
        script=lingering(
            f"stat -c '%u:%g %a' {DATA}; stat -c '%u:%g' {DATA}/from-image; cat {DATA}/from-image;"
            f" touch {DATA}/new {EMPTY}/new && echo writable"
        ),
    )

    # owner, group and mode of the directory in the image
    assert container.log_lines("stdout") == ["1000:2000 770", "1000:2000", "from the image", "writable"]


@requirement("VOL-17/copied")
@pytest.mark.parametrize("path", ["/with:colon", "/nested/in/another"], ids=["colon", "nested"])
def test_a_volume_of_the_image_with_an_unusual_path(
    containers: Containers, registry: Registry, path: str
) -> None:
    """A volume declared by the image SHOULD contain the image's files, also if its path has a colon or is
    within another volume.

    Source: `Volumes` in the configuration of an OCI image; not stated by the CRI.
    """
    outer = f"/{path.split('/')[1]}"
    changes = Changes(
        volumes=sorted({outer, path}),
        files=[FileChange(path=f"{path}/from-image", content="from the image", uid=1000, gid=2000)],
    )

    container = containers.running(image=registry.pull(registry.mint(changes=changes)))

    file = f"{path}/from-image"
    assert container.output("cat", file) == "from the image"
    assert container.output("stat", "-c", "%u:%g", file) == "1000:2000"


@requirement("VOL-17/copied")
@requires(Capability.USER_NAMESPACES)
def test_a_volume_of_the_image_in_a_user_namespace(
    sandboxes: Sandboxes, containers: Containers, images: Images
) -> None:
    """A volume declared by the image SHOULD contain the image's files with their owners in a pod with a user
    namespace.

    Source: `Volumes` in the configuration of an OCI image, UserNamespace; not stated by the CRI.
    """
    pod = sandboxes.ready(namespaces=with_user_namespace())

    container = containers.running(image=images.pull("process"), in_sandbox=pod)

    assert container.output("stat", "-c", "%u:%g", DATA, f"{DATA}/from-image").split() == ["1000:2000"] * 2
    assert container.output("cat", f"{DATA}/from-image") == "from the image"


@requirement("VOL-17/form")
def test_form_of_a_volume_of_the_image(
    containers: Containers, images: Images, record_variant: RecordVariant
) -> None:
    """A volume declared by the image MAY be a bind mount, a tmpfs, or a directory of the root file system.

    Source: `Volumes` in the configuration of an OCI image; the configuration of the runtime decides.
    """
    container = containers.running(image=images.pull("process"), first="true")

    found = container.mounts()

    record_variant(f"a mount of {found[DATA].kind}" if DATA in found else "a directory of the root")
    assert (DATA in found) is (EMPTY in found)
    assert container.exec("touch", f"{DATA}/new").exit_code == 0


@requirement("VOL-17/relative")
def test_a_volume_of_the_image_without_a_leading_slash(containers: Containers, registry: Registry) -> None:
    """A container SHOULD run if its image declares a relative path as a volume.

    Source: `Volumes` in the configuration of an OCI image; not stated by the CRI, such images exist.
    """
    image = registry.pull(registry.mint(changes=Changes(volumes=["relative/volume"])))

    container = containers.attempt(containers.config(image=image))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("VOL-17/no-escape")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("way", ["parents", "link"])
def test_no_volume_of_an_image_shows_files_of_the_host(
    containers: Containers, registry: Registry, host_folder: Path, way: str
) -> None:
    """A volume declared by the image MUST NOT show anything of the host, neither through `..` nor through a
    symbolic link.

    Source: `Volumes` in the configuration of an OCI image; its author could read the node's secrets.
    """
    (host_folder / "secret").write_text("of the host\n")
    ways = {
        # 20 parents lead from any directory of a runtime to the root
        "parents": Changes(volumes=["/.." * 20 + str(host_folder)]),
        "link": Changes(
            volumes=["/way-out"],
            files=[FileChange(path="way-out", kind="symlink", target="../" * 20 + str(host_folder)[1:])],
        ),
    }
    image = registry.pull(registry.mint(changes=ways[way]))
    found = []

    with may_be_refused():
        container = containers.attempt(containers.config(image=image))
        found = [container.exec("cat", f"{place}/secret").stdout for place in (str(host_folder), "/way-out")]

    assert b"of the host\n" not in found
