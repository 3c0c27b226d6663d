"""Files that say from which registries an image comes, and what a pull does because of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from critests.documents.document_fields import Expected

NOBODY: Final = "127.0.0.1:1"
"""A registry where nothing listens, in the names of images whose registry a file names."""
ORIGIN, FIRST, SECOND = "", "first", "second"
"""Where the suite's registry has an image: in its repository, and below two paths, as mirrors have it."""


@dataclass(frozen=True, kw_only=True)
class PullChoice:
    """Files, and what a pull does because of it.

    Attributes:
        name: in words.
        files: their texts, by their paths in the directory of the configuration.
        asked: the places that are asked for the tag, or by a pull by digest for the manifest; None where the
            text leaves that open.
        source: the place from which the layers come.
        lacking: the places that do not have the image.
        registry: in the name of the pulled image; empty for none.
        by_digest: whether the image is pulled by its digest.
        username: with which the source is asked.
        expected: whether the pull succeeds.
    """

    name: str
    files: Mapping[str, str]
    asked: frozenset[str] | None = frozenset({FIRST})
    source: str = FIRST
    lacking: frozenset[str] = frozenset()
    registry: str = NOBODY
    by_digest: bool = False
    username: str = ""
    expected: Expected = Expected.ACCEPTED

    def __str__(self) -> str:
        return self.name
