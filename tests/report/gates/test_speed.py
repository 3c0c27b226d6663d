import dataclasses
from pathlib import Path

import pytest

from critests.report.comparison import CompareSettings, NotComparable, StoredRun
from critests.report.gates.gate_decision import judge_run
from critests.report.gates.gate_findings import GateFindingKind
from critests.report.gates.policy import Bound, Policy
from critests.statistics.corrections import at_least
from critests.toml_file import TomlMalformed
from tests.report.comparison.sample_measured import MACHINE, record, samples, series
from tests.report.comparison.sample_runs import run_a
from tests.report.gates.test_judging import measured, subjects


def test_a_regression_beyond_what_is_allowed_fails() -> None:
    before, after = measured(), measured(factors={"RunPodSandbox": 1.2, "StartContainer": 0.8}, seed=2)

    report = judge_run(after, baseline=before)

    assert subjects(report) == [(GateFindingKind.SLOWER, "B-06 RunPodSandbox")]
    assert "ratio 1.2" in report.failing[0].sentence
    assert judge_run(after, Policy(max_regression=0.3), before).exit_code == 0


def test_a_regression_within_the_allowed_is_reported() -> None:
    report = judge_run(measured(factors={"RunPodSandbox": 1.1}, seed=2), baseline=measured())

    assert report.exit_code == 0
    assert [finding.subject for finding in report.remarks] == ["B-06 RunPodSandbox"]
    assert "not significantly more than the 10 % allowed" in report.remarks[0].sentence


def test_a_regression_can_be_allowed_for_one_operation() -> None:
    before, after = measured(), measured(factors={"RunPodSandbox": 1.2}, seed=2)

    own = Policy(bounds=(Bound(operation="B-06 *", max_regression=0.3),))
    assert judge_run(after, own, before).exit_code == 0
    assert (
        judge_run(after, Policy(bounds=(Bound(operation="B-08 *", max_regression=0.3),)), before).exit_code
        == 1
    )


def test_noisy_operations_fail_only_if_the_policy_says_so() -> None:
    before, after = measured(count=8), measured(count=8, factors={"RunPodSandbox": 2}, seed=2)

    assert judge_run(after, baseline=before).exit_code == 0
    assert judge_run(after, Policy(noisy_fails=True), before).exit_code == 1


def test_side_a_of_a_live_comparison_is_the_baseline() -> None:
    both = samples(side="a", blocks=40) + samples({"CreateContainer": 1.3}, side="b", blocks=40, seed=4)

    report = judge_run(StoredRun(record(both), both))

    assert subjects(report) == [(GateFindingKind.SLOWER, "B-08 CreateContainer")]
    assert report.baseline is not None


def test_speed_on_another_machine_cannot_be_judged() -> None:
    before, after = measured(), measured(factors={"RunPodSandbox": 2}, seed=2)
    other = dataclasses.replace(
        before, record=dataclasses.replace(before.record, machine=MACHINE | {"kernel": "5.4"})
    )

    with pytest.raises(NotComparable, match="machines differ"):
        judge_run(after, baseline=other)
    assert judge_run(after, baseline=other, settings=CompareSettings(unlike_machines=True)).exit_code == 1


def test_conformance_is_judged_though_speed_cannot_be(tmp_path: Path) -> None:
    before, after = measured(), measured(seed=2)
    conforming = run_a(tmp_path)
    left = dataclasses.replace(
        before.record,
        tests=conforming.tests,
        requirements=conforming.requirements,
        machine=MACHINE | {"kernel": "5.4"},
    )
    right = dataclasses.replace(after.record, tests=conforming.tests, requirements=conforming.requirements)

    report = judge_run(StoredRun(right, after.samples), baseline=StoredRun(left, before.samples))

    assert report.exit_code == 5
    assert "not compared with the baseline" in report.sentence


