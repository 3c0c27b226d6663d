"""What a test saw: from an exception to its reason as data, and to the sentence of a reader who has not seen
the test.

pytest's own words, with every value and where it came from, stay in the traceback beside it.
"""

import ast
import re
from dataclasses import dataclass
from typing import Final

import grpc
from _pytest._io.saferepr import saferepr_unlimited

from critests.api import api_pb2 as cri
from critests.client.failures import in_words
from critests.record.reasons import Reason, ReasonCode
from critests.run.asserted import ASSERT, Asserted, asserted_by, number_in, parsed

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
"""What is expected of a text instead, and of what is to have a constant in it."""
IN_TIME: Final = {
    "==": "the same time as ",
    "!=": "another time than ",
    "<": "before ",
    "<=": "not after ",
    ">": "after ",
    ">=": "not before ",
}
"""What is expected of a point in time instead."""
MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""What is expected of the right side where the left one is its bound: a constant, or the first of several."""
SAME: Final = "the same time"
FROZEN: Final = re.compile(r"frozenset\((\{[^{}]*\})\)")
NOTHING: Final = frozenset({"[]", "{}", "()", "set()", "frozenset()"})
EPOCH: Final = ((10**18, 4 * 10**18, 1e9), (10**9, 4 * 10**9, 1.0))
"""From and to which numbers are points in time (nanoseconds, seconds), and how many are a second."""
STATUS_CODE: Final = re.compile(r"<?StatusCode\.([A-Z_]+)(?:: \(\d+, '[^']*'\)>)?")
NEXT_FIELD, LAST_FIELD = re.compile(r"\\n *(?=[a-z_]+(?:: | \{))"), re.compile(r"\\n *(?=[}\].,]|$)")
"""What stands behind a field of a message of the CRI, as a representation shows it."""


@dataclass(frozen=True)
class Seen:
    """What an exception comes to.

    Attributes:
        text: for a reader, more than one line where there is more to say.
        why: the same as data.
    """

    text: str
    why: Reason


def message_of(error: BaseException) -> str:
    """Return what an exception says: a test's own words, or what it expected and what it saw instead."""
    return seen_by(error).text


def seen_by(error: BaseException) -> Seen:
    """Return what an exception comes to: a test's own words, or what it expected and what it saw instead."""
    if isinstance(error, grpc.RpcError):
        return _said(in_words(error))
    text = str(error).strip()
    if not isinstance(error, AssertionError):
        return _said(text)
    words, values = _parted(text)
    if words:
        return _said(_plain(words))
    asserted = asserted_by(error)
    if not values:
        return _not_so(asserted) if asserted else _said(NOT_SAID)
    if not asserted:
        return _said(_plain(values))
    return _explained(asserted, *values.splitlines())


def _said(text: str) -> Seen:
    return Seen(text, Reason(code=ReasonCode.SAID, words=text.partition("\n")[0]))


def _not_so(asserted: Asserted) -> Seen:
    shown = asserted.shown[:LIMIT]
    return Seen(f"expected {shown}, which is not so", Reason(code=ReasonCode.VALUE, expected=shown))


def _value(text: str, subject: ast.expr | None, seen: str, wanted: str, unit: str = "") -> Seen:
    """Return what was seen of a subject where something else was expected."""
    name, alone = looked_at(subject) if subject is not None else "", _literal(seen)
    if isinstance(alone, list) and len(alone) == 1:
        seen = repr(alone[0])
    return Seen(
        text,
        Reason(code=ReasonCode.VALUE, subject=name, expected=wanted[:LIMIT], seen=seen[:LIMIT], unit=unit),
    )


def looked_at(node: ast.expr) -> str:
    """Return the field that an expression ends with, whatever it is a field of; empty where it is none."""
    if isinstance(node, ast.Subscript) and isinstance(_literal(ast.unparse(node.slice)), int):
        node = node.value
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else ""


def _explained(asserted: Asserted, first: str, *more: str) -> Seen:
    """Say in words what pytest explains of an assertion."""
    elements = _elements_apart(asserted.tree, first)
    if elements:
        return Seen(_plain(elements.text), elements.why)
    differences = [
        _SIDES.sub(lambda found: SIDES[found[0]], line.strip())
        for line in more
        if line.strip() and not line.lstrip().startswith(("+", "-", "Use -v", "...Full output truncated"))
    ]
    compared = _compared(asserted, first)
    return Seen("\n".join([_plain(compared.text), *(_plain(line) for line in differences)]), compared.why)


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


def _compared(asserted: Asserted, values: str) -> Seen:
    """Say what was expected of what, and what was seen, of an assertion and the values that pytest gives."""
    tree = asserted.tree
    if isinstance(tree, ast.Compare):
        operands, several = [tree.left, *tree.comparators], len(tree.ops) > 1
        for left, comparison, right in zip(operands, map(type, tree.ops), operands[1:], strict=False):
            seen, found, wanted = values.partition(f" {EXPECTED[comparison][0]} ")
            if not found or (
                several and not (asserted.may_be(left, seen) and asserted.may_be(right, wanted))
            ):
                continue
            if comparison in MIRRORED and (isinstance(left, ast.Constant) or (several and left is tree.left)):
                return _told(right, MIRRORED[comparison], left, wanted, seen)
            return _told(left, comparison, right, seen, wanted)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _denied(tree.operand, values.removeprefix("not "))
    if values.startswith(asserted.text):
        return _not_so(asserted)
    shown = asserted.shown[:LIMIT]
    return _value(f"expected {shown}, seen {values}", None, values, shown)


