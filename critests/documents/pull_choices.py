"""Files that say from which registries an image comes, and what a pull does because of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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


def mirrors_in_order(
    files: Callable[..., Mapping[str, str]],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    dead: Mapping[str, Any],
) -> Iterator[PullChoice]:
    """Yield what every file with mirrors means: they are asked in their order, and the registry last.

    Args:
        files: returns the files with these mirrors before the registry.
        first: the mirror `FIRST`.
        second: the mirror `SECOND`.
        dead: a mirror that cannot be reached.
    """
    yield PullChoice(name="a mirror is used instead of the registry", files=files(first))
    yield PullChoice(name="the first of two mirrors is used", files=files(first, second))
    yield PullChoice(
        name="mirrors are used in their order, not in that of their names",
        files=files(second, first),
        asked=frozenset({SECOND}),
        source=SECOND,
    )
    yield PullChoice(
        name="a mirror without the image is followed by the next one",
        files=files(first, second),
        lacking=frozenset({FIRST}),
        asked=frozenset({FIRST, SECOND}),
        source=SECOND,
    )
    yield PullChoice(
        name="the registry follows all mirrors",
        files=files(first, second),
        lacking=frozenset({FIRST, SECOND}),
        asked=frozenset({ORIGIN, FIRST, SECOND}),
        source=ORIGIN,
    )
    yield PullChoice(
        name="a mirror that cannot be reached is followed by the next one", files=files(dead, first)
    )
