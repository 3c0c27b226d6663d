import dataclasses
import io
import re
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.run_record import RunRecord
from critests.record.tally import count
from critests.report.run_kinds import kind_of
from critests.report.terminal.console import new_console
from critests.report.validation.validation_terminal import print_validation
from tests.report.pages import FORBIDDEN
from tests.report.sample_run import sample_run


def summary(record: RunRecord, run_dir: Path | None = None, width: int | None = None) -> str:
    file = io.StringIO()
    kind_of(record.kind).print_summary(record, new_console(file, width=width), run_dir)
    return file.getvalue()


def test_the_summary_has_everything_about_a_failure(tmp_path: Path) -> None:
    text = summary(sample_run(tmp_path), tmp_path)

    assert text.splitlines()[1].startswith("  EXE-01 "), "the first finding comes before everything else"
    assert "critests 0.1.0 · unix:///run/containerd/containerd.sock" in text
    row = next(line.split() for line in text.splitlines() if line.startswith(" containers"))
    assert row == ["containers", "30", "1", "2", "·", "·", "·", "·"]
    assert "STP-02 MUST · test_stp_02_a_process_that_handles[case 2]" in text
    assert "expected A process that handles" in text
    assert "observed exit_code == 137" in text
    assert f"evidence {tmp_path}/evidence/containers.test_stp" in text
    assert (
        "repeat   critests run --select STP-02 --runtime-endpoint unix:///run/containerd/containerd.sock\n"
        in text
    )


def test_a_test_without_a_requirement_has_no_level(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    broken = next(test for test in record.tests if test.outcome is Outcome.FAILED)
    missing = dataclasses.replace(
        broken, id="<required capability: SELinux>", name="required_capability_SELinux", requirement=""
    )

    text = summary(dataclasses.replace(record, tests=[missing]))

    assert "  1. no requirement · required_capability_SELinux\n" in text


def test_a_warning_can_be_repeated(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    (warned, *_) = [test for test in record.tests if test.outcome is Outcome.WARNED]
    lines = summary(record).splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("Warned")]

    assert f"     repeat   {warned.repeat_command}" in lines[place : place + 8]


def test_root_causes_come_first_and_blocked_tests_are_grouped(tmp_path: Path) -> None:
    text = summary(sample_run(tmp_path))

    assert text.index("Root causes (1)") < text.index("Failures (6, 4 findings)") < text.index("Warned (2)")
    assert "EXE-01 Exec · blocks 7 tests, causes 2 more failures" in text
    assert "   7  blocked by EXE-01 (Exec)" in text
    assert "   4  needs --disruptive" in text
    assert "https://example.org/issues/1" in text
    assert text.rstrip().splitlines()[-1].startswith("exit 3: the harness itself failed in 1 test")


def test_remedies_are_not_cut_off(tmp_path: Path) -> None:
    advice = f"the registry cannot be reached; {'write down where it is, ' * 20}and load that"
    record = sample_run(tmp_path)
    blocked = [
        dataclasses.replace(test, outcome=Outcome.BLOCKED, reason=advice, blocked_by="", cause="")
        for test in record.tests
    ]
    reason = f"the runtime could not be tested: {advice}"

    text = summary(dataclasses.replace(record, tests=blocked, exit_code=5, exit_reason=reason))

    assert " ".join(text.split()).count(advice) == 2


def test_a_run_of_failures_stays_readable(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    failed = [
        dataclasses.replace(
            test,
            outcome=Outcome.FAILED,
            seen="x" * 100_000,
            detail="y" * 100_000,
            requirement=f"A-{number}",
            cause="",
        )
        for number, test in enumerate(record.tests * 8)
    ]

    file = io.StringIO()
    print_validation(dataclasses.replace(record, tests=failed), new_console(file), tmp_path, full=5)
    text = file.getvalue()

    assert f"… and {len(failed) - 5:,} more failures, in {tmp_path}/run.json" in text
    assert len(text) < 20_000


@pytest.mark.parametrize("width", [None, 80], ids=["no terminal", "80 columns"])
def test_the_summary_is_plain_and_fits(
    width: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    text = summary(sample_run(tmp_path), tmp_path, width)

    assert not FORBIDDEN.search(text)
    assert "\\u202e" in text
    copied = ("evidence", "repeat", "record", "page", "new", "differ", "exit", "critests ")
    lines = [line for line in text.splitlines() if not line.strip().startswith(copied)]
    assert max(map(len, lines)) <= (width or 110)


def test_an_area_without_tests_is_left_out(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    disabled = [
        dataclasses.replace(test, outcome=Outcome.DISABLED) if test.area == "images" else test
        for test in record.tests
    ]
    text = summary(dataclasses.replace(record, tests=disabled, counts=count(disabled, record.requirements)))

    assert not [line for line in text.splitlines() if line.startswith(" images")]
    assert re.search(r"^\d+ tests not selected$", text, re.MULTILINE)


def test_the_last_lines_are_the_verdict(tmp_path: Path) -> None:
    record = dataclasses.replace(sample_run(tmp_path), exit_code=1, exit_reason="as it ended")
    *_, verdict, end = summary(record).rstrip().split("\n\n")

    words = " ".join(verdict.split())
    assert words.startswith("containerd 1.6.20~ds1: 4 MUSTs broken. 19 of 23 MUSTs met, 4 broken:")
    assert "EXE-01" in words
    assert end == "exit 1: as it ended"


def test_a_missing_capability_breaks_no_requirement(tmp_path: Path) -> None:
    record = dataclasses.replace(sample_run(tmp_path), exit_code=1, exit_reason="as it ended")
    failed = next(test for test in record.tests if test.outcome is Outcome.FAILED)
    missing = dataclasses.replace(
        failed,
        id="<missing>",
        name="required_capability_exec",
        requirement_id="",
        cause="",
        why=Reason(code=ReasonCode.CAPABILITY_MISSING),
    )

    text = summary(dataclasses.replace(record, tests=[*record.tests, missing]))

    assert "required_capability" not in text.partition("also failed: ")[2]


def test_a_green_run_says_so_in_a_line(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    green = dataclasses.replace(record, tests=[], root_causes=[], exit_code=0, exit_reason="no new failure")

    assert "exit 0: no new failure" in summary(green)
    assert "Failures" not in summary(green)
