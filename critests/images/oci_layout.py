"""Images for mirrors and for import: an OCI image layout on disk, and one image in an archive.

Sources: OCI Image Format Specification 1.1, image-layout and the annotation
`org.opencontainers.image.ref.name`.
"""

import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from critests.images import oci_image
from critests.images.build import Builder, BuiltImage
from critests.images.catalogue import CATALOGUE, image_spec
from critests.images.platforms import Architecture

REF_NAME = "org.opencontainers.image.ref.name"
FULL_NAME = "io.containerd.image.name"
"""Of an image with its registry: containerd takes `REF_NAME` for a tag only."""
IMPORTED_AS = "localhost/critests/"
"""Prefix of the full names in a layout. The CRI takes a name without a registry for one of docker.io, so that
the imported image would not be found.
"""


@dataclass(frozen=True, slots=True)
class WrittenImage:
    """An image in a layout."""

    reference: str
    """`name:tag`, by which `skopeo copy oci:DIRECTORY:NAME:TAG docker://…` finds it."""
    imported_as: str
    """The full name with which `ctr images import` imports it, and the CRI finds it."""
    digest: str


def write_layout(
    directory: Path,
    architecture: Architecture | None = None,
    names: Iterable[str] = (),
    *,
    busybox: Path | None = None,
) -> list[WrittenImage]:
    """Write images as an OCI image layout.

    Args:
        directory: Created if it is missing. Files of an earlier call are replaced or stay.
        architecture: For which machine; None for this one.
        names: Of the catalogue; empty for all with OCI's media types, since readers of layouts accept no
            others.
        busybox: A static busybox for that architecture; None for the machine's own (see
            `rootfs.find_busybox`).

    Raises:
        BusyboxError: There is no busybox for the architecture.
        ValueError: There is no image of such a name.
        OSError: The directory cannot be written.
    """
    specs = [image_spec(name) for name in names] or [
        spec for spec in CATALOGUE if spec.dialect is oci_image.Dialect.OCI
    ]
    builder = Builder(architecture, busybox)
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    written: list[WrittenImage] = []
    descriptors: list[dict[str, object]] = []
    for spec in specs:
        image = builder.build(spec)
        for blob in (image.top, *image.manifests, *image.blobs):
            path = blobs / blob.digest.removeprefix("sha256:")
            if not path.exists():
                path.write_bytes(blob.content)
        for tag in spec.tags:
            reference = f"{spec.name}:{tag}"
            one = WrittenImage(reference, f"{IMPORTED_AS}{reference}", image.top.digest)
            names = {REF_NAME: one.reference, FULL_NAME: one.imported_as}
            descriptors.append(image.top.descriptor(annotations=names))
            written.append(one)
    for name, content in _documents(descriptors).items():
        (directory / name).write_bytes(content)
    return written


def write_archive(file: Path, image: BuiltImage, reference: str) -> None:
    """Write one image as an archive of an OCI image layout.

    Args:
        file: replaced if it exists.
        image: built for the machine that will import it.
        reference: its full name, with registry and tag.

    Raises:
        OSError: The file cannot be written.
    """
    members = _documents([image.top.descriptor(annotations={REF_NAME: reference, FULL_NAME: reference})])
    for blob in (image.top, *image.manifests, *image.blobs):
        members[f"blobs/sha256/{blob.digest.removeprefix('sha256:')}"] = blob.content
    with tarfile.open(file, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _documents(descriptors: list[dict[str, object]]) -> dict[str, bytes]:
    """Return the files of a layout that refer to its blobs."""
    index = {
        "schemaVersion": 2,
        "mediaType": oci_image.INDEX[oci_image.Dialect.OCI],
        "manifests": descriptors,
    }
    return {
        "oci-layout": oci_image.canonical_json({"imageLayoutVersion": "1.0.0"}),
        "index.json": oci_image.canonical_json(index),
    }
