import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.record_errors import RecordUnreadable
from critests.report.comparison import (
    CompareSettings,
    NotComparable,
    Operation,
    RunComparison,
    compare_records,
    compare_sides,
    read_run,
)
from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.fairness import compare_machines
from critests.statistics.verdict import Verdict
from tests.report.comparison.sample_measured import MACHINE, record, samples, series, store
from tests.report.comparison.sample_runs import capabilities, changed, clean_tests, rejudged, run_a, run_b
from tests.report.sample_run import sample_run


def by_name(comparison: RunComparison) -> dict[str, Operation]:
    assert comparison.speed is not None
    return {operation.operation: operation for operation in comparison.speed.operations}


def test_slower_and_faster_operations_are_found_and_no_other() -> None:
    a, b = samples(), samples({"RunPodSandbox": 1.15, "StartContainer": 0.85}, seed=2)

    found = by_name(compare_records(record(a), record(b), a, b))

    verdicts = {name: operation.verdict for name, operation in found.items()}
    assert verdicts.pop("RunPodSandbox") == Verdict.SLOWER
    assert verdicts.pop("StartContainer") == Verdict.FASTER
    assert set(verdicts.values()) == {Verdict.NO_EVIDENCE}
    assert found["RunPodSandbox"].ratio == pytest.approx(1.15, abs=0.03)
    assert next(iter(found)) == "RunPodSandbox"


def test_a_run_does_not_differ_from_itself() -> None:
    a = samples()

    comparison = compare_records(record(a), record(a), a, a)

    assert {operation.verdict for operation in by_name(comparison).values()} == {Verdict.NO_EVIDENCE}
    assert "A and B are the same run" in comparison.notes


def test_sides_of_a_live_comparison_are_compared_block_by_block() -> None:
    both = samples(side="a", blocks=40) + samples({"CreateContainer": 1.1}, side="b", blocks=40, seed=5)

    comparison = compare_sides(record(both), both)

    found = by_name(comparison)
    assert comparison.live
    assert found["CreateContainer"].verdict == Verdict.SLOWER
    assert "block" in found["CreateContainer"].method
    assert sum(operation.verdict == Verdict.SLOWER for operation in found.values()) == 1


def test_for_rates_less_is_slower() -> None:
    a = [series("B-28", "pods", 20.0, unit="1/s", better="higher")]
    b = [series("B-28", "pods", 10.0, unit="1/s", better="higher", seed=2)]

    found = by_name(compare_records(record(a), record(b), a, b))["pods"]

    assert found.verdict == Verdict.SLOWER
    assert found.worse is not None
    assert found.worse[1] > 1.8


def test_an_operation_without_a_better_direction_is_not_judged() -> None:
    a, b = (
        [series("B-26", "size", 20.0, unit="B", better="")],
        [series("B-26", "size", 40.0, unit="B", better="")],
    )

    found = by_name(compare_records(record(a), record(b), a, b))["size"]

    assert found.verdict == "not judged"
    assert found.ratio == pytest.approx(2, rel=0.05)


def test_operations_pair_by_their_dimensions() -> None:
    a = [series("B-18", "List", 0.001, dimensions={"containers": size}) for size in ("10", "100")]
    b = [series("B-18", "List", 0.001, dimensions={"containers": size}) for size in ("100", "1000")]

    speed = compare_records(record(a), record(b), a, b).speed

    assert speed is not None
    assert [operation.dimensions for operation in speed.operations] == [{"containers": "100"}]
    assert [each.dimensions for each in speed.only_a] == [{"containers": "10"}]
    assert [each.dimensions for each in speed.only_b] == [{"containers": "1000"}]


def test_failed_calls_are_reported_along_with_the_latency() -> None:
    a, b = samples(), samples(fails=lambda index: index % 3 == 2)

    found = by_name(compare_records(record(a), record(b), a, b))["RunPodSandbox"]

    assert found.a.error_rate == 0
    assert found.b.errors == {"UNAVAILABLE": 80}
    assert found.b.count == 160
    assert found.errors_verdict == "more"


