"""The name of what a test observed, for a reader who does not know the test: `state` for
`after.container.state()`, `output of cat /link/inside` for `container.output("cat", "/link/inside")`.
"""

import ast
from typing import Final

EACH: Final = "each"
"""Comes before the variable of a comprehension in words (`critests.run.assertion_text`)."""
WHERE: Final = "where"
"""Comes before its condition."""
_SAME: Final = frozenset({"bytes", "dict", "frozenset", "int", "list", "set", "sorted", "str", "tuple"})
"""Functions whose result is about the same as their argument."""
_CONVERSIONS: Final = frozenset(
    {"count", "decode", "get", "items", "keys", "lower", "rstrip", "split", "splitlines", "strip", "values"}
)
"""Methods whose result is about the same as the object."""
_PYTHON: Final = frozenset({"abs", "all", "any", "bool", "isinstance", "type"})
"""Functions whose name means nothing to a reader who does not know Python."""


def observed_name(node: ast.expr | None) -> str:  # noqa: PLR0911 - one return per kind of expression
    """Return the name of the last field, method or function in an expression; empty if it has none."""
    match node:
        case ast.Name(words) if f"{EACH} " in words:
            return _of_elements(words)
        case ast.Subscript(value, ast.Constant(str(key))):
            return key
        case ast.Subscript(ast.Attribute() | ast.Call(ast.Attribute()) as value, ast.Constant()):
            return observed_name(value)
        case ast.Subscript(_, ast.Constant()):
            return ""
        case ast.Subscript(value) | ast.Call(ast.Attribute(value, "get")):
            return _name_or_variable(value)
        case ast.Attribute(_, field):
            return field
        case ast.Call(ast.Attribute(value, method), arguments):
            if method in _CONVERSIONS:
                return _name_or_variable(value)
            texts = [str(each.value) for each in arguments if isinstance(each, ast.Constant)]
            return f"{method} of {' '.join(texts)}" if texts and len(texts) == len(arguments) else method
        case ast.Call(ast.Name(function), arguments) if function not in _PYTHON:
            return _of_function(function, _name_or_variable(arguments[0]) if arguments else "")
    return ""


def other_name(node: ast.expr, subject: str) -> str:
    """Return the name of the other side of a comparison; the expression if it has no name of its own."""
    name = observed_name(node)
    return name if name and name != subject else ast.unparse(node)


def _of_elements(words: str) -> str:
    """Return the name of what a comprehension in words observes: the field of its elements, or the whole if
    it lists elements of it, `states` for `each name of states where name`; empty if it computes something.
    """
    element, _, rest = f" {words}".partition(f" {EACH} ")
    whole = rest.partition(" of ")[2].partition(f" {WHERE} ")[0]
    try:
        node = ast.parse(element.strip().removesuffix("for") or whole, mode="eval").body
    except SyntaxError:
        return ""
    if element:
        return observed_name(node) if isinstance(node, ast.Attribute) else ""
    return _name_or_variable(node)


def _of_function(function: str, argument: str) -> str:
    if function in _SAME:
        return argument
    if function == "len":
        return argument and f"number of {argument}"
    words = function.strip("_").replace("_", " ")
    return f"{words} {argument}".strip() if words.endswith(" of") else words


def _name_or_variable(node: ast.expr) -> str:
    variable = node.id if isinstance(node, ast.Name) and node.id.isidentifier() else ""
    return observed_name(node) or variable
