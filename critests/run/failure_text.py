"""Why a test failed, as data: from the exception to its reason.

pytest's explanation, with every intermediate value, is in the traceback.
"""

import ast
import re
from dataclasses import replace
from typing import Final

import grpc
from _pytest._io.saferepr import saferepr_unlimited

from critests.api import api_pb2 as cri
from critests.client.failures import code_of, failed_rpc, hung_for, is_a_hang
from critests.client.hangs import StillHangs
from critests.record.reasons import Reason, ReasonCode, seconds_between
from critests.run.assertion_text import ASSERT, AssertionText, asserted_by, evaluated, parsed
from critests.run.observed_names import WHERE, observed_name, other_name

NO_MESSAGE: Final = "AssertionError"
LIMIT: Final = 300
"""Characters stored of an assertion, and of each value."""
WORDS_LIMIT, MORE_LIMIT = 1000, 2000
"""Characters stored of the first line of a message, and of its other lines together."""
SIDE: Final = 240
"""Characters shown of each side of a comparison; pytest cuts an explanation at 640."""
SHORT: Final = 80
"""Length of a list or tuple in which a reader sees the difference at once."""
FEW: Final = 3
"""Most differing elements that are listed one by one."""
SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
CONTAINING: Final = {"in": "contains", "not in": "contains not"}
"""The relation seen from the container: for texts, and if the element is a constant."""
MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""The relation seen from the right side, if the left side is a bound: a constant, or the first of several."""
_UNITS: Final = {
    "s": re.compile(r"seconds", re.IGNORECASE),
    "B": re.compile(r"bytes|\bcgroup\.(memory|swap)|\b(inside|on_the_machine)\(\)\.(memory|swap)"),
    "µs": re.compile(r"\bcpu_(quota|period)"),
}
"""Unit to names of fields that have it."""
_FROZEN: Final = re.compile(r"^frozenset\((\{.*\})\)$", re.DOTALL)
NO_DIFFERENCE: Final = ("+", "-", "Use -v", "...Full output truncated")
"""Beginnings of lines in pytest's explanation that repeat both sides or are about pytest."""


def reason_of(error: BaseException) -> Reason:
    """Return the reason in an exception: the test's own message, or the expected and the observed value."""
    if isinstance(error, grpc.RpcError):
        return of_rpc(error)
    text = str(error).strip()
    if not isinstance(error, AssertionError):
        return in_words(text)
    words, values = _split_message(text)
    if words:
        return in_words(words)
    asserted = asserted_by(error)
    if not values:
        return _not_so(asserted) if asserted else in_words(NO_MESSAGE)
    if not asserted:
        return in_words(values)
    return _explained(asserted, *values.splitlines())


def of_rpc(error: grpc.RpcError) -> Reason:
    """Return the reason of a failed RPC."""
    rpc, (answer, words) = failed_rpc(error), code_of(error)
    if is_a_hang(error):
        known = words if isinstance(error, StillHangs) else ""
        return hang(rpc, hung_for(error), answer, known)
    code = ReasonCode.NOT_IMPLEMENTED if answer == "UNIMPLEMENTED" else ReasonCode.ANSWER
    return replace(in_words(words), code=code, subject=rpc, seen=answer)


def hang(rpc: str, seconds: float, answer: str = "", words: str = "") -> Reason:
    """Return the reason of a call that got no response within so many seconds."""
    expected = f"{seconds:g}" if seconds else ""
    return Reason(code=ReasonCode.HANG, subject=rpc, expected=expected, seen=answer, unit="s", words=words)


def in_words(text: str, code: ReasonCode = ReasonCode.SAID) -> Reason:
    """Return the reason of a free-text message."""
    lines = text.strip()[: WORDS_LIMIT + MORE_LIMIT].splitlines()
    return Reason(code=code, words=lines[0][:WORDS_LIMIT] if lines else "", more=lines[1:])


def _not_so(asserted: AssertionText) -> Reason:
    return Reason(code=ReasonCode.VALUE, expected=asserted.shown[:LIMIT])


def _value(
    subject: ast.expr | None,
    seen: str,
    expected: str,
    *,
    where: str = "",
    relation: str = "",
    other: str = "",
) -> Reason:
    """Return the reason of an unexpected value; `where` is by default the expression of the subject."""
    where = where or (ast.unparse(subject) if subject is not None else "")
    return Reason(
        code=ReasonCode.VALUE,
        subject=observed_name(subject),
        where=where[:LIMIT],
        relation=relation,
        other=other[:LIMIT],
        expected=expected[:LIMIT],
        seen=seen[:MORE_LIMIT],
        unit=_unit_of(f"{where} {other}"),
    )


