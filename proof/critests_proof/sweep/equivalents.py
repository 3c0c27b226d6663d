"""The derived faults that are indistinguishable from correct behaviour, with the reasons."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from critests import toml_file

FILE = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """Faults that no client can notice.

    Attributes:
        pattern: pattern of their ids; `*` matches anything.
        why: the reason, one sentence.
    """

    pattern: str
    why: str


def equivalents(file: Path = FILE) -> tuple[Equivalent, ...]:
    """Read the file.

    Raises:
        TomlMalformed: the file is malformed; with file and line.
    """
    document = toml_file.read(file)
    document.expect(entries=["equivalent"])
    found = []
    for table in document.entries("equivalent"):
        table.expect(needs=["fault", "why"])
        found.append(Equivalent(table.need("fault", toml_file.text), table.need("why", toml_file.text)))
    return tuple(found)


def why_equivalent(fault: str, known: tuple[Equivalent, ...]) -> str:
    """Return why a fault, named by its id, cannot be noticed; empty if it can."""
    # `[]` in ids is literal, not a character class
    text = fault.replace("[]", "")
    return next((one.why for one in known if fnmatchcase(text, one.pattern.replace("[]", ""))), "")
