import dataclasses
import datetime as dt
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.expectations import Expectations, KnownFailure
from critests.record.identity import ProgramFile
from critests.record.run_record import RunRecord, RunScope
from critests.record.versions import parse_ranges
from critests.report.comparison import CompareSettings, NotComparable, StoredRun
from critests.report.gates.gate_decision import NONE_KNOWN, judge_run
from critests.report.gates.gate_findings import (
    LINES,
    GateFinding,
    GateFindingKind,
    GateReport,
    gate_lines,
    gate_to_json,
    gate_to_junit,
)
from critests.report.gates.policy import SHOULD, Policy
from tests.report.comparison.sample_measured import record, samples
from tests.report.comparison.sample_runs import capabilities, changed, clean_tests, rejudged, run_a, run_b
from tests.report.sample_run import HOSTILE, sample_run

TODAY = dt.date(2026, 11, 20)
NEXT_YEAR = dt.date(2027, 11, 20)
YESTERDAY = dt.date(2026, 11, 19)


STP_02 = next(test.function for test in clean_tests() if test.requirement == "STP-02")


def known(**changes: object) -> Expectations:
    fields = {
        "requirement": "STP-02",
        "test": STP_02,
        "handlers": ("*",),
        "versions": parse_ranges(["*"]),
        "proven": parse_ranges(["*"]),
        "outcome": Outcome.FAILED,
        "reason": "the code is replaced",
        "link": "",
        "api": "the exit code is the process's",
        "owner": "runtime team",
        "expires": NEXT_YEAR,
        "intermittent": False,
        "line": 7,
    }
    return Expectations((KnownFailure(**fields | changes),), "known.toml")  # type: ignore[arg-type]  # a test names real fields


def judged(
    run: RunRecord,
    policy: Policy | None = None,
    baseline: RunRecord | None = None,
    known: Expectations = NONE_KNOWN,
) -> GateReport:
    before = StoredRun(baseline) if baseline else None
    return judge_run(StoredRun(run), policy or Policy(), before, known=known, today=TODAY)


def subjects(report: GateReport) -> list[tuple[GateFindingKind, str]]:
    return [(finding.kind, finding.subject) for finding in report.failing]


def measured(**options: object) -> StoredRun:
    found = samples(**options)  # type: ignore[arg-type]  # options of samples
    return StoredRun(record(found), found)


# conformance


def test_a_run_without_breaches_passes(tmp_path: Path) -> None:
    report = judged(run_a(tmp_path))

    assert report.exit_code == 0
    assert report.sentence == "passes: no failing finding in 25 requirements"
    assert report.failing == []


def test_a_broken_must_fails_and_a_warning_does_not(tmp_path: Path) -> None:
    report = judged(run_b(tmp_path))

    assert report.exit_code == 1
    assert subjects(report) == [(GateFindingKind.BREACH, "STP-02")]
    (finding,) = report.failing
    assert finding.sentence == "STP-02 A process that handles the signal MUST keep its own exit code."
    assert finding.details == ["exit_code == 137 (7 tests)"]


def test_an_intermittent_failure_is_not_a_breach_and_a_single_one_passes(
    tmp_path: Path,
) -> None:
    record = run_b(tmp_path)
    new = {
        test.id: dataclasses.replace(test, failures=2, tries=21)
        for test in record.tests
        if test.outcome is Outcome.FAILED
    }
    some = dataclasses.replace(record, tests=[new.get(test.id, test) for test in record.tests])
    once = dataclasses.replace(
        record,
        exit_code=0,
        tests=[
            dataclasses.replace(test, outcome=Outcome.WARNED, failures=1) if test.tries else test
            for test in some.tests
        ],
    )

    assert subjects(judged(some)) == [(GateFindingKind.INTERMITTENT, "STP-02")]
    report = judged(once)
    assert report.exit_code == 0
    assert [each.subject for each in report.remarks if each.kind is GateFindingKind.INTERMITTENT] == [
        "STP-02"
    ]


def test_levels_decide_what_fails(tmp_path: Path) -> None:
    strict = judged(run_b(tmp_path), Policy(levels=frozenset({"MUST", SHOULD})))
    assert subjects(strict) == [(GateFindingKind.BREACH, "STP-02"), (GateFindingKind.WARNING, "LOG-01")]

    assert judged(run_b(tmp_path), Policy(levels=frozenset())).exit_code == 0


def test_a_known_failure_does_not_fail_until_it_expires(tmp_path: Path) -> None:
    living = judged(run_b(tmp_path), known=known())
    assert living.exit_code == 0
    assert [each.sentence for each in living.remarks if each.kind is GateFindingKind.KNOWN] == [
        "7 tests known to fail: STP-02"
    ]
    assert judged(run_b(tmp_path), known=known(expires=TODAY)).exit_code == 0

    expired = judged(run_b(tmp_path), known=known(expires=YESTERDAY))
    assert subjects(expired) == [(GateFindingKind.BREACH, "STP-02")]
    assert any("known.toml:7: the entry for STP-02" in each.sentence for each in expired.remarks)


