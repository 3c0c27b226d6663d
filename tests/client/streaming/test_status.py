import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.client.streaming.status import parse_status


def test_empty_data_is_no_status() -> None:
    assert parse_status(b"", structured=True) is None


def test_success_has_exit_code_zero() -> None:
    status = parse_status(b'{"metadata":{},"status":"Success"}', structured=True)
    assert status is not None
    assert (status.success, status.exit_code, status.problem) == (True, 0, "")


def test_failure_without_a_cause_has_no_exit_code() -> None:
    status = parse_status(
        b'{"status":"Failure","reason":"InternalError","message":"no such file","code":500}', structured=True
    )
    assert status is not None
    assert (status.success, status.exit_code, status.reason, status.message) == (
        False,
        None,
        "InternalError",
        "no such file",
    )


@pytest.mark.parametrize("raw", [b"exit code 7", b"[]", b"{}", b'{"status":5}', b"\xff", b"[" * 100_000])
def test_malformed_status_says_why(raw: bytes) -> None:
    status = parse_status(raw, structured=True)
    assert status is not None
    assert status.problem
    assert not status.success
    assert status.raw == raw


@pytest.mark.parametrize(
    "details",
    [
        "null",
        "[]",
        '{"causes":null}',
        '{"causes":[1]}',
        '{"causes":[{"reason":"ExitCode","message":"x"}]}',
        '{"causes":[{"reason":"ExitCode"}]}',
    ],
)
def test_malformed_details_give_no_exit_code(details: str) -> None:
    status = parse_status(f'{{"status":"Failure","details":{details}}}'.encode(), structured=True)
    assert status is not None
    assert status.exit_code is None


@given(st.binary(max_size=200))
def test_parser_accepts_any_bytes(raw: bytes) -> None:
    status = parse_status(raw, structured=True)
    assert (status is None) == (not raw)
