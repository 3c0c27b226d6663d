"""What a test saw, for a reader of the verdict and not of the test: from an exception to its sentence.

pytest's own words, with every value and where it came from, stay in the traceback beside it.
"""

import ast
import operator
import re
from collections.abc import Callable
from typing import Final

import grpc
import pytest
from _pytest._io.saferepr import saferepr_unlimited

from critests.api import api_pb2 as cri
from critests.client.failures import in_words

ASSERT: Final = "assert "
"""What pytest begins the values of an assertion with."""
NOT_SAID: Final = "AssertionError"
LIMIT: Final = 300
"""Characters that are shown of what was asserted."""
SIDE: Final = 240
"""Characters that are shown of each side of a comparison; pytest takes 640 of an explanation."""
SHORT: Final = 80
"""Characters of a list or tuple in which a reader sees at once what differs."""
FEW: Final = 3
"""Differing elements that are said one by one."""
EXPECTED: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", ""),
    ast.NotEq: ("!=", "anything but "),
    ast.Lt: ("<", "less than "),
    ast.LtE: ("<=", "at most "),
    ast.Gt: (">", "more than "),
    ast.GtE: (">=", "at least "),
    ast.In: ("in", "one of "),
    ast.NotIn: ("not in", "none of "),
    ast.Is: ("is", ""),
    ast.IsNot: ("is not", "anything but "),
}
SIDES: Final = {
    "Left contains": "seen has",
    "Right contains": "expected has",
    "Extra items in the left set:": "only seen:",
    "Extra items in the right set:": "only expected:",
}
"""What pytest says of the sides of a comparison, and what it means to whoever does not see the test."""
_SIDES: Final = re.compile("|".join(SIDES))
IN_A_TEXT: Final = {"in": "to contain", "not in": "not to contain"}
"""What is expected of a text instead."""
ARITHMETIC: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
EPOCH: Final = ((10**18, 4 * 10**18, 1e9), (10**9, 4 * 10**9, 1.0))
"""From and to which numbers are points in time (nanoseconds, seconds), and how many are a second."""
STATUS_CODE: Final = re.compile(r"<?StatusCode\.([A-Z_]+)(?:: \(\d+, '[^']*'\)>)?")
NEXT_FIELD, LAST_FIELD = re.compile(r"\\n *(?=[a-z_]+(?:: | \{))"), re.compile(r"\\n *(?=[}\].,]|$)")
"""What stands behind a field of a message of the CRI, as a representation shows it."""


def message_of(error: BaseException) -> str:
    """Return what an exception says: a test's own words, or what it expected and what it saw instead."""
    if isinstance(error, grpc.RpcError):
        return in_words(error)
    text = str(error).strip()
    if not isinstance(error, AssertionError):
        return text
    words, values = _parted(text)
    if words:
        return _plain(words)
    asserted = _asserted(error)
    if not values:
        return f"expected {asserted[:LIMIT]}, which is not so" if asserted else NOT_SAID
    if not asserted:
        return _plain(values)
    return _explained(asserted, *values.splitlines())


def _explained(asserted: str, first: str, *more: str) -> str:
    """Say in words what pytest explains of an assertion."""
    elements = _elements_apart(asserted, first)
    if elements:
        return _plain(elements)
    differences = [
        _SIDES.sub(lambda found: SIDES[found[0]], line.strip())
        for line in more
        if line.strip() and not line.lstrip().startswith(("+", "-", "Use -v", "...Full output truncated"))
    ]
    return "\n".join([_plain(_compared(asserted, first)), *(_plain(line) for line in differences)])


def in_full(sign: str, left: object, right: object, explanation: list[str]) -> list[str]:
    """Return pytest's explanation of a comparison with both sides whole, as far as `SIDE` goes: pytest leaves
    30 characters of each, in which two points in time are the same.
    """
    if not explanation or f" {sign} " not in explanation[0]:
        return explanation
    return [f"{_whole(left)} {sign} {_whole(right)}", *explanation[1:]]


def _whole(value: object) -> str:
    text, half = saferepr_unlimited(value), SIDE // 2 - 2
    return text if len(text) <= SIDE else f"{text[:half]}...{text[-half:]}"


def _parted(text: str) -> tuple[str, str]:
    """Part a test's own words from pytest's values."""
    if text.startswith(ASSERT):
        return "", text.removeprefix(ASSERT)
    words, _, values = text.partition(f"\n{ASSERT}")
    return words, values


def _asserted(error: AssertionError) -> str:
    if error.__traceback__ is None:
        return ""
    last = pytest.ExceptionInfo.from_exception(error).traceback[-1]
    if last.frame.code.fullsource is None:  # the file has gone since it was imported
        return ""
    statement = " ".join(str(last.statement).split())
    return statement.removeprefix(ASSERT) if statement.startswith(ASSERT) else ""