def _told(subject: ast.expr, comparison: type[ast.cmpop], other: ast.expr, seen: str, wanted: str) -> Seen:
    """Say what was expected of a subject beside something else, and what was seen, of what pytest shows of
    both.
    """
    sign, words = EXPECTED[comparison]
    name, beside = ast.unparse(subject)[:LIMIT], ast.unparse(other)[:LIMIT]
    apart = _apart(seen, wanted)
    if apart and sign in IN_TIME:
        text = f"{name}: expected {IN_TIME[sign]}{beside}, seen {apart}"
        return _value(text, subject, seen, wanted)
    if sign in IN_A_TEXT and (wanted[:1] in {"'", '"'} or isinstance(subject, ast.Constant)):
        return _value(f"{beside}: expected {IN_A_TEXT[sign]} {seen}, seen {wanted}", other, wanted, seen)
    seen, wanted = _constant(seen, other), _constant(wanted, other)
    unit = _unit_of(f"{name} {beside}")
    text = f"{name}: expected {words}{_number(wanted, unit)}, seen {_number(seen, unit)}"
    return _value(text, subject, seen, wanted, unit)


def _denied(denied: ast.expr, value: str) -> Seen:
    """Say what was seen where nothing was to be seen; what a call answers in words speaks for itself."""
    name, words = ast.unparse(denied)[:LIMIT], _literal(value)
    if not isinstance(words, str):
        return _value(f"expected not {name}, seen {value}", None, value, "")
    if isinstance(denied, ast.Call):
        return _said(words)
    return _value(f"{name}: expected nothing, seen {words!r}", denied, value, "")


def _elements_apart(tree: ast.expr | None, values: str) -> Seen | None:
    """Say which elements of two lists or tuples differ and how, where a reader would not see it: they are
    long, points in time differ, or the test names the elements. None where that is not so.
    """
    if not isinstance(tree, ast.Compare) or [type(sign) for sign in tree.ops] != [ast.Eq]:
        return None
    texts = values.split(" == ")
    seen, wanted = (_literal(text) for text in texts) if len(texts) == len("ab") else (None, None)
    if not isinstance(seen, list | tuple) or not isinstance(wanted, list | tuple) or len(seen) != len(wanted):
        return None
    names, others = (_elements(side, len(seen)) for side in (tree.left, tree.comparators[0]))
    # what the test itself names one by one is told so
    said, telling = [], isinstance(tree.left, ast.Tuple | ast.List)
    last: tuple[str, object, object] = ("", None, None)
    for name, other, one, another in zip(names, others, seen, wanted, strict=True):
        if one == another:
            continue
        apart = _apart(str(one), str(another))
        telling |= bool(apart)
        last = name, one, another
        said.append(
            f"{name}: expected {IN_TIME['==']}{other}, seen {apart}"
            if apart
            else f"{name}: expected {another!r}, seen {one!r}"
        )
    if len(said) > FEW or not (telling or len(max(texts, key=len)) > SHORT):
        return None
    name, one, another = last
    return _value("; ".join(said), parsed(name), repr(one), repr(another))


def _elements(node: ast.expr, count: int) -> list[str]:
    """Return what the elements of a list or tuple are called in the test."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == count:
        return [ast.unparse(element) for element in node.elts]
    name = ast.unparse(node)
    if isinstance(node, ast.Name) and not node.id.isidentifier():  # words, of what is gathered
        return [f"number {number} of ({name})" for number in range(1, count + 1)]
    return [f"{name}[{number}]" for number in range(count)]


def _literal(text: str) -> object:
    """Return the value that a representation stands for; None where it is none of Python's own."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _apart(seen: str, wanted: str) -> str:
    """Say how far from another point in time one lies; empty where they are none."""
    try:
        one, other = number_in(seen), number_in(wanted)
    except ValueError:
        return ""
    for low, high, second in EPOCH:
        if all(low <= point <= high for point in (one, other)):
            # integers of nanoseconds are larger than what a float holds exactly
            whole = one - other
            return f"{abs(whole) / second:.6g} s {'after' if whole > 0 else 'before'} it" if whole else SAME
    return ""


def _constant(number: str, beside: ast.expr) -> str:
    """Return the API's name of a number that is compared with one of the API's constants, such as a state."""
    if not isinstance(beside, ast.Attribute) or not number.isdecimal():
        return number
    for kind in cri.DESCRIPTOR.enum_types_by_name.values():
        if beside.attr in kind.values_by_name and int(number) in kind.values_by_number:
            return str(kind.values_by_number[int(number)].name)
    return number


def _unit_of(names: str) -> str:
    """Return the unit that names tell of what they name; empty where they tell none."""
    return "s" if re.search(r"seconds", names, re.IGNORECASE) else ""


def _number(text: str, unit: str) -> str:
    """Return a number, or a sum of numbers as pytest shows it, rounded and with its unit; other text without
    what only Python writes so.
    """
    if text in {"True", "False"}:
        return text
    try:
        number = number_in(text)
    except ValueError:
        return "nothing" if text in NOTHING else FROZEN.sub(r"\1", text)
    return str(number) if not unit and number % 1 == 0 else f"{number:.4g} {unit}".rstrip()


def _plain(text: str) -> str:
    """Take out what only Python writes so."""
    return LAST_FIELD.sub("", NEXT_FIELD.sub(", ", STATUS_CODE.sub(r"\1", text))).strip()
