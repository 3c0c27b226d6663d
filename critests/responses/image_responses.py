"""What each message about images and their filesystems must hold."""

from collections import Counter
from collections.abc import Iterable

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, rule

NONE = "<none>"


@rule("IMS-04", "Image.id")
def image_has_an_id(image: cri.Image, _: Response) -> Iterable[Difference]:
    """An image has an id."""
    if not image.id:
        yield Difference("id", "an id", "")


@rule("IMS-05", "Image.size")
def image_has_a_size(image: cri.Image, _: Response) -> Iterable[Difference]:
    """The size of an image is greater than 0."""
    if not image.size:
        yield Difference("size", "> 0", 0, image.id)


@rule("IMS-06", "Image.uid", "Image.username", "Int64Value.value")
def image_has_one_user(image: cri.Image, _: Response) -> Iterable[Difference]:
    """An image reports a uid or the name of a user, not both; a uid is not negative."""
    if image.HasField("uid") and image.username:
        yield Difference("username", "empty, as uid is set", image.username, image.id)
    if image.HasField("uid") and image.uid.value < 0:
        yield Difference("uid", ">= 0", image.uid.value, image.id)


@rule("IMS-07", "Image.repo_tags", "Image.repo_digests")
def image_names_are_references(image: cri.Image, _: Response) -> Iterable[Difference]:
    """Tags and digests of an image are full references, each listed once."""
    for field, separator in (("repo_tags", ":"), ("repo_digests", "@")):
        names = list(getattr(image, field))
        wrong = [name for name in names if separator not in name or NONE in name or "/" not in name]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if wrong or twice:
            yield Difference(field, "full references, each once", wrong or twice, image.id)


@rule("IMG-08", "PullImageResponse.image_ref")
def pull_returns_a_reference(response: cri.PullImageResponse, _: Response) -> Iterable[Difference]:
    """PullImage returns a reference of the image."""
    if not response.image_ref:
        yield Difference("image_ref", "a reference", "")


@rule(
    "IMF-01",
    "ImageFsInfoResponse.image_filesystems",
    "FilesystemUsage.fs_id",
    "FilesystemIdentifier.mountpoint",
)
def image_filesystem_has_a_mountpoint(response: cri.ImageFsInfoResponse, _: Response) -> Iterable[Difference]:
    """ImageFsInfo reports at least one image filesystem, each with an absolute mountpoint."""
    if not response.image_filesystems:
        yield Difference("image_filesystems", "at least one", [])
    for usage in response.image_filesystems:
        if not usage.fs_id.mountpoint.startswith("/"):
            yield Difference("image_filesystems.fs_id.mountpoint", "an absolute path", usage.fs_id.mountpoint)


@rule("IMF-08", "ImageFsInfoResponse.image_filesystems", "ImageFsInfoResponse.container_filesystems")
def no_filesystem_is_listed_twice(response: cri.ImageFsInfoResponse, _: Response) -> Iterable[Difference]:
    """ImageFsInfo lists each filesystem once."""
    for field in ("image_filesystems", "container_filesystems"):
        mountpoints = [usage.fs_id.mountpoint for usage in getattr(response, field)]
        if len(set(mountpoints)) < len(mountpoints):
            yield Difference(field, "each mountpoint once", mountpoints)


RULES = [
    image_has_an_id,
    image_has_a_size,
    image_has_one_user,
    image_names_are_references,
    pull_returns_a_reference,
    image_filesystem_has_a_mountpoint,
    no_filesystem_is_listed_twice,
]
