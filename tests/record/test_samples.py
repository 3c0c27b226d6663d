import gzip
from pathlib import Path

import pytest

from critests.record.record_errors import RecordUnreadable
from critests.record.samples import Series, read_samples, write_samples


def a_series() -> Series:
    series = Series(
        scenario="B-06", operation="StartContainer", dimensions={"layers": "5"}, side="a", warm_up=1
    )
    series.add(0.9, 0.0, block=0)
    series.add(0.1234567891, 1.0, block=0)
    series.add(2.0, 2.0, code="UNAVAILABLE", block=1)
    series.add(0.2, 3.0, block=1)
    return series


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_samples(tmp_path, "B-06", [a_series()])

    (read,) = read_samples(tmp_path)

    assert read.value == [0.9, 0.123456789, 2.0, 0.2]
    assert (read.key, read.side, read.codes, read.block) == (
        a_series().key,
        "a",
        {"2": "UNAVAILABLE"},
        [0, 0, 1, 1],
    )


def test_steady_samples_are_those_after_the_warm_up_that_succeeded() -> None:
    assert a_series().steady() == [0.1234567891, 0.2]
    assert a_series().blocks() == {0: [0.1234567891], 1: [0.2]}
    assert a_series().errors() == {"UNAVAILABLE": 1}


def test_without_a_folder_there_are_no_samples(tmp_path: Path) -> None:
    assert read_samples(tmp_path / "samples") == []


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b'{"scenario": 1}'),
        gzip.compress(b"{"),
        gzip.compress(b'{"scenario":"B","operation":"x"}\n')[:-9],
        gzip.compress(b'{"scenario":"B","operation":"x"}\n')[:12] + b"\xff" * 40,
    ],
    ids=["not compressed", "another shape", "not JSON", "cut off", "overwritten"],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "B-06.jsonl.gz").write_bytes(content)

    with pytest.raises(RecordUnreadable, match=r"B-06\.jsonl\.gz"):
        read_samples(tmp_path)


def test_columns_of_different_length_are_damage(tmp_path: Path) -> None:
    series = a_series()
    series.at.pop()
    write_samples(tmp_path, "B-06", [series])

    with pytest.raises(RecordUnreadable, match="differ in length"):
        read_samples(tmp_path)
