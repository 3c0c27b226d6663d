"""VOL: the paths that an image itself declares to be volumes."""

from critests.fixtures.containers import Containers
from critests.fixtures.images import Images
from critests.fixtures.session import Observe
from critests.run.marks import requirement

DATA, EMPTY = "/data", "/empty-volume"
"""The volumes of the image `process`; in the first it has a file."""


@requirement("VOL-17/copied")
def test_a_volume_of_the_image_holds_what_the_image_has_there(containers: Containers, images: Images) -> None:
    """A path that the image declares to be a volume SHOULD hold what the image has there, with its owner and
    mode, and be writable.

    Source: `Volumes` in the configuration of an OCI image; not stated by the CRI.
    """
    container = containers.exited(
        image=images.pull("process"),
        script=f"stat -c '%u:%g %a' {DATA}; stat -c '%u:%g' {DATA}/from-image; cat {DATA}/from-image;"
        f" touch {DATA}/new {EMPTY}/new && echo writable",
    )

    assert container.log_lines("stdout") == ["1000:2000 770", "1000:2000", "from the image", "writable"]


@requirement("VOL-17/form")
def test_what_becomes_of_a_volume_of_the_image(
    containers: Containers, images: Images, observe: Observe
) -> None:
    """A path that the image declares to be a volume MAY be a mount of its own, a file system in memory, or
    nothing but a directory.

    Source: `Volumes` in the configuration of an OCI image; the configuration of the runtime decides.
    """
    container = containers.running(image=images.pull("process"), first="true")

    found = container.mounts()

    observe(f"a mount of {found[DATA].kind}" if DATA in found else "a directory of the root")
    assert (DATA in found) is (EMPTY in found)
    assert container.exec("touch", f"{DATA}/new").exit_code == 0
