"""IMG: forms of images, and of registry responses, that a pull has to support."""

from collections.abc import Callable

import grpc
import pytest

from critests.testing import (
    Containers,
    FaultKind,
    ImageName,
    Images,
    RecordVariant,
    Registry,
    RegistryFault,
    Runtime,
    Scope,
    lingering,
    may_be_refused,
    must_be_refused,
    requirement,
)

# longer than the 255 bytes that a tar header can hold, so that the path needs a record of its own
LONG_PATH = (
    "/archive/long/" + "/".join(["directory-with-a-name-of-forty-characters"] * 4) + "/file-" + "n" * 120
)

# name in the catalogue of images, script of the container, lines that it prints
CONTENTS = {
    "Docker's manifest": ("docker", "cat /docker", ["docker"]),
    "layer that is not compressed": ("uncompressed", "cat /layer", ["tar"]),
    "file removed by a later layer": ("whiteouts", "ls /data", ["kept", "replaced"]),
    "file replaced by a later layer": ("whiteouts", "cat /data/replaced", ["new"]),
    "directory removed by a later layer": ("whiteouts", "[ -e /removed-directory ] || echo gone", ["gone"]),
    "directory made opaque by a later layer": ("whiteouts", "ls /opaque", ["new"]),
    "hard link": ("archive", "stat -c %h /archive/first; cat /archive/second", ["2", "linked"]),
    "owner and mode": ("archive", "stat -c %u:%g:%a /archive/first", ["1000:2000:640"]),
    "set-id and sticky bits": (
        "archive",
        "stat -c %a /archive/setuid /archive/setgid /archive/sticky",
        ["4755", "2755", "1777"],
    ),
    "symbolic links": (
        "archive",
        "readlink /archive/absolute; readlink /archive/dangling",
        ["/archive/first", "nowhere"],
    ),
    "long name": ("archive", f"cat {LONG_PATH}", ["long"]),
}
FURTHER_CONTENTS = {
    "layer packed with zstd": ("zstd", "cat /layer", ["zstd"]),
    # 1:3 is the null device
    "device node": ("archive-device", "[ -c /null ] && stat -c %t:%T /null", ["1:3"]),
}
NO_HEAD = RegistryFault(kind=FaultKind.FORBIDDEN, scope=Scope.MANIFEST, method="HEAD")
VARIANTS_OF_RESPONSES = {
    "manifest behind a redirection": RegistryFault(kind=FaultKind.REDIRECT, scope=Scope.MANIFEST),
    "blobs behind a redirection": RegistryFault(kind=FaultKind.REDIRECT, scope=Scope.BLOB),
    "manifest in chunks": RegistryFault(kind=FaultKind.CHUNKED, scope=Scope.MANIFEST),
    "blobs in chunks": RegistryFault(kind=FaultKind.CHUNKED, scope=Scope.BLOB),
    "blobs without ranges": RegistryFault(kind=FaultKind.NO_RANGES, scope=Scope.BLOB),
    "no digest in the headers": RegistryFault(kind=FaultKind.NO_DIGEST_HEADER, scope=Scope.MANIFEST),
}

OLD_SCHEMA = RegistryFault(kind=FaultKind.OLD_SCHEMA, scope=Scope.MANIFEST)

OutputOf = Callable[[str, str], list[str]]


@pytest.fixture
def output_of(runtime: Runtime, registry: Registry, images: Images, containers: Containers) -> OutputOf:
    """Pull an image of the catalogue that the runtime does not have, run a script in a container of it, and
    return the lines that it prints.
    """

    def pull_and_run(image: str, script: str) -> list[str]:
        minted = registry.mint(image)
        response = runtime.images.PullImage(images.pull_request(minted.reference))
        # its layers stay after the test, as a concurrent pull of another test may rely on them (CNC-15)
        images.pull(image)
        return containers.exited(
            image=ImageName(response.image_ref, minted.reference), script=lingering(script)
        ).log_lines()

    return pull_and_run


