import dataclasses
import errno
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from critests.record.files import from_json, read, to_json, write, write_atomically
from critests.record.record_errors import RecordNotWritten, RecordUnreadable
from critests.record.run_record import RunRecord
from critests.record.schema import PUBLISHED, schema
from tests.report.sample_run import sample_run


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return sample_run(tmp_path)


def test_a_record_is_read_as_it_was_written(record: RunRecord, tmp_path: Path) -> None:
    path = write(record, tmp_path)

    again = read(tmp_path)

    assert path == tmp_path / "run.json"
    assert again.counts == record.counts
    assert again.root_causes == record.root_causes
    assert [test.id for test in again.tests] == [test.id for test in record.tests]
    assert to_json(again) == path.read_text()


def test_a_compressed_record_is_read_where_there_is_no_other(record: RunRecord, tmp_path: Path) -> None:
    path = write(record, tmp_path)
    compressed = path.with_name("run.json.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()

    assert to_json(read(tmp_path)) == to_json(read(compressed)) == to_json(record)

    write(dataclasses.replace(record, run_id="newer"), tmp_path)
    assert read(tmp_path).run_id == "newer"


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:10] + b"?" * 40])
def test_a_damaged_compressed_record_is_refused(
    record: RunRecord, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "run.json.gz"
    path.write_bytes(damage(gzip.compress(to_json(record).encode())))

    with pytest.raises(RecordUnreadable, match=r"run\.json\.gz is not a run record: .* is damaged"):
        read(tmp_path)


def test_a_compressed_record_is_no_larger_than_another_one_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("critests.record.files.READ_LIMIT", 1000)
    (tmp_path / "run.json.gz").write_bytes(gzip.compress(b" " * 1001))

    with pytest.raises(RecordUnreadable, match="larger than any run record"):
        read(tmp_path)


def test_the_published_schema_is_that_of_the_dataclasses_and_fits_the_file(
    record: RunRecord, tmp_path: Path
) -> None:
    published = json.loads(PUBLISHED.read_text())

    assert published == schema()
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(json.loads(write(record, tmp_path).read_text()), published)
    assert published["$defs"]["TestResult"]["properties"]["handler"]["description"].startswith(
        "Runtime handler"
    )


def test_the_schema_refuses_what_the_reader_refuses(record: RunRecord) -> None:
    data = json.loads(to_json(record))
    data["tests"][3]["outcome"] = "green"

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(PUBLISHED.read_text()))
    with pytest.raises(
        RecordUnreadable, match=r'tests\[3\]\.outcome should be one of passed, .* not "green"'
    ):
        from_json(json.dumps(data))


def test_a_thousand_tests_stay_under_two_megabytes(record: RunRecord) -> None:
    tests = [
        dataclasses.replace(
            test, id=f"{test.id}{number}", detail="x" * 100_000 if number == 0 else test.detail
        )
        for number in range(8)
        for test in record.tests
    ]

    text = to_json(dataclasses.replace(record, tests=tests))

    assert len(tests) > 1000
    assert len(text.encode()) < 3_000_000
    assert max(len(test.detail) for test in from_json(text).tests) <= 16 * 1024


def test_a_file_that_is_cut_off_is_said_to_be(record: RunRecord, tmp_path: Path) -> None:
    path = write(record, tmp_path)
    path.write_text(path.read_text()[:5000])

    with pytest.raises(RecordUnreadable, match="cut off after 5000 characters"):
        read(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cut off"),
        ('{"a": }\n\n\n', ":1: not JSON"),
        ("[]", "its schema is null"),
        ('{"schema": "other"}', 'its schema is "other", not "critests.run"'),
        (
            '{"schema": "critests.run", "schema_version": "1"}',
            'has schema version "1", this',
        ),
        ('{"schema": "critests.run", "schema_version": 99}', "or a newer one"),
        ('{"schema": "critests.run", "schema_version": 2}', "run_id is missing"),
        ('{"schema": "critests.run", "schema_version": 2, "run_id": 7}', "run_id should be a string, not 7"),
    ],
)
def test_what_is_no_record_is_refused_with_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)

    with pytest.raises(RecordUnreadable) as caught:
        read(path)

    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordUnreadable, match="No such file"):
        read(tmp_path / "run.json")
    (tmp_path / "run.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(RecordUnreadable, match="not UTF-8 text"):
        read(tmp_path)


def test_fields_that_an_older_record_lacks_get_their_defaults(record: RunRecord) -> None:
    data = json.loads(to_json(record))
    del data["coverage"], data["notes"], data["tests"][0]["slow"]
    data["tests"][0]["from the future"] = 1

    again = from_json(json.dumps(data))

    assert again.notes == []
    assert again.coverage.rpcs == {}
    assert again.tests[0].slow is False


def test_undecodable_output_does_not_stop_the_writing(record: RunRecord, tmp_path: Path) -> None:
    tests = [dataclasses.replace(record.tests[0], seen="byte \udc80 here", reason="\x00\x1b")]

    write(dataclasses.replace(record, tests=tests), tmp_path)

    assert read(tmp_path).tests[0].seen == "byte ? here"
    assert read(tmp_path).tests[0].reason == "\x00\x1b"


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    record: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(record, tmp_path)
    before = (tmp_path / "run.json").read_text()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("critests.record.files.os.fsync", full)
    with pytest.raises(
        RecordNotWritten, match=r"cannot write .*run\.json: no space left on the disk"
    ) as caught:
        write(dataclasses.replace(record, notes=["new"]), tmp_path)

    assert "\n" not in str(caught.value)
    assert (tmp_path / "run.json").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["containerd.toml", "run.json"]


def test_a_folder_that_is_a_file_is_one_sentence(record: RunRecord, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RecordNotWritten, match="cannot write"):
        write(record, tmp_path / "file" / "run.json")


def test_what_is_no_regular_file_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_atomically(pipe, "whole")

    assert os.read(reader, 100) == b"whole"
    assert pipe.is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]
    os.close(reader)


def test_a_link_is_written_into_and_stays(tmp_path: Path) -> None:
    behind, link = tmp_path / "behind", tmp_path / "stdout"
    behind.write_text("old and longer", encoding="utf-8")
    link.symlink_to(behind)

    write_atomically(link, "new")

    assert link.is_symlink()
    assert behind.read_text(encoding="utf-8") == "new"