def _compared(asserted: str, values: str) -> str:
    """Say what was expected of what, and what was seen, of an assertion and the values that pytest gives."""
    try:
        tree = ast.parse(asserted, mode="eval").body
    except SyntaxError:
        tree = ast.Constant(None)
    if isinstance(tree, ast.Compare):
        operands = [tree.left, *tree.comparators]
        for left, comparison, right in zip(operands, tree.ops, operands[1:], strict=False):
            sign, words = EXPECTED[type(comparison)]
            seen, found, wanted = values.partition(f" {sign} ")
            seen, wanted = _constant(seen, right), _constant(wanted, right)
            name = ast.unparse(left)
            if not found or (isinstance(left, ast.Constant) and len(tree.ops) > 1 and seen != name):
                continue
            apart = _apart(seen, wanted)
            if apart:
                other = ast.unparse(right)
                return f"expected {name} {sign} {other}, seen {name} {apart} {other}"
            if isinstance(left, ast.Constant):
                return f"expected {asserted[:LIMIT]}, seen {_number(wanted, asserted)}"
            subject, expected, found = name, words + _number(wanted, asserted), _number(seen, asserted)
            if sign in IN_A_TEXT and wanted[:1] in {"'", '"'}:
                subject, expected, found = ast.unparse(right), f"{IN_A_TEXT[sign]} {seen}", wanted
            return f"{subject[:LIMIT]}: expected {expected}, seen {found}"
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _denied(tree.operand, values.removeprefix("not "))
    if values.startswith(asserted):
        return f"expected {asserted[:LIMIT]}, which is not so"
    return f"expected {asserted[:LIMIT]}, seen {values}"


def _denied(denied: ast.expr, value: str) -> str:
    """Say what was seen where nothing was to be seen; what a call answers in words speaks for itself."""
    name, words = ast.unparse(denied)[:LIMIT], _literal(value)
    if not isinstance(words, str):
        return f"expected not {name}, seen {value}"
    return words if isinstance(denied, ast.Call) else f"{name}: expected nothing, seen {words!r}"


def _elements_apart(asserted: str, values: str) -> str:
    """Say which elements of two lists or tuples differ and how, where a reader would not see it: they are
    long, points in time differ, or the test names the elements. Empty where that is not so.
    """
    try:
        tree = ast.parse(asserted, mode="eval").body
    except SyntaxError:
        return ""
    if not isinstance(tree, ast.Compare) or [type(sign) for sign in tree.ops] != [ast.Eq]:
        return ""
    texts = values.split(" == ")
    seen, wanted = (_literal(text) for text in texts) if len(texts) == len("ab") else (None, None)
    if not isinstance(seen, list | tuple) or not isinstance(wanted, list | tuple) or len(seen) != len(wanted):
        return ""
    names, others = (_elements(side, len(seen)) for side in (tree.left, tree.comparators[0]))
    # what the test itself names one by one is told so
    said, telling = [], isinstance(tree.left, ast.Tuple | ast.List)
    for name, other, one, another in zip(names, others, seen, wanted, strict=True):
        if one == another:
            continue
        apart = _apart(str(one), str(another))
        telling |= bool(apart)
        said.append(
            f"expected {name} == {other}, seen {name} {apart} {other}"
            if apart
            else f"{name}: expected {another!r}, seen {one!r}"
        )
    return "; ".join(said) if len(said) <= FEW and (telling or len(max(texts, key=len)) > SHORT) else ""


def _elements(node: ast.expr, count: int) -> list[str]:
    """Return what the elements of a list or tuple are called in the test."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == count:
        return [ast.unparse(element) for element in node.elts]
    return [f"{ast.unparse(node)}[{number}]" for number in range(count)]


def _literal(text: str) -> object:
    """Return the value that a representation stands for; None where it is none of Python's own."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _apart(seen: str, wanted: str) -> str:
    """Say how far two points in time lie apart; empty where they are none."""
    try:
        one, other = float(seen), float(wanted)
    except ValueError:
        return ""
    for low, high, second in EPOCH:
        if all(low <= point <= high for point in (one, other)):
            # integers of nanoseconds are larger than what a float holds exactly
            whole = int(seen) - int(wanted) if seen.isdecimal() and wanted.isdecimal() else one - other
            return f"{abs(whole) / second:.6g} s {'after' if whole > 0 else 'before'}"
    return ""


def _constant(number: str, beside: ast.expr) -> str:
    """Return the API's name of a number that is compared with one of the API's constants, such as a state."""
    if not isinstance(beside, ast.Attribute) or not number.isdecimal():
        return number
    for kind in cri.DESCRIPTOR.enum_types_by_name.values():
        if beside.attr in kind.values_by_name and int(number) in kind.values_by_number:
            return str(kind.values_by_number[int(number)].name)
    return number


def _number(text: str, asserted: str) -> str:
    """Return a number, or a sum of numbers as pytest shows it, rounded and with its unit; other text as it
    is.
    """
    try:
        number = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return text
    if text in {"True", "False"}:
        return text
    unit = " s" if re.search(r"seconds", asserted, re.IGNORECASE) else ""
    return str(number) if not unit and number % 1 == 0 else f"{number:.4g}{unit}"


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        return ARITHMETIC[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    raise ValueError


def _plain(text: str) -> str:
    """Take out what only Python writes so."""
    return LAST_FIELD.sub("", NEXT_FIELD.sub(", ", STATUS_CODE.sub(r"\1", text))).strip()