@requirement("IMG-13/common")
@pytest.mark.parametrize(("image", "script", "lines"), CONTENTS.values(), ids=CONTENTS)
def test_files_of_a_container_are_those_of_the_layers(
    output_of: OutputOf, image: str, script: str, lines: list[str]
) -> None:
    """A container MUST see the files of its image as the layers, applied in order, define them.

    Source: OCI image specification, image layer filesystem changeset and media types.
    """
    assert output_of(image, script) == lines


@requirement("IMG-13/further")
@pytest.mark.parametrize(("image", "script", "lines"), FURTHER_CONTENTS.values(), ids=FURTHER_CONTENTS)
def test_zstd_layers_and_device_nodes_are_unpacked(
    output_of: OutputOf, image: str, script: str, lines: list[str]
) -> None:
    """Layers compressed with zstd, and device nodes in a layer, SHOULD be unpacked as they are.

    Source: OCI image specification, image layer filesystem changeset and media types.
    """
    assert output_of(image, script) == lines


@requirement("IMG-13/foreign")
def test_form_of_a_pull_of_non_distributable_layers(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage of an image with non-distributable layers MAY pull them from a registry that has them, or
    fail; it MUST NOT hang.

    Source: OCI image specification, non-distributable layers.
    """
    minted = registry.mint(changes={"dialect": "foreign"})

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference))
        pulled = True

    record_variant(f"an image of foreign layers is {'pulled' if pulled else 'refused'}")
    assert (images.look_up(minted.reference) is not None) is pulled


@requirement("IMG-14")
def test_form_of_a_pull_of_a_schema_1_manifest(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage of a manifest of Docker's schema 1 MAY fail with any error; the image MUST be absent then,
    and the pull MUST NOT hang.

    Source: the distribution project's image manifest version 2, schema 1, which is deprecated.
    """
    minted = registry.mint()
    registry.fault(minted, OLD_SCHEMA)

    # said of the manifest: other pulls work
    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        runtime.images.PullImage(images.pull_request(minted.reference))

    record_variant(f"a manifest of schema 1 is refused with {refusal.code.name}")
    assert images.look_up(minted.reference) is None


@requirement("IMG-32/handled")
@pytest.mark.parametrize("fault", VARIANTS_OF_RESPONSES.values(), ids=VARIANTS_OF_RESPONSES)
def test_pull_supports_redirections_chunks_and_missing_headers(
    runtime: Runtime, registry: Registry, images: Images, fault: RegistryFault
) -> None:
    """PullImage MUST follow redirections, also with a relative Location, accept chunked bodies, and accept
    responses without a digest header or with all of a blob where it requested a part.

    Source: OCI distribution specification, pulling manifests and blobs; RFC 9110, section 14.2.
    """
    # a layer of several parts, if the runtime fetches layers in parts
    minted = registry.mint(changes={"filler_bytes": 80 << 10, "filler_layers": 1})
    registry.fault(minted, fault)

    runtime.images.PullImage(images.pull_request(minted.reference))

    assert fault.kind in {request.fault for request in registry.requests(minted)}
    found = images.look_up(minted.reference)
    assert found is not None
    assert minted.by_digest in found.repo_digests


@requirement("IMG-32/no-head")
def test_form_of_a_pull_from_a_registry_that_refuses_head(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant
) -> None:
    """PullImage from a registry that rejects HEAD requests MAY fail, or fall back to GET; the image MUST be
    present only if the pull succeeds.

    Source: OCI distribution specification, which requires registries to support both.
    """
    minted = registry.mint()
    registry.fault(minted, NO_HEAD)

    pulled = False
    with may_be_refused():
        runtime.images.PullImage(images.pull_request(minted.reference))
        pulled = True

    record_variant("makes do with GET" if pulled else "is refused")
    assert (images.look_up(minted.reference) is not None) is pulled
