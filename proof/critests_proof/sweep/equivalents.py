"""Which derived faults cannot be told apart from right behaviour, and why."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from critests import toml_file

FILE = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """Faults that nobody can notice.

    Attributes:
        pattern: of their ids; `*` stands for anything.
        why: one sentence.
    """

    pattern: str
    why: str


def equivalents(file: Path = FILE) -> tuple[Equivalent, ...]:
    """Read the file.

    Raises:
        TomlMalformed: something in it is wrong; with file and line.
    """
    document = toml_file.read(file)
    document.expect(entries=["equivalent"])
    found = []
    for table in document.entries("equivalent"):
        table.expect(needs=["fault", "why"])
        found.append(Equivalent(table.need("fault", toml_file.text), table.need("why", toml_file.text)))
    return tuple(found)


def why_equivalent(fault: str, known: tuple[Equivalent, ...]) -> str:
    """Return why a fault, named by its id, cannot be noticed; empty where it can."""
    # the brackets of `[]` are no choice of letters here
    text = fault.replace("[]", "")
    return next((one.why for one in known if fnmatchcase(text, one.pattern.replace("[]", ""))), "")
