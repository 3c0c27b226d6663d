"""The aspects that each test names, read from the source without importing it.

So that a wrong id is found on a machine that has neither pytest nor a runtime.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from critests.catalogue.requirements import Catalogue, UnknownRequirement

MARK = "requirement"
"""Name of the decorator that carries the id of an aspect; see critests/run/marks.py."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One test function and the aspects that it names."""

    name: str
    file: Path
    """Relative to the folder that was searched."""
    line: int
    aspects: tuple[str, ...]
    """Ids in the order of the source."""
    title: str
    """First line of the docstring, "" without one."""
    unreadable: bool = False
    """A mark has an argument that is no string literal, so that `aspects` is incomplete."""


def references_below(folder: Path) -> tuple[Reference, ...]:
    """Return every function `test_*` in the files `test_*.py` below a folder, in the order of files and
    lines.

    Raises:
        SyntaxError: a file is no Python.
        OSError: a file cannot be read.
    """
    return tuple(
        _reference(function, file.relative_to(folder))
        for file in sorted(folder.rglob("test_*.py"))
        for function in _functions(ast.parse(file.read_bytes(), filename=str(file)))
    )


def problems_of(references: Iterable[Reference], catalogue: Catalogue) -> list[str]:
    """Return the problems of tests, one sentence each: unknown ids, no id, equal names, no docstring."""
    found: list[str] = []
    references = tuple(references)
    names = Counter(reference.name for reference in references)
    for reference in references:
        wrong: list[str] = []
        if reference.unreadable:
            wrong.append("the argument of @requirement must be a string literal")
        elif not reference.aspects:
            wrong.append("names no requirement")
        for aspect in reference.aspects:
            wrong += _wrong_with(aspect, catalogue)
        if not reference.title:
            wrong.append("has no docstring")
        if names[reference.name] > 1:
            wrong.append("another test has the same name")
        found += [f"{reference.file}:{reference.line}: {reference.name}: {sentence}" for sentence in wrong]
    return found


def _wrong_with(aspect: str, catalogue: Catalogue) -> Iterator[str]:
    try:
        entry, named = catalogue.aspect(aspect)
    except UnknownRequirement as error:
        yield str(error)
        return
    if not entry.own_test:
        yield f"{entry.id} is a rule of the suite that no test carries"
    if named.untestable:
        yield f"{named.id} is `untestable`"
    if named.judged_by:
        yield f"{named.id} is `judged_by` {', '.join(named.judged_by)}"


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def _reference(function: ast.FunctionDef | ast.AsyncFunctionDef, file: Path) -> Reference:
    # a mark may also belong to one parameter: pytest.param(…, marks=requirement("…"))
    marks = [
        node
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Call) and _is_mark(node.func)
    ]
    arguments = [
        argument for mark in marks for argument in (*mark.args, *(keyword.value for keyword in mark.keywords))
    ]
    aspects = [
        argument.value
        for argument in arguments
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    title = (ast.get_docstring(function) or "").partition("\n")[0].strip()
    return Reference(
        name=function.name,
        file=file,
        line=function.lineno,
        aspects=tuple(dict.fromkeys(aspects)),
        title=title,
        unreadable=len(aspects) < len(arguments),
    )


def _is_mark(function: ast.expr) -> bool:
    name = (
        function.attr
        if isinstance(function, ast.Attribute)
        else function.id
        if isinstance(function, ast.Name)
        else ""
    )
    return name == MARK
