"""Find duplicate class and module names, and words outside the field's vocabulary.

A class name must be unique in the packages, and so must the name of a module except `__init__`, `__main__`,
`conftest` and `test_…`, so that a search for it finds one place. The words below must not occur in names,
docstrings, comments and pages.

    python tools/check_names.py [PATH ...]
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("critests", "proof/critests_proof")
CHECKED = ("critests", "proof", "tests", "tools", "docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
MODULES_OF_ONE_NAME = re.compile(r"(__init__|__main__|conftest|test_\w+|\w+_pb2(_grpc)?)\.py$")
WORDS = re.compile(
    r"(?<![A-Za-z])(told|tell|tells|telling|kept|heard|beside|likewise|whoever|somebody|rooms?|house|bereft|unread"
    r"|(?<!noise.)(?<!time.)floors?)(?![a-z])",
    re.IGNORECASE,
)
COMMENT = re.compile(r"(?:^|\s)# (.*)")
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def modules() -> list[Path]:
    """Return the modules of the packages, without generated ones."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if "_pb2" not in path.name and ".venv" not in path.parts)


def duplicates() -> Iterator[str]:
    """Yield a line for each class or module that shares its name with another."""
    places = defaultdict(list)
    for path in modules():
        if not MODULES_OF_ONE_NAME.match(path.name):
            places[path.name].append(str(path.relative_to(ROOT)))
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places[f"class {node.name}"].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    for name, where in sorted(places.items()):
        if len(where) > 1:
            yield f"{name} is defined {len(where)} times: {', '.join(where)}"


def shown(path: Path) -> str:
    """Return a path as the root of the repository sees it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def names_of(node: ast.AST) -> list[str]:
    """Return the names that a node of a syntax tree defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    return [node.arg] if isinstance(node, ast.arg) else []


def words_of_module(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the names, docstrings and comments of a module, each with its line."""
    yield 1, path.stem
    for node in ast.walk(parsed(path)):
        line = getattr(node, "lineno", 1)
        for name in names_of(node):
            yield line, " ".join(PARTS.findall(name))
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from ((line + at, text) for at, text in enumerate(node.value.value.splitlines()))
    for line, text in words_of_page(path):
        if comment := COMMENT.search(text):
            yield line, comment[1]


def words_of_page(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page or a TOML file."""
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def unusual_words(path: Path) -> Iterator[str]:
    """Yield a line for each word outside the field's vocabulary."""
    lines = words_of_module(path) if path.suffix == ".py" else words_of_page(path)
    for line, text in lines:
        for word in WORDS.findall(text):
            yield f"{shown(path)}:{line}: “{word}”: {text.strip()[:90]}"


def checked(paths: list[str]) -> list[Path]:
    """Return the files to check below some paths."""
    found = []
    for path in (ROOT / each for each in paths or CHECKED):
        found += [path] if path.is_file() else sorted(path.rglob("*"))
    return [
        path
        for path in found
        if path.suffix in {".py", ".md", ".toml", ".j2", ".html"}
        and "_pb2" not in path.name
        and not {".venv", "__pycache__"} & set(path.parts)
        and path != Path(__file__)
    ]


def main() -> int:
    """Print all findings; return 1 if there are any."""
    findings = [line for path in checked(sys.argv[1:]) for line in unusual_words(path)]
    findings += [] if sys.argv[1:] else duplicates()
    print("\n".join(findings) or "names: no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
