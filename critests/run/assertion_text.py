"""The text of a failed assertion for a reader who does not know the test: parameters are replaced by their
values, lambdas by their bodies, comprehensions by words.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

from critests.run.observed_names import EACH, WHERE

ASSERT: Final = "assert "
"""The first word of the statement, and of pytest's explanation of it."""
ARITHMETIC: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
AS_IT_IS: Final = frozenset({"all", "frozenset", "list", "set", "sorted", "tuple"})
"""Calls around a comprehension that a reader does not need."""


@dataclass(frozen=True)
class AssertionText:
    """An assertion.

    Attributes:
        text: the statement as written in the test.
        tree: its readable form; None if it is not a single expression.
        names: the test's variables when it failed.
    """

    text: str
    tree: ast.expr | None
    names: Mapping[str, object]

    @property
    def shown(self) -> str:
        """The statement in its readable form."""
        return ast.unparse(self.tree) if self.tree is not None else self.text

    def may_be(self, node: ast.expr, value: str) -> bool:
        """Whether a value in pytest's explanation can belong to this part of the assertion."""
        if isinstance(node, ast.Constant):
            return value == ast.unparse(node)
        known = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(known, int | float):
            return value == repr(known)
        # pytest shows a sum as the sum of its values
        return isinstance(node, ast.BinOp) == isinstance(parsed(value), ast.BinOp)


def asserted_by(error: AssertionError) -> AssertionText | None:
    """Return the assertion that failed; None if its source is not available."""
    if error.__traceback__ is None:
        return None
    last = pytest.ExceptionInfo.from_exception(error).traceback[-1]
    if last.frame.code.fullsource is None:  # the file was deleted after its import
        return None
    statement = " ".join(str(last.statement).split())
    if not statement.startswith(ASSERT):
        return None
    text, names = statement.removeprefix(ASSERT), last.frame.f_locals
    tree = parsed(text)
    if tree is not None:
        tree = _ReadableExpression(tree, names).visit(tree)
    return AssertionText(text, tree, names)


def evaluated(text: str) -> str:
    """Return the value of an arithmetic expression in pytest's explanation; other texts are unchanged."""
    tree = parsed(text)
    try:
        return repr(_number(tree)) if isinstance(tree, ast.BinOp) else text
    except ValueError:
        return text


class _ReadableExpression(ast.NodeTransformer):
    """Replaces parameters that select an element or field by their values, lambdas by their bodies, and
    comprehensions by words.
    """

    def __init__(self, tree: ast.expr, names: Mapping[str, object]) -> None:
        inner = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and _is_set(node)}
        inner |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self._names = {name: value for name, value in names.items() if name not in inner}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace the index by its value."""
        self.generic_visit(node)
        return ast.Subscript(node.value, self._value(node.slice), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace `getattr` by the attribute, and drop calls that only collect."""
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name(name), [ast.Name(words)]) if name in AS_IT_IS and f"{EACH} " in words:
                return node.args[0]
            case ast.Call(ast.Name("any"), [ast.Name(words)]) if f"{EACH} " in words:
                return ast.Name(words.replace(f"{EACH} ", "any ", 1), ast.Load())
            case ast.Call(ast.Name("getattr"), [thing, field]):
                match self._value(field):
                    case ast.Constant(str(name)):
                        return ast.Attribute(thing, name, ast.Load())
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Replace the lambda by its body."""
        self.generic_visit(node)
        return node.body

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """Describe the elements."""
        return self._described(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        """Describe the elements."""
        return self._described(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        """Describe the elements."""
        return self._described(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        """Describe the values."""
        return self._described(node)

    def _described(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        element = ast.unparse(node.value if isinstance(node, ast.DictComp) else node.elt)
        first, *others = map(_iteration, node.generators)
        itself = element == ast.unparse(node.generators[0].target)
        words = f"{EACH} {first}" if itself else f"{element} for {EACH} {first}"
        return ast.Name(" ".join([words, *(f"for {EACH} {other}" for other in others)]), ast.Load())

    def _value(self, node: ast.expr) -> ast.expr:
        value = self._names.get(node.id) if isinstance(node, ast.Name) else None
        return ast.Constant(value) if isinstance(value, str | int) else node


def _iteration(part: ast.comprehension) -> str:
    elements = part.target.elts if isinstance(part.target, ast.Tuple) else [part.target]
    names = ", ".join(name for name in map(ast.unparse, elements) if name != "_")
    over = f"{names} of {ast.unparse(part.iter)}".removeprefix(f"{EACH} ")  # a variable with that name
    return f" {WHERE} ".join([over, *([" and ".join(map(ast.unparse, part.ifs))] if part.ifs else [])])


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def parsed(text: str) -> ast.expr | None:
    """Return the expression in a text; None if it is not an expression."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _number(node: ast.expr) -> int | float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        return ARITHMETIC[type(node.op)](_number(node.left), _number(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    raise ValueError(ast.unparse(node))
