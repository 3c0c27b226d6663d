"""What was seen is said to a reader who does not know the test: no Python, numbers with units, times as
differences.
"""

from collections.abc import Callable
from types import SimpleNamespace

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.report.wording.reason_sentences import text_of
from critests.run.failure_text import SIDE, in_full, reason_of
from tests.refused import Refused

CALL = SimpleNamespace(seconds=5.03)
STATUS = SimpleNamespace(
    created_at=1795348013_500000000,
    started_at=1795348012_000000000,
    pinned=False,
    state=1,
    cgroup="0::/other",
    memory=None,
    swap=3,
)
LATE = [1795348013500000000, 1795348012000000000]
USAGE = {"cpu": 0, "memory": 1}
SLACK_NS = 100_000_000
LIMIT_SECONDS, SCALE = 3.0, 1.0
CODES = {"PERMISSION_DENIED"}
WORDS = "ended after 6 s, with a time-out of 1 s"


CASES: list[tuple[Callable[[], None], str, str]] = []


def seen(values: str, said: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a failed assertion, what pytest says of its values, and what is said to a reader."""

    def add(check: Callable[[], None]) -> Callable[[], None]:
        CASES.append((check, values, said))
        return check

    return add


@seen(
    "assert 5.03 < (1 + (3.0 * 1.0))\n +  where 5.03 = namespace(seconds=5.03).seconds",
    "seconds: expected less than 4 s, observed 5.03 s",
)
@seen(
    "assert 0.95 <= 0.1\n +  where 0.1 = namespace(seconds=0.1).seconds",
    "seconds: expected at least 0.95 s, observed 0.1 s",
)
def too_slow() -> None:
    assert 0.95 <= CALL.seconds < 1 + LIMIT_SECONDS * SCALE


@seen(
    "assert 1795348013500000000 <= 1795348012000000000\n +  where 1 = x.created_at",
    "created_at: expected not after started_at, observed 1.5 s after it",
)
def too_early() -> None:
    assert STATUS.created_at <= STATUS.started_at


@seen(
    "assert ['a', 'b'] == ['a']\n  \n  Left contains one more item: 'b'\n  Use -v to get more diff",
    "CODES: expected 'a', observed 'a', 'b'\nobserved value contains one more item: 'b'",
)
def another_value() -> None:
    assert sorted(CODES) == ["a"]


@seen(
    "assert {'b'} == {'a'}\n  \n  Extra items in the left set:\n  'b'\n"
    "  Extra items in the right set:\n  'a'\n  Use -v to get more diff",
    "CODES: expected 'a', observed 'b'",
)
@seen("assert {'b', 'c'} == {'a'}", "CODES: expected 'a', observed 'b' and 'c'")
def another_set() -> None:
    assert set(CODES) == {"a"}


@seen(
    "assert {'b', 'a'} == {'a', 'c'}\n  \n  Extra items in the left set:\n  'b'",
    "CODES: missing 'c', unexpected 'b'",
)
def two_in_a_set() -> None:
    assert set(CODES) == {"a", "c"}


@seen(
    "assert {(None, 3), (7, 3)} == {(33554432, 3)}",
    "memory: expected 33,554,432 B, observed 7 B and no limit",
)
def limits_in_a_set() -> None:
    assert shows(lambda cgroup: (cgroup.memory, cgroup.swap)) == {(32 << 20, 3)}


@seen(
    "assert {(1, '0::/other')} == {(2, 'a')}",
    "state: expected 2, observed 1; cgroup: expected 'a', observed '0::/other'",
)
def fields_of_a_set() -> None:
    assert shows(lambda cgroup: (cgroup.state, cgroup.cgroup)) == {(2, "a")}


@seen("assert {(1, '0::/other')} == {(1, 'a')}", "fields(STATUS)[1]: expected 'a', observed '0::/other'")
def tuples_of_a_call() -> None:
    assert fields(STATUS) == {(1, "a")}


@seen(
    "assert (False or False)\n +  where False = namespace(pinned=False).pinned",
    "pinned: expected true, observed false",
)
def one_of_two() -> None:
    assert STATUS.pinned or USAGE == {}


@seen(
    "assert (None or 3 != 3)\n +  where None = namespace().memory",
    "memory: expected a value, observed nothing; or else swap: expected anything but 3, observed 3",
)
def neither_of_two() -> None:
    assert STATUS.memory or STATUS.swap != 3


@seen(
    "assert (namespace(memory=None) is None or '0::/other' == '0::/')\n +  where '0' = x.cgroup",
    "cgroup: expected '0::/', observed '0::/other'",
)
def if_there_is_one() -> None:
    container = STATUS
    assert container is None or container.cgroup == "0::/"


@seen(
    "assert '/pod1/' in '0::/other\\n'\n +  where '0::/other\\n' = read()",
    "cgroup: expected to contain '/pod1/', observed '0::/other\\n'",
)
def another_text() -> None:
    name = "pod1"
    assert f"/{name}/" in STATUS.cgroup


@seen(
    "assert <StatusCode.UNKNOWN: (2, 'unknown')> in {<StatusCode.NOT_FOUND: (5, 'not found')>}",
    "code: expected one of NOT_FOUND, observed UNKNOWN",
)
def another_code() -> None:
    code = grpc.StatusCode.UNKNOWN
    assert code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE)


@seen("assert 1 == 2\n +  where 1 = x.state", "state: expected CONTAINER_EXITED, observed CONTAINER_RUNNING")
def another_state() -> None:
    assert STATUS.state == cri.CONTAINER_EXITED


@seen("assert 0 > 0", "cpu: expected more than 0, observed 0")
def an_element() -> None:
    block = "cpu"
    assert USAGE[block] > 0


@seen("assert '0::/other' == 'a'\n  \n  - a\n  + 0", "cgroup: expected 'a', observed '0::/other'")
def a_field() -> None:
    field = "cgroup"
    assert getattr(STATUS, field) == "a"


@seen("assert [0, 1] == [1]", "USAGE[block] for each block of USAGE: expected 1, observed 0, 1")
def elements_of_their_own() -> None:
    block = "cpu"
    assert block == "cpu"
    assert [USAGE[block] for block in USAGE] == [1]


@seen("assert {'0::/other'} == {'a'}", "cgroup: expected 'a', observed '0::/other'")
def a_lambda() -> None:
    assert shows(lambda cgroup: cgroup.cgroup) == {"a"}


@seen(f"assert {LATE[0]} <= {LATE[1]}", "at: expected not after after, observed 1.5 s after it")
def not_in_the_time_of_the_call() -> None:
    before, after, at = LATE[1], LATE[1], LATE[0]
    assert before <= at <= after


@seen(f"assert {LATE[0]} <= {LATE[1]}", "at: expected not before before, observed 1.5 s before it")
def before_the_call() -> None:
    before, after, at = LATE[0], LATE[0], LATE[1]
    assert before <= at <= after


@seen(
    f"assert ({LATE[0]} - 100000000) <= {LATE[1]}",
    "started_at: expected not before LATE[0] - SLACK_NS, observed 1.4 s before it",
)
def far_from_the_call() -> None:
    assert LATE[0] - SLACK_NS <= STATUS.started_at <= LATE[0] + SLACK_NS


@seen("assert 5.03 <= (2 * 1)", "seconds: expected at most 2 s, observed 5.03 s")
def too_large() -> None:
    assert 0.5 * USAGE["memory"] <= CALL.seconds <= 2 * USAGE["memory"]


@seen(f"assert {LATE[1]} < {LATE[1]}", "started_at: expected before LATE[1], observed the same time")
def at_the_same_time() -> None:
    assert STATUS.started_at < LATE[1]


@seen(
    "assert ['a'] == []\n  \n  Left contains one more item: 'a'",
    "CODES: unexpected 'a'\nobserved value contains one more item: 'a'",
)
def not_empty() -> None:
    assert [code for code in CODES if code] == []


@seen(
    "assert False\n +  where False = all(<generator object not_all.<locals>.<genexpr> at 0x7f>)",
    "expected value > 0 for each value of USAGE.items(), observed false",
)
def not_all() -> None:
    assert all(value > 0 for _, value in USAGE.items())


@seen(
    "assert False\n +  where False = any(<generator object none_at_all.<locals>.<genexpr> at 0x7f>)",
    "expected code == 'a' for any code of CODES where code, observed false",
)
def none_at_all() -> None:
    assert any(code == "a" for code in CODES if code)


@seen(
    "assert ['b'] == ['a']\n +  where ['b'] = sorted({'b'})",
    "each.lower() for each of CODES: expected 'a', observed 'b'",
)
def sorted_ones() -> None:
    assert sorted({each.lower() for each in CODES}) == ["a"]


@seen(
    "assert {'cpu': 1, 'memory': 2} == {'cpu': 2}\n",
    "value + 1 for each block, value of USAGE.items(): expected 'cpu': 2, observed 'cpu': 1, 'memory': 2",
)
def by_name() -> None:
    assert {block: value + 1 for block, value in USAGE.items()} == {"cpu": 2}


@seen(
    f"assert {LATE[::-1]} == {LATE}",
    "number 1 of (at + 1 for each at of LATE): expected the same time as LATE[0],"
    " observed 1.5 s before it;"
    " number 2 of (at + 1 for each at of LATE): expected the same time as LATE[1],"
    " observed 1.5 s after it",
)
def late_ones() -> None:
    assert [at + 1 for at in LATE] == LATE


@seen("assert {frozenset({'b'})} == {frozenset({'a'})}", "{frozenset(CODES)}: expected {'a'}, observed {'b'}")
def another_frozen_set() -> None:
    assert {frozenset(CODES)} == {frozenset({"a"})}


@seen("assert 'a' in {'b'}", "CODES: expected to contain 'a', observed 'b'")
def not_among_them() -> None:
    assert "a" in CODES


@seen(f"{WORDS}\nassert 6.0 < 4\n +  where 6.0 = namespace(seconds=6).seconds", WORDS)
def own_words() -> None:
    assert CALL.seconds < 4, WORDS


@seen(
    f"assert {LATE} == {LATE[::-1]}\n  \n  At index 0 diff: 17953480135 != 17953480120",
    "LATE[:][0]: expected the same time as sorted(LATE)[0], observed 1.5 s after it;"
    " LATE[:][1]: expected the same time as sorted(LATE)[1], observed 1.5 s before it",
)
def not_in_order() -> None:
    assert LATE[:] == sorted(LATE)


@seen(
    "assert (7, 1795348013500000000) == (7, 1795348012000000000)\n  \n  At index 1 diff: 1 != 2",
    "created_at: expected the same time as started_at, observed 1.5 s after it",
)
def another_end() -> None:
    assert (STATUS.state, STATUS.created_at) == (7, STATUS.started_at)


@seen(
    f"assert ['{'a' * 64}', '{'b' * 64}'] == ['{'a' * 64}', 'c']\n  \n  At index 1 diff: 'b' != 'c'",
    f"cgroup: expected 'c', observed '{'b' * 64}'",
)
def a_long_list() -> None:
    assert [CALL.seconds, STATUS.cgroup] == ["a"]


def shows(value: Callable[[SimpleNamespace], object]) -> set[object]:
    return {value(STATUS)}


def fields(status: SimpleNamespace) -> set[object]:
    return {(status.state, status.cgroup)}


def damage() -> str:
    return "the daemon does not answer"


@seen(
    "assert not 'the daemon does not answer'\n +  where 'the daemon' = damage()", "the daemon does not answer"
)
def damaged() -> None:
    assert not damage()


@seen(
    "assert not '0::/other'\n +  where '0::/other' = namespace().cgroup",
    "cgroup: expected nothing, observed '0::/other'",
)
def said_something() -> None:
    assert not STATUS.cgroup


@seen(
    "assert False\n +  where False = namespace(pinned=False).pinned", "pinned: expected true, observed false"
)
@seen("", "expected STATUS.pinned, which is not the case")
def not_true() -> None:
    assert STATUS.pinned


@seen("assert not 5.03\n +  where 5.03 = namespace().seconds", "seconds: expected nothing, observed 5.03 s")
def not_false() -> None:
    assert not CALL.seconds


@pytest.mark.parametrize(("check", "values", "said"), CASES)
def test_an_assertion_is_what_was_expected_and_what_was_seen(
    check: Callable[[], None], values: str, said: str
) -> None:
    with pytest.raises(AssertionError) as found:
        check()
    found.value.args = (values,)

    assert text_of(reason_of(found.value)) == said


def test_fields_of_a_message_are_not_parted_by_escapes() -> None:
    error = AssertionError('the call succeeded with id: "a"\\nrepo_tags: "b"\\nsize: 1008\\n')

    assert text_of(reason_of(error)) == 'the call succeeded with id: "a", repo_tags: "b", size: 1008'


def test_what_is_true_has_no_unit() -> None:
    def check() -> None:
        assert (CALL.seconds > 1) == CODES

    with pytest.raises(AssertionError) as found:
        check()
    found.value.args = ("assert True == False",)

    assert text_of(reason_of(found.value)) == "CALL.seconds > 1: expected false, observed true"


def test_fields_at_the_end_of_a_list_are_not_parted_by_escapes_either() -> None:
    error = AssertionError('there are [id: "a"\\n, id: "b"\\n  value: "c"\\n]')

    assert text_of(reason_of(error)) == 'there are [id: "a", id: "b", value: "c"]'


def test_bytes_keep_their_escapes() -> None:
    assert text_of(reason_of(AssertionError("the output is b'one\\ntwo'"))) == "the output is b'one\\ntwo'"


def test_an_rpc_that_failed_is_its_name_its_code_and_the_words_of_the_runtime() -> None:
    error = Refused(grpc.StatusCode.NOT_FOUND, "no such container", "StopContainer")

    assert text_of(reason_of(error)) == "StopContainer failed with NOT_FOUND: no such container"


def test_both_sides_of_a_comparison_are_whole() -> None:
    left, right = [1795348013500000000, 1795348012000000000], [1795348013500000000, 1795348013600000000]
    explained = in_full(
        "==", left, right, ["[1795348...00] == [1795348...00]", "", "At index 1 diff: 1 != 2"]
    )

    assert explained == [f"{left} == {right}", "", "At index 1 diff: 1 != 2"]


def test_a_side_that_is_very_long_is_shortened_and_words_of_others_stay() -> None:
    (first,) = in_full("==", "a" * 1000, "b", ["'aaa...' == 'b'"])

    assert first.endswith(" == 'b'")
    assert len(first) <= SIDE + len(" == 'b'")
    assert in_full("==", 1, 2, ["comparison failed"]) == ["comparison failed"]
    assert in_full("==", 1, 2, []) == []


def test_an_assertion_without_its_source_is_reported_by_its_values() -> None:
    gone = compile("raise AssertionError('assert 1 == 2')", "/gone.py", "exec")

    with pytest.raises(AssertionError) as found:
        exec(gone)  # noqa: S102 - the test's own text

    assert text_of(reason_of(found.value)) == "1 == 2"
