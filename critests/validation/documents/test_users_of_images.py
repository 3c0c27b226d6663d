"""DOC: unusual users and groups of images, and the ways to name them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from critests.documents.document_fields import Expected
from critests.documents.layers import TAR
from critests.documents.user_files import LINE, UserVariant, kinds_of_files, named_users
from critests.documents.user_lines import (
    group_files,
    odd_groups,
    odd_users,
    passwd_files,
    valid_groups,
    valid_users,
)
from critests.images.oci_image import Blob
from critests.lifecycle.requests import ImageName
from critests.testing import OwnRuntime, disruptive, documents, requirement
from critests.validation.documents.containers_in_use import run_to_exit
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import EXIT_CODE, ImageUser
from critests.validation.security.contexts import context

pytestmark = [documents, disruptive]
PARTS: dict[str, Callable[[str], Iterable[UserVariant]]] = {
    "users": lambda _: (*valid_users(), *odd_users()),
    "passwd": lambda _: passwd_files(),
    "groups": lambda _: (*valid_groups(), *odd_groups()),
    "group": lambda _: group_files(),
    "names": lambda _: named_users(),
    "kinds": kinds_of_files,
}
"""The variants by what is unusual; some name a file of the machine."""


@dataclass
class UserImages:
    """Runs containers as users of images; variants with the same image share it.

    Attributes:
        images: pulls them.
        pulled: by layer and `User` of the configuration, until the pod of a group of variants is removed.
    """

    images: ImageUser
    pulled: dict[tuple[bytes, str], ImageName] = field(default_factory=dict)

    @property
    def node_users(self) -> Path:
        """A file of the machine that defines the user."""
        file = self.images.runtime.daemon.root / "critests-users"
        file.write_text(LINE, encoding="ascii")
        return file

    def variants(self, part: str) -> Iterator[UserVariant]:
        """Yield the variants of a part of the table."""
        yield from PARTS[part](str(self.node_users))

    def image(self, variant: UserVariant) -> ImageName:
        """Pull the image of a variant.

        Raises:
            grpc.RpcError: the runtime refuses it.
        """
        key = variant.layer, variant.named.image
        if key not in self.pulled:
            layer = Blob(TAR, variant.layer)
            document = self.images.config
            document["rootfs"]["diff_ids"].append(layer.digest)
            document.pop("history", None)
            document["config"]["User"] = variant.named.image
            manifest, config = self.images.with_config(document, layer)
            owner = self.images.documents.pods
            owner.cleanups.append(self.pulled.clear)
            self.pulled[key] = self.images.pull(self.images.put(manifest, config, layer), owner)
        return self.pulled[key]

    def run(self, variant: UserVariant, condition: str) -> None:
        """Run a container as the user of a variant.

        Raises:
            grpc.RpcError: the runtime refuses it.
            AssertionError: the condition of the shell is not true in the container.
        """
        named = variant.named
        config = self.images.runtime.containers.config(
            image=self.image(variant),
            command=("/bin/sh", "-c", f"{condition} && exit {EXIT_CODE}"),
            security_context=context(named.uid, named.gid, run_as_username=named.name),
        )
        run_to_exit(self.images.documents, config)

    def breaches(self, part: str, *expected: Expected) -> list[DocumentBreach]:
        """Use the variants of which the specification expects this, and return what went wrong."""
        return self.images.documents.breaches(
            [each for each in self.variants(part) if each.expected in expected],
            lambda variant: self.run(variant, variant.condition),
        )


@pytest.fixture(scope="module")
def user_images(module_runtime: OwnRuntime) -> UserImages:
    """Images of this module."""
    return UserImages(ImageUser(module_runtime))


@requirement("DOC-15/harmless")
@pytest.mark.parametrize("part", PARTS)
def test_unusual_users_of_an_image_do_no_harm(user_images: UserImages, part: str) -> None:
    """An /etc/passwd or /etc/group of an image with anything unusual MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod.

    Source: passwd(5), group(5), which leave open how a reader reports invalid lines.
    """
    assert user_images.breaches(part, Expected.EITHER) == []


@requirement("DOC-15/meaning")
@pytest.mark.parametrize("part", PARTS)
def test_unusual_but_valid_users_of_an_image_are_found(user_images: UserImages, part: str) -> None:
    """A container MUST run with the ids and groups that the image's files give its user, however the request
    or the image's configuration names the user, also if the files are links to others in the image.

    Source: LinuxContainerSecurityContext.run_as_user, run_as_username and run_as_group;
    SupplementalGroupsPolicy; OCI image specification, config.md, User; passwd(5), group(5).
    """
    assert user_images.breaches(part, Expected.ACCEPTED) == []


@requirement("DOC-15/meaning")
def test_a_user_that_no_file_of_the_image_defines_is_rejected(user_images: UserImages) -> None:
    """CreateContainer or StartContainer MUST fail for a name that the image's /etc/passwd lacks, also if a
    file of the node has it, to which a link of the image leads.

    Source: LinuxContainerSecurityContext.run_as_username; the user of the OCI image configuration.
    """
    assert [each for part in PARTS for each in user_images.breaches(part, Expected.REFUSED)] == []


@requirement("DOC-15/root")
@pytest.mark.parametrize(
    ("invalid", "condition"),
    [("user", 'test "$(id -u)" != 0'), ("group", "! id -G | grep -qw 0")],
    ids=["user", "group"],
)
def test_a_line_without_a_valid_id_does_not_make_root(
    user_images: UserImages, invalid: str, condition: str
) -> None:
    """A process SHOULD NOT have the id 0 because the image's line of its user or group has no valid id: such
    a container may be rejected.

    Source: not stated by the API, which requires an error for a name that the image lacks; passwd(5) and
    group(5), which give each user and group a numeric id.
    """
    roots: list[str] = []

    def run(variant: UserVariant) -> None:
        try:
            user_images.run(variant, condition)
        except AssertionError:
            roots.append(str(variant))

    chosen = [each for part in PARTS for each in user_images.variants(part) if each.invalid == invalid]
    # what such a line damages is a finding of DOC-15/harmless
    user_images.images.documents.breaches(chosen, run)

    assert roots == []
