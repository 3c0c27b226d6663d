"""How many names of the suite's own a reader must know to read a test.

For each test function, the names that are neither Python's, pytest's nor the CRI's:

- the fixtures that it asks for, but not pytest's own (`request`, `tmp_path`), nor the parameters of its own
  `parametrize`;
- what its body, its annotations and its `parametrize` use of functions, classes and constants that are
  imported from the package or defined in the module.

A fixture whose type bears its own name (`runtime: Runtime`) is one name; `running: Factory` are two.
Not counted are the messages of the API, the markers (`requirement`, `requires` and what stands in them), and
the methods of an object, which the reader finds where the object's name leads.

    python tools/count_names.py [FOLDER] [--package NAME] [--worst N]
"""

import argparse
import ast
import signal
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PYTESTS_OWN = {"request", "tmp_path", "monkeypatch", "capsys", "caplog", "pytestconfig"}
NOT_COUNTED = ("critests.api", "critests.run.marks")
MARKERS = {"requirement", "requires", "slow", "disruptive"}


@dataclass(frozen=True)
class Reading:
    """A test and the names that its reader must know."""

    path: Path
    test: str
    names: frozenset[str]


def own_names(module: ast.Module, package: str) -> set[str]:
    """Return what a module imports from the package or defines at its top."""
    names: set[str] = set()
    for node in module.body:
        match node:
            case ast.ImportFrom(module=str(source)) if (
                source.split(".")[0] == package and source not in NOT_COUNTED
            ):
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {
                    each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
                }
    return names


def parametrized(test: ast.FunctionDef) -> set[str]:
    """Return the parameters that a test's own `parametrize` fills."""
    names: set[str] = set()
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[ast.Constant(value=str(text)), *_]):
                names |= {name.strip() for name in text.split(",")}
            case ast.Call(
                func=ast.Attribute(attr="parametrize"), args=[ast.Tuple(elts) | ast.List(elts), *_]
            ):
                names |= {str(each.value) for each in elts if isinstance(each, ast.Constant)}
    return names


def is_marker(decorator: ast.expr) -> bool:
    """Whether a decorator is one of the suite's markers, whose words stand in the report."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id in MARKERS


def names_in(test: ast.FunctionDef, own: set[str]) -> set[str]:
    """Return the names of the suite's own in a test."""
    arguments = [*test.args.args, *test.args.kwonlyargs]
    fixtures = {argument.arg for argument in arguments} - parametrized(test) - PYTESTS_OWN
    parts: list[ast.AST] = [
        *test.body,
        *(argument.annotation for argument in arguments if argument.annotation is not None),
        *(decorator for decorator in test.decorator_list if not is_marker(decorator)),
    ]
    used = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)} & own
    spelt = {name.replace("_", "").lower() for name in fixtures}
    return fixtures | {name for name in used if name in fixtures or name.lower() not in spelt}


def readings(folder: Path, package: str) -> Iterator[Reading]:
    """Read every test below a folder."""
    for path in sorted(folder.rglob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        own = own_names(module, package)
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield Reading(path, node.name, frozenset(names_in(node, own)))


def main() -> None:
    """Print the distribution and the tests with the most names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("critests/validation"))
    parser.add_argument("--package", default="critests", help="whose names are counted")
    parser.add_argument("--worst", type=int, default=10, help="how many tests to list")
    options = parser.parse_args()
    found = sorted(readings(options.folder, options.package), key=lambda reading: len(reading.names))
    counts = [len(reading.names) for reading in found]
    if not counts:
        parser.error(f"no tests below {options.folder}")
    print(
        f"{len(counts)} tests; names of our own: median {statistics.median(counts):g},"
        f" 90th percentile {counts[int(0.9 * len(counts))]}, most {counts[-1]}"
    )
    for reading in reversed(found[-options.worst :] if options.worst else []):
        print(
            f"{len(reading.names):3}  {reading.path.stem}::{reading.test}  {', '.join(sorted(reading.names))}"
        )


if __name__ == "__main__":
    # who reads only the first lines, as `head` does, has what is wanted
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
