"""A layer with something unusual, as one variant."""

from dataclasses import dataclass
from typing import Final

from critests.documents.document_fields import Expected
from critests.images.oci_image import digest

TAR: Final = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class LayerVariant:
    """A layer that differs from a usual one in one place.

    Attributes:
        part: what is unusual: a field of a header, the members, the archive or its compression.
        change: how, in words.
        content: the blob.
        media_type: of the layer.
        diff_id: digest of the archive.
        expected: whether it is valid.
        condition: of the shell, true in a container with the layer, if it is valid.
    """

    part: str
    change: str
    content: bytes
    media_type: str
    diff_id: str
    expected: Expected = Expected.EITHER
    condition: str = "true"

    def __str__(self) -> str:
        return f"{self.part}: {self.change}"


def layer(
    part: str, change: str, tar: bytes, expected: Expected = Expected.EITHER, condition: str = "true"
) -> LayerVariant:
    """Return a layer without compression."""
    return LayerVariant(part, change, tar, TAR, digest(tar), expected, condition)