def test_a_few_errors_are_not_significant() -> None:
    a, b = samples(), samples(fails=lambda index: index == 7)

    assert {
        operation.errors_verdict
        for operation in by_name(compare_records(record(a), record(b), a, b)).values()
    } == {""}


def test_a_side_without_samples_has_too_few_and_says_so() -> None:
    a, b = samples(), samples(fails=lambda _: True)

    found = by_name(compare_records(record(a), record(b), a, b))["RunPodSandbox"]

    assert found.verdict == Verdict.TOO_FEW
    assert found.reason == "the second side has no samples"
    assert found.b.error_rate == 1


def test_values_of_zero_have_no_ratio() -> None:
    a = [series("B-34", "leak", 0.0, unit="B")]

    found = by_name(compare_records(record(a), record(a), a, a))["leak"]

    assert found.verdict == Verdict.TOO_FEW
    assert found.ratio is None


def test_a_duration_of_zero_has_no_noise_level() -> None:
    """An idle daemon may use no processor time at all."""
    idle = series("B-27", "idle time a minute", 0.0)
    busy = series("B-27", "idle time a minute", 0.3)

    for a, b in ((idle, busy), (busy, idle), (idle, idle)):
        found = by_name(compare_records(record([a]), record([b]), [a], [b]))["idle time a minute"]
        assert found.reason == "a ratio needs values above 0"


def test_an_unsupported_quantile_is_not_reported() -> None:
    a = samples()

    found = by_name(compare_records(record(a), record(a), a, a, CompareSettings(quantile=0.99)))[
        "RunPodSandbox"
    ]

    assert found.verdict == Verdict.TOO_FEW
    assert found.a.value is None


def test_records_without_their_samples_say_so() -> None:
    a = samples()

    found = by_name(compare_records(record(a), record(a)))["RunPodSandbox"]

    assert found.verdict == Verdict.TOO_FEW
    assert found.reason == "there are no samples next to the records"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"kernel": "6.1.0"}, "kernel"),
        ({"cpu": {"model": "Other", "count": 2, "usable": 2}}, "processor"),
        ({"memory_bytes": 4_000_000_000}, "memory"),
        ({"cgroup": {"version": 2}}, "cgroup version"),
        ({"root_filesystem": "xfs"}, "root file system"),
        ({"virtualisation": None}, "virtualisation"),
    ],
)
def test_machines_that_differ_are_not_compared_for_speed(change: dict[str, object], name: str) -> None:
    a = samples()

    with pytest.raises(NotComparable, match=f"machines differ \\({name}\\)") as refused:
        compare_records(record(a), record(a, machine=MACHINE | change), a, a)
    assert refused.value.unlike_machines

    anyway = compare_records(
        record(a), record(a, machine=MACHINE | change), a, a, CompareSettings(unlike_machines=True)
    )
    assert any(name in note for note in anyway.notes)


def test_another_boot_and_slightly_other_memory_are_the_same_machine() -> None:
    other = MACHINE | {
        "boot_id": "x",
        "memory_bytes": int(MACHINE["memory_bytes"] * 0.99),
        "programs": {"runc": "2"},
    }

    assert compare_machines(MACHINE, other).agree
    assert compare_machines(MACHINE | {"disk": "nvme"}, MACHINE).agree
    assert not compare_machines(MACHINE | {"disk": "nvme"}, MACHINE | {"disk": "sata"}).agree
    assert not compare_machines({}, {}).agree


