from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.lifecycle.container_log import MalformedLog, lines, parse, time_ns


def test_parts_are_joined_per_stream() -> None:
    content = b"".join(
        f"2026-11-20T10:00:00.{number}Z {stream} {tag} {payload}\n".encode()
        for number, (stream, tag, payload) in enumerate(
            [("stdout", "P", "a"), ("stderr", "F", "x"), ("stdout", "F", "b"), ("stdout", "P", "rest")]
        )
    )

    records = parse(content)

    assert lines(records) == [b"x", b"ab", b"rest"]
    assert lines(records, "stdout") == [b"ab", b"rest"]
    assert [record.partial for record in records] == [True, False, False, True]


def test_docker_s_objects_are_read_like_the_kubelet_does() -> None:
    content = (
        b'{"log":"a ","stream":"stdout","time":"2026-11-20T10:00:00.5Z"}\n'
        b'{"log":"b\\u003c\\n","stream":"stdout","time":"2026-11-20T10:00:00.6Z"}\n'
        b'{"log":"\\n","stream":"stderr","time":"2026-11-20T10:00:00.7Z"}\n'
        b'{"log":"rest","stream":"stderr","time":"2026-11-20T10:00:00.8Z"}\n'
        b'{"log":"still being'
    )

    records = parse(content)

    assert lines(records) == [b"a b<", b"", b"rest"]
    assert [record.partial for record in records] == [True, False, False, True]
    assert records[0].time_ns == time_ns(b"2026-11-20T10:00:00.5Z")


@pytest.mark.parametrize(
    "line",
    [
        b'{"log":"x","stream":"stdout"}',
        b'{"log":"x","stream":"stdin","time":"2026-11-20T10:00:00Z"}',
        b'{"log":1,"stream":"stdout","time":"2026-11-20T10:00:00Z"}',
        b'{"log":"x","stream":"stdout","time":"today"}',
        b"2026-11-20T10:00:00Z stdout F x",
        b"[]",
        b"{",
    ],
    ids=["no time", "stream", "no text", "time", "the other form", "no object", "no JSON"],
)
def test_the_error_shows_a_line_that_is_no_docker_object(line: bytes) -> None:
    first = b'{"log":"a\\n","stream":"stdout","time":"2026-11-20T10:00:00Z"}\n'

    with pytest.raises(MalformedLog):
        parse(first + line + b"\n")


def test_an_unfinished_line_is_still_being_written() -> None:
    assert parse(b"2026-11-20T10:00:00Z stdout F whole\n2026-11-20T10:00:0") == parse(
        b"2026-11-20T10:00:00Z stdout F whole\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        b"no time stdout F x",
        b"2026-11-20T10:00:00Z stdin F x",
        b"2026-11-20T10:00:00Z stdout X x",
        b"2026-11-20T10:00:00Z stdout F",
        b"",
    ],
    ids=["time", "stream", "tag", "no payload", "empty"],
)
def test_the_error_shows_a_line_that_is_no_record(line: bytes) -> None:
    with pytest.raises(MalformedLog):
        parse(line + b"\n")


@given(st.binary().filter(lambda payload: b"\n" not in payload))
def test_payloads_come_through_unaltered(payload: bytes) -> None:
    (record,) = parse(b"2026-11-20T10:00:00.000000001+01:00 stderr F " + payload + b"\n")

    assert record.payload == payload


@pytest.mark.parametrize(
    ("fraction", "nanoseconds"),
    [("", 0), (".5", 500_000_000), (".000000001", 1), (".123456789", 123_456_789)],
)
@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_time_ns_parses_fractions_and_zones(fraction: str, nanoseconds: int, zone: str) -> None:
    whole = int(datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp())

    assert time_ns(f"2026-11-20T10:00:00{fraction}{zone}".encode()) == whole * 10**9 + nanoseconds


def test_a_zone_is_taken_into_account() -> None:
    assert time_ns(b"2026-11-20T11:30:00+01:30") == time_ns(b"2026-11-20T10:00:00Z")