@pytest.mark.parametrize(
    "narrow",
    [
        {"test": f"{STP_02}[other]"},
        {"handlers": ("crun",)},
        {"versions": parse_ranges(["<1"])},
        {"requirement": "STP-01"},
        {"outcome": Outcome.WARNED},
    ],
)
def test_a_known_failure_must_match_its_entry(tmp_path: Path, narrow: dict[str, object]) -> None:
    assert judged(run_b(tmp_path), known=known(**narrow)).exit_code == 1


def test_a_known_failure_that_passes_fails_as_it_does_in_a_run(tmp_path: Path) -> None:
    assert judged(run_a(tmp_path), known=known()).exit_code == 1
    assert judged(run_a(tmp_path), known=known(proven=parse_ranges(["<1"]))).exit_code == 0


def test_more_blocked_than_allowed_fails(tmp_path: Path) -> None:
    run = rejudged(
        sample_run(tmp_path),
        changed(clean_tests(), "SBX-04", outcome=Outcome.BLOCKED, reason="needs --disruptive"),
    )

    assert judged(run, Policy(max_blocked=7)).exit_code == 0
    report = judged(run, Policy(max_blocked=6))
    assert report.failing[0].sentence == "7 tests blocked, 6 allowed; 7 of them: needs --disruptive"


