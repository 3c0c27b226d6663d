"""What a specification says of the fields of a JSON document."""

from dataclasses import dataclass
from enum import Enum, StrEnum, unique
from typing import Final


@unique
class FieldType(Enum):
    """The type of a field, which says which values are tried in it."""

    TEXT = "text"
    PATH = "path"
    """A text that names a file or directory in a container or on the node."""
    DIGEST = "digest"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    LIST = "list"
    OBJECT = "object"
    """With keys that the specification names."""
    MAP = "map"
    """With keys of the writer's choice, and texts as values."""


@unique
class Expected(StrEnum):
    """What the specification says of a reader of a document."""

    ACCEPTED = "accepted"
    """The document is valid: the reader uses it."""
    REFUSED = "refused"
    """The reader reports an error instead of using the document."""
    EITHER = "either"
    """The specification leaves it to the reader, or does not mention it."""


ESCAPE: Final = "critests-escape"
"""The name of the files that unusual paths name outside of a container, an image or a directory."""
Path = tuple[str | int, ...]
"""The keys and positions that lead to a value, as in `("layers", 0, "size")`."""


@dataclass(frozen=True)
class Odd:
    """An unusual value.

    Attributes:
        name: of the value, for the list of variants; unique in its field.
        value: JSON.
        expected: what the specification says of its reader.
    """

    name: str
    value: object
    expected: Expected = Expected.EITHER


class Field:
    """A field of a document.

    Attributes:
        path: where a valid document has it.
        type: of its values.
        odd: more unusual values than those of its type.
        required: whether the specification demands it, so that a document without it is not valid.
        null_is_absent: whether the specification allows null for an absent value.
        least, most: bounds of an integer, both allowed; None where the specification has none.
    """

    def __init__(
        self,
        path: Path,
        of_type: FieldType,
        *odd: Odd,
        required: bool = False,
        null_is_absent: bool = False,
        least: int | None = None,
        most: int | None = None,
    ) -> None:
        self.path, self.type, self.odd = path, of_type, odd
        self.required, self.null_is_absent = required, null_is_absent
        self.least, self.most = least, most

    def __str__(self) -> str:
        return path_text(self.path)


def path_text(path: Path) -> str:
    """Return a path as it is written in messages: `layers[0].size`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