def test_verdicts_that_differ_are_grouped(tmp_path: Path) -> None:
    conformance = compare_records(run_a(tmp_path), run_b(tmp_path)).conformance

    assert conformance is not None
    grouped = {
        group: [each.requirement for each in members] for group, members in conformance.grouped().items()
    }
    assert grouped == {
        VerdictChange.ONLY_A_KEEPS: ["LOG-01", "STP-02"],
        VerdictChange.ONLY_A_OFFERS: ["IMG-02"],
        VerdictChange.NOT_ON_B: ["SBX-04"],
    }
    broken = conformance.grouped()[VerdictChange.ONLY_A_KEEPS][1]
    assert broken.aspects[0].why == "exit_code == 137"
    assert [(pair.aspect, pair.a, pair.b) for pair in conformance.forms if pair.differ] == [
        ("EXS-01", "an error for a missing binary", "code 127 for a missing binary")
    ]
    assert [(each.name, each.a, each.b) for each in conformance.capabilities] == [("AppArmor", True, False)]


def test_swapped_sides_have_the_inverse_result(tmp_path: Path) -> None:
    conformance = compare_records(run_b(tmp_path), run_a(tmp_path)).conformance

    assert conformance is not None
    assert list(conformance.grouped()) == [
        VerdictChange.ONLY_B_KEEPS,
        VerdictChange.ONLY_B_OFFERS,
        VerdictChange.NOT_ON_A,
    ]
    assert conformance.grouped()[VerdictChange.ONLY_B_KEEPS][1].aspects[0].why == "exit_code == 137"


def test_requirements_that_neither_side_judged_do_not_differ(tmp_path: Path) -> None:
    base = sample_run(tmp_path)
    a = rejudged(base, changed(clean_tests(), "SBX-04", outcome=Outcome.BLOCKED, reason="no network"))
    b = rejudged(base, changed(clean_tests(), "SBX-04", outcome=Outcome.DISABLED, reason="deselected"))

    conformance = compare_records(a, b).conformance

    assert conformance is not None
    assert conformance.differences == []


def test_capabilities_that_one_side_did_not_probe_do_not_differ(tmp_path: Path) -> None:
    a = run_a(tmp_path, capabilities=capabilities({"pod network": True, "IPv6": True}))
    b = run_a(tmp_path, capabilities=capabilities({"pod network": None}))

    conformance = compare_records(a, b).conformance

    assert conformance is not None
    assert [each.name for each in conformance.capabilities] == ["pod network"]


def test_tests_of_one_side_only_are_named(tmp_path: Path) -> None:
    a = run_a(tmp_path)
    b = dataclasses.replace(a, tests=a.tests[1:])

    conformance = compare_records(a, b).conformance

    assert conformance is not None
    assert conformance.tests_only_a == [a.tests[0].id]
    assert conformance.tests_only_b == []


def test_runs_of_different_kinds_have_nothing_in_common(tmp_path: Path) -> None:
    a = samples()

    with pytest.raises(NotComparable, match="nothing in common") as refused:
        compare_records(record(a), run_a(tmp_path), a)
    assert not refused.value.unlike_machines


def test_a_live_comparison_is_passed_alone() -> None:
    both = samples(side="a", blocks=8) + samples(side="b", blocks=8)

    with pytest.raises(NotComparable, match="pass it alone"):
        compare_records(record(both), record(both), both, both)
    with pytest.raises(NotComparable, match="not a live comparison"):
        compare_sides(record(samples()), samples())


def test_a_benchmark_that_measured_nothing_is_not_compared() -> None:
    a = samples()

    with pytest.raises(NotComparable, match=r"nothing was measured on containerd 2\.1.*second"):
        compare_records(record(a), record([]), a)
    with pytest.raises(NotComparable, match="the first and the second run measured nothing"):
        compare_records(record([]), record([]))


def test_runs_are_read_with_their_samples(tmp_path: Path) -> None:
    folder = store(tmp_path / "run", samples())

    for path in (folder, folder / "run.json"):
        run = read_run(path)
        assert {each.operation for each in run.samples} == {each.operation for each in samples()}
        assert not run.two_sided


def test_a_folder_of_runs_is_no_run(tmp_path: Path) -> None:
    store(tmp_path / "results" / "run", samples())

    with pytest.raises(RecordUnreadable, match=r"the newest run below it is .*/run$"):
        read_run(tmp_path / "results")
