"""Why a test failed, as data: from the exception to its reason.

pytest's own words, with every value and where it came from, stay in the traceback beside it.
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

NOT_SAID: Final = "AssertionError"
LIMIT: Final = 300
"""Characters that are kept of what was asserted, and of values."""
WORDS_LIMIT, MORE_LIMIT = 1000, 2000
"""Characters that are kept of the first line of somebody's words, and of all others together."""
SIDE: Final = 240
"""Characters that are shown of each side of a comparison; pytest takes 640 of an explanation."""
SHORT: Final = 80
"""Characters of a list or tuple in which a reader sees at once what differs."""
FEW: Final = 3
"""Differing elements that are named one by one."""
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
"""What is expected of a text instead, and of what is to have a constant in it."""
MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""What is expected of the right side where the left one is its bound: a constant, or the first of several."""
NO_DIFFERENCE: Final = ("+", "-", "Use -v", "...Full output truncated")
"""Lines of pytest's explanation that repeat both sides, or speak of pytest."""


def reason_of(error: BaseException) -> Reason:
    """Return what an exception says: a test's own words, or what it expected and what it saw instead."""
    if isinstance(error, grpc.RpcError):
        return of_rpc(error)
    text = str(error).strip()
    if not isinstance(error, AssertionError):
        return in_words(text)
    words, values = _parted(text)
    if words:
        return in_words(words)
    asserted = asserted_by(error)
    if not values:
        return _not_so(asserted) if asserted else in_words(NOT_SAID)
    if not asserted:
        return in_words(values)
    return _explained(asserted, *values.splitlines())


def of_rpc(error: grpc.RpcError) -> Reason:
    """Return what the error of an RPC says."""
    rpc, (answer, words) = failed_rpc(error), code_of(error)
    if is_a_hang(error):
        known = words if isinstance(error, StillHangs) else ""
        return hang(rpc, hung_for(error), answer, known)
    code = ReasonCode.NOT_IMPLEMENTED if answer == "UNIMPLEMENTED" else ReasonCode.ANSWER
    return replace(in_words(words), code=code, subject=rpc, seen=answer)


def hang(rpc: str, seconds: float, answer: str = "", words: str = "") -> Reason:
    """Return the reason of a call that was not answered within so many seconds."""
    expected = f"{seconds:g}" if seconds else ""
    return Reason(code=ReasonCode.HANG, subject=rpc, expected=expected, seen=answer, unit="s", words=words)


def in_words(text: str, code: ReasonCode = ReasonCode.SAID) -> Reason:
    """Return a reason that somebody gives in words of their own."""
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
    """Return what was seen of a subject where something else was expected."""
    return Reason(
        code=ReasonCode.VALUE,
        subject=looked_at(subject) if subject is not None else "",
        where=where,
        relation=relation,
        other=other,
        expected=expected[:LIMIT],
        seen=seen[:MORE_LIMIT],
        unit=_unit_of(f"{where} {other}"),
    )


def looked_at(node: ast.expr) -> str:
    """Return the field that an expression ends with, whatever it is a field of; empty where it is none."""
    if isinstance(node, ast.Subscript) and isinstance(_literal(ast.unparse(node.slice)), int):
        node = node.value
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else ""


def _explained(asserted: AssertionText, first: str, *more: str) -> Reason:
    """Return what pytest explains of an assertion."""
    elements = _elements_apart(asserted.tree, first)
    if elements:
        return elements
    lines = [line.strip() for line in more if line.strip() and not line.lstrip().startswith(NO_DIFFERENCE)]
    return replace(_compared(asserted, first), more="\n".join(lines)[:MORE_LIMIT].splitlines())


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


def _compared(asserted: AssertionText, values: str) -> Reason:
    """Return what was expected of what, and what was seen, of an assertion and the values that pytest
    gives.
    """
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
    return _not_so(asserted) if values.startswith(asserted.text) else _value(None, values, asserted.shown)


def _related(
    subject: ast.expr, comparison: type[ast.cmpop], other: ast.expr, seen: str, wanted: str
) -> Reason:
    """Return what was expected of a subject beside something else, and what was seen, of what pytest shows of
    both.
    """
    sign = SIGNS[comparison]
    name, beside = ast.unparse(subject)[:LIMIT], ast.unparse(other)[:LIMIT]
    if sign in CONTAINING and (wanted[:1] in {"'", '"'} or isinstance(subject, ast.Constant)):
        return _value(other, wanted, seen, where=beside, relation=CONTAINING[sign])
    seen, wanted = _constant(evaluated(seen), other), _constant(evaluated(wanted), other)
    return _value(subject, seen, wanted, where=name, relation=sign, other=beside)


def _denied(denied: ast.expr, value: str) -> Reason:
    """Return what was seen where nothing was to be seen; what a call answers in words speaks for itself."""
    words = _literal(value)
    if isinstance(words, str) and isinstance(denied, ast.Call):
        return in_words(words)
    name, is_text = ast.unparse(denied)[:LIMIT], isinstance(words, str)
    return _value(denied if is_text else None, value, "", where=name, relation="==" if is_text else "not")


def _elements_apart(tree: ast.expr | None, values: str) -> Reason | None:
    """Return which elements of two lists or tuples differ and how, where a reader would not see it: they are
    long, points in time differ, or the test names the elements. None where that is not so.
    """
    if not isinstance(tree, ast.Compare) or [type(sign) for sign in tree.ops] != [ast.Eq]:
        return None
    texts = values.split(" == ")
    seen, wanted = (_literal(text) for text in texts) if len(texts) == len("ab") else (None, None)
    if not isinstance(seen, list | tuple) or not isinstance(wanted, list | tuple) or len(seen) != len(wanted):
        return None
    names, others = (_elements(side, len(seen)) for side in (tree.left, tree.comparators[0]))
    parts = [
        _value(parsed(name), repr(one), repr(another), where=name, relation="==", other=other)
        for name, other, one, another in zip(names, others, seen, wanted, strict=True)
        if one != another
    ]
    # what the test itself names one by one is shown so
    named = isinstance(tree.left, ast.Tuple | ast.List)
    in_time = any(seconds_between(part.seen, part.expected) is not None for part in parts)
    if not 0 < len(parts) <= FEW or not (named or in_time or len(max(texts, key=len)) > SHORT):
        return None
    return replace(parts[-1], parts=parts)


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


def _constant(number: str, beside: ast.expr) -> str:
    """Return the API's name of a number that is compared with one of the API's constants, such as a state."""
    if not isinstance(beside, ast.Attribute) or not number.isdecimal():
        return number
    for kind in cri.DESCRIPTOR.enum_types_by_name.values():
        if beside.attr in kind.values_by_name and int(number) in kind.values_by_number:
            return str(kind.values_by_number[int(number)].name)
    return number


def _unit_of(names: str) -> str:
    """Return the unit that names give to what they name; empty where they give none."""
    return "s" if re.search(r"seconds", names, re.IGNORECASE) else ""