def _explained(asserted: AssertionText, first: str, *more: str) -> Reason:
    """Return the reason from an assertion and pytest's explanation of it."""
    apart = _elements_apart(asserted.tree, first) or _sets_apart(asserted.tree, first)
    if apart:
        return apart
    lines = [line.strip() for line in more if line.strip() and not line.lstrip().startswith(NO_DIFFERENCE)]
    return replace(_compared(asserted, first), more="\n".join(lines)[:MORE_LIMIT].splitlines())


def in_full(sign: str, left: object, right: object, explanation: list[str]) -> list[str]:
    """Return pytest's explanation of a comparison with up to `SIDE` characters of each side: pytest shows 30,
    in which two timestamps look equal.
    """
    if not explanation or f" {sign} " not in explanation[0]:
        return explanation
    return [f"{_whole(left)} {sign} {_whole(right)}", *explanation[1:]]


def _whole(value: object) -> str:
    text, half = saferepr_unlimited(value), SIDE // 2 - 2
    return text if len(text) <= SIDE else f"{text[:half]}...{text[-half:]}"


def _split_message(text: str) -> tuple[str, str]:
    """Split a message into the test's own words and pytest's values."""
    if text.startswith(ASSERT):
        return "", text.removeprefix(ASSERT)
    words, _, values = text.partition(f"\n{ASSERT}")
    return words, values


def _compared(asserted: AssertionText, values: str) -> Reason:
    """Return the reason of a failed comparison or negation, from pytest's values."""
    tree = asserted.tree
    if isinstance(tree, ast.Compare):
        operands, several = [tree.left, *tree.comparators], len(tree.ops) > 1
        for left, comparison, right in zip(operands, map(type, tree.ops), operands[1:], strict=False):
            seen, found, wanted = values.partition(f" {SIGNS[comparison]} ")
            if not found or (
                several and not (asserted.may_be(left, seen) and asserted.may_be(right, wanted))
            ):
                continue
            if comparison in MIRRORED and (isinstance(left, ast.Constant) or (several and left is tree.left)):
                return _related(right, MIRRORED[comparison], left, wanted, seen)
            return _related(left, comparison, right, seen, wanted)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _denied(tree.operand, values.removeprefix("not "))
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        return _none_of(asserted, tree.values, values)
    if tree is not None and observed_name(tree):
        return _true(tree, values)
    return _not_so(asserted) if values.startswith(asserted.text) else _value(None, values, asserted.shown)


def _related(
    subject: ast.expr, comparison: type[ast.cmpop], other: ast.expr, seen: str, wanted: str
) -> Reason:
    """Return the reason of a failed comparison, from pytest's values of both sides."""
    sign = SIGNS[comparison]
    if sign in CONTAINING and (wanted[:1] in {"'", '"'} or isinstance(subject, ast.Constant)):
        return _value(other, wanted, seen, relation=CONTAINING[sign])
    if sign == "==" and _are_breaches(subject) and not _literal(wanted):
        return _value(subject, seen, "", relation="elements")
    seen, wanted = _constant(evaluated(seen), other), _constant(evaluated(wanted), other)
    named = other_name(other, observed_name(subject))
    return _value(subject, seen, wanted, relation=sign, other=named)


def _denied(denied: ast.expr, value: str) -> Reason:
    """Return the reason of a failed `not`; a text that a call returned is the message itself."""
    words = _literal(value)
    if isinstance(words, str) and isinstance(denied, ast.Call):
        return in_words(words)
    if _are_breaches(denied):
        return _value(denied, value, "", relation="elements")
    expected = "False" if value == "True" else ""
    return _value(denied, value, expected, relation="==")


def _are_breaches(node: ast.expr) -> bool:
    """Whether an expression is a comprehension in words with a condition, which lists what is wrong."""
    return isinstance(node, ast.Name) and f" {WHERE} " in node.id and bool(observed_name(node))


def _true(tree: ast.expr, value: str) -> Reason:
    """Return the reason of a value that is not true."""
    relation, expected = ("==", "True") if value == "False" else ("set", "")
    return _value(tree, value, expected, relation=relation)


def _elements_apart(tree: ast.expr | None, values: str) -> Reason | None:
    """Return which elements of two lists or tuples differ: if they are long, if timestamps differ, or if the
    test names the elements. None otherwise.
    """
    if not isinstance(tree, ast.Compare) or [type(sign) for sign in tree.ops] != [ast.Eq]:
        return None
    texts = values.split(" == ")
    seen, wanted = (_literal(text) for text in texts) if len(texts) == len("ab") else (None, None)
    if not isinstance(seen, list | tuple) or not isinstance(wanted, list | tuple) or len(seen) != len(wanted):
        return None
    names, others = (_elements(side, len(seen)) for side in (tree.left, tree.comparators[0]))
    parts = [
        _element(name, other, repr(one), repr(another))
        for name, other, one, another in zip(names, others, seen, wanted, strict=True)
        if one != another
    ]
    # elements that the test names one by one are listed one by one
    named = isinstance(tree.left, ast.Tuple | ast.List)
    in_time = any(seconds_between(part.seen, part.expected) is not None for part in parts)
    if not 0 < len(parts) <= FEW or not (named or in_time or len(max(texts, key=len)) > SHORT):
        return None
    return replace(parts[-1], parts=parts)


