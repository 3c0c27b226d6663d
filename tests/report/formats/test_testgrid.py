"""A build in a bucket for TestGrid: its files, their names, and what must not be overwritten."""

import dataclasses
import json
from pathlib import Path

import pytest

from critests.record.run_layout import UNKNOWN
from critests.record.run_record import RunRecord
from critests.report.formats import FORMATS, NotExported, Publishing, Source
from critests.report.formats.source import load
from critests.report.formats.testgrid import finished, job_version
from tests.report.formats import samples
from tests.report.sample_run import HOSTILE
from tests.report.store.small_run import small_run, store


def publish(source: Source, root: Path, *, build: int | None = None) -> list[Path]:
    if build is not None:
        record = dataclasses.replace(source.record, started=float(build), run_id=f"{build}-aaaaaa")
        source = dataclasses.replace(source, record=record, folder=None)
    return FORMATS["testgrid"].write(source, root)


def test_the_file_that_names_the_newest_build_is_written_last(tmp_path: Path) -> None:
    files = [path.name for path in publish(samples.validation(tmp_path), tmp_path / "bucket")]

    assert files[0] == "started.json"
    assert files[-2:] == ["finished.json", "latest-build.txt"]


def test_an_older_run_does_not_become_the_newest_build(tmp_path: Path) -> None:
    source = samples.benchmark()
    publish(source, tmp_path, build=1795000000)
    publish(source, tmp_path, build=1794000000)

    assert (tmp_path / "logs" / source.job / "latest-build.txt").read_text() == "1795000000\n"


def test_a_build_of_another_run_is_not_overwritten(tmp_path: Path) -> None:
    source = samples.benchmark()
    publish(source, tmp_path)
    publish(source, tmp_path)  # the same run again is no trouble

    with pytest.raises(NotExported, match="contains another run"):
        publish(
            dataclasses.replace(
                source, record=dataclasses.replace(source.record, run_id="1795000000-000000")
            ),
            tmp_path,
        )


@pytest.mark.parametrize(
    ("version", "shown"),
    [("1.6.20~ds1", "1.6.20~ds1"), ("2.1.9+unknown", "2.1.9"), ("v2.3.1+abcdef123", "v2.3.1+abcdef123")],
)
def test_the_version_above_a_column(version: str, shown: str) -> None:
    record = samples.benchmark().record
    record = dataclasses.replace(record, runtime=dataclasses.replace(record.runtime, version=version))

    assert job_version(record) == shown


def test_metadata_are_short_texts(tmp_path: Path) -> None:
    record = dataclasses.replace(
        samples.validation(tmp_path).record,
        exit_reason=HOSTILE * 1000,
        machine={"kernel": 7, "distribution": {"name": HOSTILE}, "cgroup": [1], "cpu": None},
    )
    metadata = finished(record)["metadata"]

    assert isinstance(metadata, dict)
    assert all(isinstance(value, str) and len(value) < 300 for value in metadata.values())
    assert metadata["kernel"] == "7"
    json.dumps(metadata).encode()


@pytest.mark.parametrize(
    ("kind", "version", "given", "job"),
    [
        ("validation", "1.6.20~ds1", "", "critests-containerd-1.6"),
        ("benchmark", "v2.1.9", "", "critests-containerd-2.1-benchmark-standard"),
        ("validation", "main", "", "critests-containerd-main"),
        ("validation", "1.6.20", "../../etc/Nightly Job/", "etc-nightly-job"),
    ],
)
def test_the_name_of_the_job(kind: str, version: str, given: str, job: str) -> None:
    record: RunRecord = samples.benchmark().record
    record = dataclasses.replace(
        record, kind=kind, runtime=dataclasses.replace(record.runtime, version=version)
    )
    if kind == "validation":
        record = dataclasses.replace(record, benchmark=None)

    assert Source(record=record, publishing=Publishing(job=given)).job == job


def test_a_run_that_found_no_runtime_is_a_build_of_the_job_before_it(tmp_path: Path) -> None:
    folder = store(tmp_path, small_run(night=1, version=UNKNOWN))
    alone = load(folder).job
    store(tmp_path, small_run(version="2.1.0"))

    assert (alone, load(folder).job) == ("critests-containerd-unknown", "critests-containerd-2.1")
