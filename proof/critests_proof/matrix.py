"""The matrix of faults: the promise that each breaks, and the tests that must notice it.

The faults for the tests of `test_stop.py` are in `test_stop.faults.toml` next to it:

    [[fault]]
    id = "sandbox-filter-state-ignored"
    break = "ListPodSandbox.request.filter.state: clear"      # or a list of faults that are set together
    promise = "a sandbox filter with a state selects by it"
    turns_red = ["test_list_sandboxes_filters_by_state"]      # with [param] for one case only
    during = "call"     # optional; "all", the default, includes the test's own set-up;
                        # "restart": after the test restarted its own runtime
    spoils = true       # optional; shared fixtures are recreated afterwards

A test without its parameters is turned red if any of its cases is.

A fault that is derived from a specification has `breaks = ["USR-01", "CAP-02/added"]` instead of `turns_red`:
one of the tests that judge these requirements must notice. They are tried until one does, with shared
fixtures created under the fault.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from critests import toml_file
from critests.run.collected_tests import SUITE
from critests.toml_file import Table, TomlMalformed
from critests_proof.language.faults import AnyFault, FaultError, parse_fault

SUFFIX = ".faults.toml"
DURING = ("all", "call", "restart")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class MatrixEntry:
    """One fault of the matrix.

    Attributes:
        id: words joined by dashes; unique.
        faults: the faults, set together.
        promise: the broken promise, in one line.
        turns_red: names of tests, each of which must notice.
        breaks: ids of requirements or aspects; any of the tests that judge them must notice.
        during: `all` of the test with its set-up, its `call` only, or from the first `restart` of its own
            runtime on.
        spoils: whether shared fixtures are unusable afterwards.
        where: file and line.
    """

    id: str
    faults: tuple[AnyFault, ...]
    promise: str
    turns_red: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    during: str = "all"
    spoils: bool = False
    where: str = ""

    def concerns(self, test: str, aspect: str = "") -> bool:
        """Return whether a test, named with its parameters, must or may notice the fault.

        Args:
            test: its name.
            aspect: the id of the aspect that it judges.
        """
        return (
            test in self.turns_red
            or base_name(test) in self.turns_red
            or aspect in self.breaks
            or aspect.partition("/")[0] in self.breaks
        )


@dataclass(frozen=True)
class Matrix:
    """All faults, in the order of their files."""

    entries: tuple[MatrixEntry, ...]

    def for_test(self, test: str, aspect: str = "") -> list[MatrixEntry]:
        """Return the faults that a test, named with its parameters, must notice, and those that break the
        aspect it judges.
        """
        return [entry for entry in self.entries if entry.concerns(test, aspect)]

    def coverage(self, tests: Iterable[str]) -> list[str]:
        """Return the tests without a fault, named with or without parameters."""
        covered = {base_name(name) for entry in self.entries for name in entry.turns_red}
        return sorted({base_name(test) for test in tests} - covered)

    @property
    def broad(self) -> dict[str, MatrixEntry]:
        """The faults that any test of the broken requirements may notice, by id."""
        return {entry.id: entry for entry in self.entries if entry.breaks}

    def unknown(self, tests: Collection[str]) -> list[tuple[MatrixEntry, str]]:
        """Return the names in `turns_red` that are not tests; parameters are ignored."""
        known = {base_name(test) for test in tests}
        return [
            (entry, name)
            for entry in self.entries
            for name in entry.turns_red
            if base_name(name) not in known
        ]


def written_tests(*places: Path) -> set[str]:
    """Return the names of all tests in modules, or below folders, without their parameters."""
    files = {file for place in places for file in (place.rglob("test_*.py") if place.is_dir() else [place])}
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return {name for name in names if name.startswith("test_")}


def check_names(matrix: Matrix, *places: Path) -> None:
    """Check that each name in `turns_red` is a test: in the module next to the file, or in `places` if there
    is no such module.

    Raises:
        TomlMalformed: a name is not a test; with file and line.
    """
    by_file: dict[Path, list[MatrixEntry]] = {}
    for entry in matrix.entries:
        by_file.setdefault(Path(entry.where.rpartition(":")[0]), []).append(entry)
    for file, entries in by_file.items():
        module = file.with_name(file.name.removesuffix(SUFFIX) + ".py")
        if not any(entry.turns_red for entry in entries):
            continue
        tests = written_tests(*([module] if module.is_file() else places))
        for entry, name in Matrix(tuple(entries)).unknown(tests):
            close = get_close_matches(base_name(name), tests, 1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            msg = f"{entry.where}: turns_red names {name}, which is no test{meant}"
            raise TomlMalformed(msg)


def base_name(test: str) -> str:
    """Return a test's name without its parameters."""
    return test.partition("[")[0]


def faults_file(module: Path) -> Path:
    """Return the path of the faults file of a test module; the file need not exist."""
    return module.with_suffix(SUFFIX)


def load(*places: Path) -> Matrix:
    """Read the faults of tests, by default those of the suite.

    Args:
        places: folders, with all their subfolders, and files.

    Raises:
        TomlMalformed: a file is malformed; with file and line.
    """
    entries: list[MatrixEntry] = []
    taken: dict[str, str] = {}
    for file in dict.fromkeys(file.resolve() for place in places or (SUITE,) for file in _files(place)):
        for entry in _read(file):
            if entry.id in taken:
                msg = f"{entry.where}: the id {entry.id!r} is taken by {taken[entry.id]}"
                raise TomlMalformed(msg)
            taken[entry.id] = entry.where
            entries.append(entry)
    return Matrix(tuple(entries))


def _files(place: Path) -> list[Path]:
    return sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place]


def _read(file: Path) -> Iterator[MatrixEntry]:
    document = toml_file.read(file)
    document.expect(entries=["fault"])
    for table in document.entries("fault"):
        table.expect(needs=["id", "break", "promise"], may=["turns_red", "breaks", "during", "spoils"])
        nothing: tuple[str, ...] = ()
        turns_red, breaks = (table.take(key, _texts, nothing) for key in ("turns_red", "breaks"))
        if bool(turns_red) == bool(breaks):
            msg = "either the tests that it turns red, or what it breaks"
            raise table.wrong("id", msg)
        yield MatrixEntry(
            id=table.need("id", _id),
            faults=tuple(_fault(table, text) for text in table.need("break", _texts)),
            promise=table.need("promise", toml_file.text),
            turns_red=turns_red,
            breaks=breaks,
            during=table.take("during", _during, "all"),
            spoils=table.take("spoils", toml_file.switch, default=False),
            where=table.where,
        )


def _fault(table: Table, text: str) -> AnyFault:
    try:
        return parse_fault(text)
    except FaultError as error:
        raise table.wrong("break", str(error), near=text.partition(" when ")[0].partition('"')[0]) from error


def _id(value: object) -> str:
    text = toml_file.text(value)
    if not _ID.fullmatch(text):
        msg = f"{text!r} is no id: expected lower-case words joined by dashes"
        raise ValueError(msg)
    return text


def _texts(value: object) -> tuple[str, ...]:
    return toml_file.texts([value] if isinstance(value, str) else value)


def _during(value: object) -> str:
    if value not in DURING:
        msg = f"must be one of {', '.join(DURING)}, not {value!r}"
        raise ValueError(msg)
    return str(value)