def _element(name: str, other: str, seen: str, expected: str) -> Reason:
    """Return the reason of a differing element of two lists or tuples."""
    subject, compared = parsed(name), parsed(other)
    named = other_name(compared, observed_name(subject)) if compared is not None else other
    return _value(subject, seen, expected, where=name, relation="==", other=named)


def _sets_apart(tree: ast.expr | None, values: str) -> Reason | None:
    """Return how two sets differ: the fields that differ if one element is expected, else the elements that
    are missing and those that were not expected. None if these are not sets of plain values.
    """
    if not isinstance(tree, ast.Compare) or [type(sign) for sign in tree.ops] != [ast.Eq]:
        return None
    texts = [_FROZEN.sub(r"\1", text) for text in values.split(" == ")]
    seen, wanted = (_literal(text) for text in texts) if len(texts) == len("ab") else (None, None)
    if not isinstance(seen, set) or not isinstance(wanted, set):
        return None
    if len(wanted) == 1 and seen:
        parts = _fields_apart(tree.left, sorted(seen, key=repr), next(iter(wanted)))
        if parts:
            return parts[0] if len(parts) == 1 else replace(parts[0], parts=parts)
    missing, extra = (", ".join(sorted(map(repr, left))) for left in (wanted - seen, seen - wanted))
    return _value(tree.left, extra, missing, relation="elements", other=ast.unparse(tree.comparators[0]))


def _fields_apart(asked: ast.expr, seen: list[object], wanted: object) -> list[Reason]:
    """Return the differing fields of the expected element of a set; the test names the fields in the argument
    of a call, `observed(lambda cgroup: (cgroup.memory, cgroup.swap))`.
    """
    named = asked
    if isinstance(asked, ast.Call) and [type(each) for each in asked.args] in ([ast.Tuple], [ast.Attribute]):
        named = asked.args[0]
    names, rows = [ast.unparse(named)], [(seen, wanted)]
    tuples = [each for each in seen if isinstance(each, tuple)]
    if isinstance(wanted, tuple) and [len(each) for each in tuples] == [len(wanted)] * len(seen):
        names = _elements(named, len(wanted))
        rows = [([each[place] for each in tuples], one) for place, one in enumerate(wanted)]
    return [
        _value(
            parsed(name),
            " and ".join(dict.fromkeys(map(repr, found))),
            repr(one),
            where=name,
            relation="==",
        )
        for name, (found, one) in zip(names, rows, strict=True)
        if any(each != one for each in found)
    ]


def _none_of(asserted: AssertionText, operands: list[ast.expr], values: str) -> Reason:
    """Return the reason of a failed `or`, from pytest's values of its operands: those that observe a field,
    without the operand under which a test has nothing to check, such as `container is None`.
    """
    texts = values.removeprefix("(").removesuffix(")").split(" or ")
    if len(texts) != len(operands):
        return _not_so(asserted)
    parts = [
        _compared(replace(asserted, text=ast.unparse(operand), tree=operand), text)
        for operand, text in zip(operands, texts, strict=True)
    ]
    named = [part for part in parts if part.subject] or parts
    return named[0] if len(named) == 1 else replace(named[0], relation="or", parts=named)


def _elements(node: ast.expr, count: int) -> list[str]:
    """Return the names of the elements of a list or tuple in the test."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == count:
        return [ast.unparse(element) for element in node.elts]
    name = ast.unparse(node)
    if isinstance(node, ast.Name) and not node.id.isidentifier():  # the words for a comprehension
        return [f"number {number} of ({name})" for number in range(1, count + 1)]
    return [f"{name}[{number}]" for number in range(count)]


def _literal(text: str) -> object:
    """Return the value of a literal; None if the text is not a Python literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _constant(number: str, compared: ast.expr) -> str:
    """Return the name of an enum value if a number is compared with an enum constant of the API."""
    if not isinstance(compared, ast.Attribute) or not number.isdecimal():
        return number
    for kind in cri.DESCRIPTOR.enum_types_by_name.values():
        if compared.attr in kind.values_by_name and int(number) in kind.values_by_number:
            return str(kind.values_by_number[int(number)].name)
    return number


def _unit_of(names: str) -> str:
    """Return the unit in the names of fields; empty if there is no unit."""
    return next((unit for unit, pattern in _UNITS.items() if pattern.search(names)), "")