def test_requirements_that_block_most_tests_come_first(tmp_path: Path) -> None:
    report = judged(
        sample_run(
            tmp_path,
            exit_code=1,
            tests=[test for test in sample_run(tmp_path).tests if test.outcome is not Outcome.ERROR],
        )
    )

    assert report.failing[0].subject == "EXE-01"
    assert "could not be judged" in report.failing[0].details[-1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"interrupted": True}, "interrupted"),
        ({"exit_code": 5, "exit_reason": "the runtime went away"}, "the runtime went away"),
        ({"exit_code": 3, "exit_reason": "the disk is full"}, "the disk is full"),
        ({"tests": [], "requirements": {}}, "no results"),
    ],
)
def test_an_interrupted_run_cannot_be_judged(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    report = judged(dataclasses.replace(run_a(tmp_path), **changes))  # type: ignore[arg-type]  # real fields

    assert report.exit_code == 5
    assert words in report.sentence


def test_a_breach_in_an_interrupted_run_counts(tmp_path: Path) -> None:
    report = judged(dataclasses.replace(run_b(tmp_path), interrupted=True))

    assert report.exit_code == 1
    assert "the run was interrupted" in report.sentence


def test_an_error_of_the_harness_is_not_a_breach(tmp_path: Path) -> None:
    run = rejudged(
        sample_run(tmp_path), changed(clean_tests(), "STP-02", outcome=Outcome.ERROR, reason="no registry")
    )

    assert judged(run).exit_code == 5


# with a baseline


def test_breaches_of_the_baseline_are_not_new(tmp_path: Path) -> None:
    report = judged(run_b(tmp_path), baseline=run_b(tmp_path))

    assert report.exit_code == 0
    assert [finding.sentence for finding in report.remarks if finding.kind is GateFindingKind.OLD] == [
        "7 tests broken in the baseline too: STP-02"
    ]


def test_a_new_failing_case_of_an_old_breach_is_new(tmp_path: Path) -> None:
    after = run_b(tmp_path)
    first = next(test.id for test in after.tests if test.requirement == "STP-02")
    before = dataclasses.replace(
        after,
        tests=[
            dataclasses.replace(test, outcome=Outcome.PASSED) if test.id == first else test
            for test in after.tests
        ],
    )

    assert subjects(judged(after, baseline=before)) == [(GateFindingKind.BREACH, "STP-02")]


def test_every_lost_verdict_and_capability_is_new(tmp_path: Path) -> None:
    report = judged(run_b(tmp_path), baseline=run_a(tmp_path))

    assert subjects(report) == [
        (GateFindingKind.BREACH, "STP-02"),
        (GateFindingKind.CAPABILITY, "AppArmor"),
        (GateFindingKind.GONE, "IMG-02"),
        (GateFindingKind.GONE, "SBX-04"),
    ]
    sentences = [finding.sentence for finding in report.failing]
    assert sentences[1].startswith("AppArmor was present in the baseline and is missing now")
    assert sentences[2] == "7 tests that passed are unsupported now (IMG-02): no default tag"


def test_a_lost_verdict_of_a_should_fails_if_the_policy_has_should(tmp_path: Path) -> None:
    weak = changed(clean_tests(), "LOG-01", level=Level.SHOULD)
    before = rejudged(sample_run(tmp_path), weak)
    after = rejudged(
        sample_run(tmp_path), changed(weak, "LOG-01", outcome=Outcome.UNSUPPORTED, reason="not offered")
    )

    assert judged(after, baseline=before).exit_code == 0
    assert judged(after, Policy(levels=frozenset({"MUST", SHOULD})), before).exit_code == 1


def test_a_part_of_the_suite_is_judged_as_a_part(tmp_path: Path) -> None:
    part = RunScope(selection="--select IMG", musts_judged=3, musts=9)
    whole = run_a(tmp_path, scope=RunScope(musts_judged=9, musts=9))

    assert judged(whole).sentence.startswith("passes: no failing finding")
    small_run = dataclasses.replace(whole, scope=part)
    small = judged(small_run, baseline=small_run)
    assert small.sentence.startswith(
        "passes in part (--select IMG; 3 of 9 MUSTs judged): nothing new since 2026-"
    )
    assert not any(line.startswith("!") for line in small.compared)
    (other,) = [line for line in judged(small_run, baseline=whole).compared if line.startswith("!")]
    assert other == "! the baseline is of another part of the suite: the whole suite"


def test_a_newly_broken_should_is_reported(tmp_path: Path) -> None:
    weak = changed(clean_tests(), "LOG-01", level=Level.SHOULD)
    before = rejudged(sample_run(tmp_path), weak)
    broken = changed(weak, "LOG-01", outcome=Outcome.FAILED, reason="late")
    after = rejudged(sample_run(tmp_path), broken)

    report = judged(after, baseline=before)
    again = judged(after, baseline=after)

    assert report.exit_code == 0
    (said,) = [finding for finding in report.remarks if finding.kind is GateFindingKind.WARNING]
    assert said.sentence.startswith("new: SHOULD LOG-01")
    assert not [finding for finding in again.remarks if finding.kind is GateFindingKind.WARNING]


def test_a_lost_verdict_is_found_even_if_its_tests_are_renamed(tmp_path: Path) -> None:
    before = run_a(tmp_path)
    gone = changed(clean_tests(), "IMG-02", outcome=Outcome.UNSUPPORTED, reason="no default tag")
    renamed = [
        dataclasses.replace(test, id=f"{test.id}x", name=f"{test.name}x")
        if test.requirement == "IMG-02"
        else test
        for test in gone
    ]

    report = judged(
        rejudged(sample_run(tmp_path), renamed, capabilities=before.capabilities), baseline=before
    )

    assert subjects(report) == [(GateFindingKind.GONE, "IMG-02")]


@pytest.mark.parametrize(
    ("now", "code"), [({"AppArmor": None}, 1), ({}, 0)], ids=["unclear", "not looked for"]
)
def test_a_capability_is_lost_only_if_it_was_probed(
    now: dict[str, bool | None], code: int, tmp_path: Path
) -> None:
    after = run_a(tmp_path, capabilities=capabilities({"pod network": True, **now}))

    assert judged(after, baseline=run_a(tmp_path)).exit_code == code


def test_a_probe_that_fails_for_a_reported_breach_fails_the_gate_only_once(tmp_path: Path) -> None:
    unclear = capabilities({"pod network": True, "AppArmor": None})
    after = changed(clean_tests(), "STP-02", outcome=Outcome.FAILED, reason="no exit code of its own")

    report = judged(rejudged(sample_run(tmp_path), after, capabilities=unclear), baseline=run_a(tmp_path))

    assert subjects(report) == [(GateFindingKind.BREACH, "STP-02")]
    assert [each.subject for each in report.remarks if each.kind is GateFindingKind.CAPABILITY] == [
        "AppArmor"
    ]


def test_tests_that_were_not_run_are_counted_and_do_not_fail(tmp_path: Path) -> None:
    before = run_a(tmp_path)
    after = dataclasses.replace(before, tests=before.tests[5:])

    report = judged(after, baseline=before)

    assert report.exit_code == 0
    assert report.remarks[0].sentence == "5 tests of the baseline did not run and cannot be compared"


def test_a_baseline_of_another_kind_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(NotComparable, match="nothing in common"):
        judge_run(measured(), baseline=StoredRun(run_a(tmp_path)))


def test_what_follows_from_a_new_breach_is_a_number_below_it(tmp_path: Path) -> None:
    tests = [
        dataclasses.replace(
            test, outcome=Outcome.BLOCKED, reported_blocker="STP-02", reason="no exit code of its own"
        )
        if test.requirement == "SBX-04"
        else test
        for test in changed(clean_tests(), "STP-02", outcome=Outcome.FAILED, reason="exit_code == 137")
    ]

    report = judged(rejudged(sample_run(tmp_path), tests), baseline=run_a(tmp_path, capabilities=[]))

    assert subjects(report) == [(GateFindingKind.BREACH, "STP-02")]
    assert report.failing[0].details[-1] == "because of it, 7 tests could not be judged"


def of_runtime(run: RunRecord, oci: str, digest: str, name: str = "containerd") -> RunRecord:
    program = ProgramFile(role="OCI runtime", path=f"/opt/{digest}/runc", version=oci, sha256=digest * 64)
    runtime = dataclasses.replace(run.runtime, name=name, parts={"OCI runtime": oci}, programs=[program])
    return dataclasses.replace(run, runtime=runtime)


def test_a_baseline_of_another_runtime_is_rejected_unless_the_user_agrees(tmp_path: Path) -> None:
    run = of_runtime(run_a(tmp_path), "runc 1.1", "a")
    for other, words in (
        (of_runtime(run, "crun 1.8", "b"), "another OCI runtime, crun, and the run of runc"),
        (of_runtime(run, "runc 1.1", "a", "cri-o"), "another runtime, cri-o, and the run of containerd"),
    ):
        with pytest.raises(NotComparable, match=words) as rejected:
            judged(run, baseline=other)
        assert rejected.value.unlike_machines

        agreed = judge_run(
            StoredRun(run), baseline=StoredRun(other), settings=CompareSettings(unlike_machines=True)
        )
        assert any(words in line for line in agreed.compared)


def test_another_file_of_the_same_version_is_named(tmp_path: Path) -> None:
    old, new = (of_runtime(run_a(tmp_path), "runc 1.1", digest) for digest in "ab")

    run, baseline, *unlike = judged(new, baseline=old).compared

    assert run.startswith("run: containerd 1.6.20~ds1, runc 1.1 at /opt/b/runc, ")
    assert baseline.startswith("baseline: containerd 1.6.20~ds1, runc 1.1 at /opt/a/runc, ")
    (difference,) = unlike
    assert difference.startswith("! another OCI runtime: /opt/a/runc, ")
    assert f"sha256 {'a' * 12} in the baseline, /opt/b/runc, " in difference
    assert difference.endswith(f"sha256 {'b' * 12} now")
    assert len(judged(new, baseline=new).compared) == 2


# what it says


def many(number: int) -> GateReport:
    findings = [
        GateFinding(
            kind=GateFindingKind.BREACH if index % 2 else GateFindingKind.SLOWER,
            fails=True,
            subject=f"X-{index}",
            sentence=f"X-{index}\n{HOSTILE * 20}",
        )
        for index in range(number)
    ]
    report = judge_run(measured())
    remarks = [GateFinding(kind=GateFindingKind.SAID, fails=False, subject="", sentence="said")] * 3
    return dataclasses.replace(
        report, exit_code=1, sentence="fails: many", failing=findings, remarks=remarks, obstacles=["odd"]
    )


@pytest.mark.parametrize("number", [1, 5, 13, 14, 15, 16, 40])
def test_there_are_at_most_twenty_lines_and_the_others_are_counted(number: int) -> None:
    lines = gate_lines(many(number))

    assert len(lines) <= LINES
    assert lines[0] == "gate fails: many (exit 1)"
    assert lines[-1].startswith("run: containerd ")
    assert "? odd" in lines
    assert all("\n" not in line and "\x1b" not in line and len(line) < 450 for line in lines)
    shown = sum(line[0] in "✕·" for line in lines)
    if shown < number + 3:
        assert lines[-2].startswith(f"… and {number + 3 - shown} more: ")


def test_json_has_its_documented_shape(tmp_path: Path) -> None:
    data = json.loads(gate_to_json(judged(run_b(tmp_path), baseline=run_a(tmp_path))))

    assert (data["schema"], data["schema_version"], data["exit_code"]) == ("critests.gate", 1, 1)
    assert set(data) == {"schema", "schema_version", *(each.name for each in dataclasses.fields(GateReport))}


def test_junit_has_a_case_with_a_unique_name_per_finding() -> None:
    root = ET.fromstring(gate_to_junit(many(4), measured().record))  # noqa: S314 - our own text

    cases = root.findall(".//testcase")
    names = [case.get("name") for case in cases]
    assert len(set(names)) == len(names) == 8
    assert cases[0].get("name") == "gate"
    assert [case.find("failure") is not None for case in cases] == [True] * 5 + [False] * 3
    assert all("said" in str(said.text) for said in root.findall(".//system-out"))
    assert root.find("testsuite").attrib["failures"] == "5"  # type: ignore[union-attr]  # it is there