def test_absolute_bounds_fail_when_the_whole_interval_is_beyond() -> None:
    run = measured()
    beyond = Policy(bounds=(Bound(operation="B-06 RunPodSandbox", at_most=0.080, unit="s"),))
    near = Policy(bounds=(Bound(operation="B-06 RunPodSandbox", at_most=0.0845, unit="s"),))
    below = Policy(bounds=(Bound(operation="B-06 RunPodSandbox", at_most=0.100, unit="s"),))

    assert subjects(judge_run(run, beyond)) == [(GateFindingKind.BOUND, "B-06 RunPodSandbox")]
    assert judge_run(run, below).remarks == []
    report = judge_run(run, near)
    assert report.exit_code == 0
    assert "excess not significant" in report.remarks[0].sentence


def test_several_bounds_of_one_operation_are_all_judged() -> None:
    bounds = (
        Bound(operation="B-06 RunPodSandbox", at_most=0.001, unit="s"),
        Bound(operation="B-06 RunPodSandbox", quantile=0.9, at_most=0.002, unit="s"),
    )

    assert len(judge_run(measured(), Policy(bounds=bounds)).failing) == 2


def test_a_quantile_without_enough_samples_is_not_compared_with_its_bound() -> None:
    policy = Policy(bounds=(Bound(operation="B-06 RunPodSandbox", quantile=0.99, at_most=0.001, unit="s"),))

    report = judge_run(measured(), policy)

    assert report.exit_code == 0
    assert "240 samples, 1,000 needed" in report.remarks[0].sentence.replace("1000", "1,000")


def test_a_lower_bound_is_for_rates() -> None:
    rates = [series("B-28", "pods", 10.0, unit="1/s", better="higher")]
    run = StoredRun(record(rates), rates)

    assert judge_run(run, Policy(bounds=(Bound(operation="B-28 *", at_least=20, unit="1/s"),))).exit_code == 1
    assert judge_run(run, Policy(bounds=(Bound(operation="B-28 *", at_least=5, unit="1/s"),))).exit_code == 0


def test_a_bound_in_the_wrong_unit_is_an_error_of_the_policy() -> None:
    with pytest.raises(
        TomlMalformed, match=r"gate\.toml:3: the bound is in B and B-06 RunPodSandbox is measured in s"
    ):
        judge_run(
            measured(),
            Policy(
                bounds=(Bound(operation="B-06 RunPodSandbox", at_most=5, unit="B", line=3),),
                source="gate.toml",
            ),
        )


def test_a_bound_that_matches_nothing_is_reported_or_fails() -> None:
    bounds = (Bound(operation="B-99 Nothing", at_most=1, unit="s"),)

    assert judge_run(measured(), Policy(bounds=bounds)).remarks[0].kind is GateFindingKind.UNMEASURED
    assert judge_run(measured(), Policy(bounds=bounds, unmeasured_fails=True)).exit_code == 1


def test_calls_that_fail_more_often_than_before_fail() -> None:
    report = judge_run(measured(fails=lambda index: index % 3 == 2), baseline=measured())

    assert report.exit_code == 1
    assert {finding.kind for finding in report.failing} == {GateFindingKind.ERRORS}


def test_an_error_rate_beyond_the_allowed_fails_on_evidence() -> None:
    run = measured(fails=lambda index: index % 60 == 2)

    assert judge_run(run).exit_code == 0
    assert judge_run(run, Policy(max_error_rate=0.0)).exit_code == 1
    assert judge_run(run, Policy(max_error_rate=0.015)).exit_code == 0
    assert judge_run(run, Policy(max_error_rate=0.05)).remarks[0].kind is GateFindingKind.SAID


def test_an_operation_that_never_succeeds_fails() -> None:
    report = judge_run(measured(fails=lambda _: True))

    assert report.exit_code == 1
    assert "never succeeded" in report.failing[0].sentence


def test_a_benchmark_without_samples_cannot_be_judged() -> None:
    assert judge_run(StoredRun(record([]))).exit_code == 5


def test_the_binomial_tail_is_exact() -> None:
    assert at_least(1, 1, 0.5) == pytest.approx(0.5)
    assert at_least(3, 3, 0.1) == pytest.approx(0.001)
    assert at_least(0, 5, 0.1) == 1
    assert at_least(1, 5, 0) == 0
