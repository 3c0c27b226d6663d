"""DOC: files that say from which registries a runtime takes images."""

import os
from collections.abc import Iterator

import pytest

from critests.documents import registries_conf, registry_hosts
from critests.documents.document_fields import Expected
from critests.documents.pull_choices import PullChoice
from critests.documents.variants import Variant
from critests.testing import OwnRuntime, blocked, disruptive, documents, requirement, unsupported
from critests.validation.documents.configured_pulls import ConfiguredPulls
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import ImageUser

pytestmark = [documents, disruptive]


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module."""
    return ImageUser(module_runtime)


@pytest.fixture
def hosts(image_user: ImageUser) -> ConfiguredPulls:
    """Pulls with a hosts.toml."""
    folder = image_user.runtime.daemon.hosts_folder
    if folder is None:
        unsupported("a hosts.toml for each registry: this kind of runtime reads none")
    return ConfiguredPulls(image_user, folder)


@pytest.fixture
def registries(image_user: ImageUser) -> ConfiguredPulls:
    """Pulls with a registries.conf."""
    folder = image_user.runtime.daemon.registries_folder
    if folder is None:
        unsupported("registries.conf: this kind of runtime reads none")
    if os.statvfs(folder).f_flag & os.ST_NOATIME:
        blocked(f"{folder} is mounted with noatime, so that nobody sees when the daemon reads a file")
    return ConfiguredPulls(image_user, folder, registries_conf.FILE)


def breaches(
    pulls: ConfiguredPulls, file: str, every: Iterator[Variant], *expected: Expected
) -> list[DocumentBreach]:
    """Pull an image with each file of which this is expected, and return what went wrong."""
    chosen = [variant for variant in every if variant.expected in expected]
    return pulls.images.documents.breaches(chosen, lambda variant: pulls.use(file, variant))


def misread(pulls: ConfiguredPulls, choices: Iterator[PullChoice]) -> list[DocumentBreach]:
    """Pull an image with each file, and return which came from elsewhere than the file says."""
    return pulls.images.documents.breaches(choices, pulls.check)


@requirement("DOC-16/harmless")
def test_an_unusual_hosts_file_does_no_harm(hosts: ConfiguredPulls) -> None:
    """A hosts.toml with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod, and PullImage MUST return.

    Source: containerd, docs/hosts.md, which leaves open how a runtime reports an invalid file.
    """
    variants = registry_hosts.hosts_variants(hosts.address)

    assert breaches(hosts, registry_hosts.FILE, variants, Expected.EITHER) == []


@requirement("DOC-16/meaning")
def test_an_unusual_but_valid_hosts_file_is_used(hosts: ConfiguredPulls) -> None:
    """PullImage MUST succeed with a valid hosts.toml without optional fields, and in every form of TOML.

    Source: containerd, docs/hosts.md; TOML 1.0.0.
    """
    variants = registry_hosts.hosts_variants(hosts.address)

    assert breaches(hosts, registry_hosts.FILE, variants, Expected.ACCEPTED, Expected.REFUSED) == []


@requirement("DOC-16/meaning")
@pytest.mark.parametrize("subject", registry_hosts.CHOICES)
def test_an_image_comes_from_the_hosts_of_its_registry(hosts: ConfiguredPulls, subject: str) -> None:
    """PullImage MUST take an image from the hosts that the registry's hosts.toml names, in their order and
    with their capabilities, paths and headers.

    Source: containerd, docs/hosts.md.
    """
    assert misread(hosts, registry_hosts.CHOICES[subject](hosts.address)) == []


@requirement("DOC-17/harmless")
def test_an_unusual_registries_file_does_no_harm(registries: ConfiguredPulls) -> None:
    """A registries.conf with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod, and PullImage MUST return.

    Source: containers-registries.conf(5), which leaves open how a runtime reports an invalid file.
    """
    variants = registries_conf.registries_variants(registries.address)

    assert breaches(registries, registries_conf.FILE, variants, Expected.EITHER) == []


@requirement("DOC-17/meaning")
def test_an_unusual_but_valid_registries_file_is_used(registries: ConfiguredPulls) -> None:
    """PullImage MUST succeed with a valid registries.conf without optional fields, and in every form of TOML,
    and MUST fail for a blocked registry.

    Source: containers-registries.conf(5); TOML 1.0.0.
    """
    variants = registries_conf.registries_variants(registries.address)

    assert breaches(registries, registries_conf.FILE, variants, Expected.ACCEPTED, Expected.REFUSED) == []


@requirement("DOC-17/meaning")
@pytest.mark.parametrize("subject", registries_conf.CHOICES)
def test_an_image_comes_from_the_registries_of_its_name(registries: ConfiguredPulls, subject: str) -> None:
    """PullImage MUST take an image from the mirrors and the location that registries.conf names for the
    prefix of its name, or for its short name, and from no registry that is blocked or not insecure.

    Source: containers-registries.conf(5), containers-registries.conf.d(5).
    """
    choices = registries_conf.CHOICES[subject](registries.address, registries.images.repository)

    assert misread(registries, choices) == []
