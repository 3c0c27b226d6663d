"""What a test asserted, for a reader who has not seen the test: what parameters stand for, no lambdas, and in
words what Python's comprehensions gather.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pytest

ASSERT: Final = "assert "
"""What a statement, and pytest's account of its values, begin with."""
ARITHMETIC: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}

EACH: Final = "each"
"""What stands before what a comprehension goes over."""
AS_IT_IS: Final = frozenset({"all", "frozenset", "list", "set", "sorted", "tuple"})
"""What is called with a comprehension and adds nothing that a reader has to know."""


@dataclass(frozen=True)
class AssertionText:
    """What an assertion says.

    Attributes:
        text: the statement as it stands in the test.
        tree: what is shown of it; None where it is not one expression.
        names: the test's variables, as they were when it failed.
    """

    text: str
    tree: ast.expr | None
    names: Mapping[str, object]

    @property
    def shown(self) -> str:
        """The statement as a reader is told of it."""
        return ast.unparse(self.tree) if self.tree is not None else self.text

    def may_be(self, node: ast.expr, value: str) -> bool:
        """Whether a value that pytest shows can be that of this part of the assertion."""
        if isinstance(node, ast.Constant):
            return value == ast.unparse(node)
        known = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(known, int | float):
            return value == repr(known)
        # pytest shows a sum as the sum of its values
        return isinstance(node, ast.BinOp) == isinstance(parsed(value), ast.BinOp)


def asserted_by(error: AssertionError) -> AssertionText | None:
    """Return what an assertion that failed says; None where no statement of a test is at hand."""
    if error.__traceback__ is None:
        return None
    last = pytest.ExceptionInfo.from_exception(error).traceback[-1]
    if last.frame.code.fullsource is None:  # the file has gone since it was imported
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
    """Return the number that the sum is which pytest shows instead; any other text as it is."""
    tree = parsed(text)
    try:
        return repr(_number(tree)) if isinstance(tree, ast.BinOp) else text
    except ValueError:
        return text


class _ReadableExpression(ast.NodeTransformer):
    """Puts what a parameter stands for in its place where it chooses what is looked at, what a lambda returns
    in the place of the lambda, and words in the place of a comprehension.
    """

    def __init__(self, tree: ast.expr, names: Mapping[str, object]) -> None:
        inner = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and _is_set(node)}
        inner |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self._names = {name: value for name, value in names.items() if name not in inner}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Name the element."""
        self.generic_visit(node)
        return ast.Subscript(node.value, self._value(node.slice), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name the field that is asked for by its name, and leave out what only gathers."""
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
        """Say what is looked at."""
        self.generic_visit(node)
        return node.body

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """Say what it is a list of."""
        return self._gathered(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        """Say what it is a set of."""
        return self._gathered(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        """Say what it gives."""
        return self._gathered(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        """Say what it tells of each."""
        return self._gathered(node)

    def _gathered(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        told = ast.unparse(node.value if isinstance(node, ast.DictComp) else node.elt)
        first, *others = map(_gone_over, node.generators)
        itself = told == ast.unparse(node.generators[0].target)
        words = f"{EACH} {first}" if itself else f"{told} for {EACH} {first}"
        return ast.Name(" ".join([words, *(f"for {EACH} {other}" for other in others)]), ast.Load())

    def _value(self, node: ast.expr) -> ast.expr:
        value = self._names.get(node.id) if isinstance(node, ast.Name) else None
        return ast.Constant(value) if isinstance(value, str | int) else node


def _gone_over(part: ast.comprehension) -> str:
    elements = part.target.elts if isinstance(part.target, ast.Tuple) else [part.target]
    names = ", ".join(name for name in map(ast.unparse, elements) if name != "_")
    over = f"{names} of {ast.unparse(part.iter)}".removeprefix(f"{EACH} ")  # a variable that is called so
    return " where ".join([over, *([" and ".join(map(ast.unparse, part.ifs))] if part.ifs else [])])


def _is_set(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def parsed(text: str) -> ast.expr | None:
    """Return the expression that a text is; None where it is none."""
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
