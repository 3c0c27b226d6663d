"""The first sentences of a comparison: which side is better at what, by how much, and the environments."""

import dataclasses
import re

from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts
from critests.record.run_record import RunRecord
from critests.record.samples import Series
from critests.report.comparison import RunComparison, SideFacts, compare_sides
from critests.report.comparison.comparison_sentences import verdict_text
from critests.report.comparison.fairness import environment_facts, warning
from critests.report.comparison.headline import headline
from critests.report.comparison.names import names_of
from tests.report.comparison.sample_measured import record, series

PARTS = {"OCI runtime": "runc 1.1.5", "storage": "overlay", "cgroup driver": "systemd"}


def side(name: str, version: str, **more: object) -> SideFacts:
    return dataclasses.replace(SideFacts(label="A", runtime=name, version=version), **more)  # type: ignore[arg-type]  # its fields


def measured(typical: dict[str, tuple[float, float]], **more: object) -> list[Series]:
    """Return what both sides measured of operations, in blocks."""
    return [
        series("B-11", name, value, side=label, blocks=60, seed=seed, spread=0.02, **more)  # type: ignore[arg-type]  # its options
        for name, values in typical.items()
        for label, seed, value in (("a", 1, values[0]), ("b", 2, values[1]))
    ]


def live(samples: list[Series], parts: dict[str, str] | None = None) -> RunComparison:
    sides = {
        "a": RuntimeIdentity(name="containerd", version="2.1.9+unknown", parts=PARTS),
        "b": RuntimeIdentity(name="cri-o", version="1.36.3", parts=PARTS if parts is None else parts),
    }
    run: RunRecord = record(samples, benchmark=BenchmarkFacts(sides=sides))
    return compare_sides(run, samples)


def test_whole_operations_come_before_their_parts_with_direction_size_and_interval() -> None:
    comparison = live(
        measured({"CreateContainer": (0.020, 0.130), "pod cycle": (1.0, 0.85), "ExecSync": (0.05, 0.05)})
    )

    first, second, *others = headline(comparison)

    assert re.fullmatch(
        r"CRI-O 1\.36 takes 1\d % less time for pod cycle \(99\.5 % CI 1\d to 1\d %\)\.", first
    )
    assert second.startswith("containerd 2.1 is 6.5")
    assert "times as fast in CreateContainer (99.5 % CI 6." in second
    assert others == ["No significant difference in ExecSync.", "No call failed on either side."]
    assert comparison.speed is not None
    assert comparison.speed.operations[0].operation == "pod cycle"


def test_higher_is_better_for_a_rate() -> None:
    samples = measured({"throughput": (10.0, 15.0)}, unit="1/s", better="higher")

    assert headline(live(samples))[0].startswith("CRI-O 1.36 reaches 50 % more in throughput (99.5 % CI ")


def test_contradicting_differences_have_no_headline() -> None:
    samples = [
        *measured({"ListContainers": (0.010, 0.030)}, dimensions={"containers": "10"}),
        *measured({"ListContainers": (0.300, 0.100)}, dimensions={"containers": "1000"}),
    ]

    first, *_ = headline(live(samples))

    assert first == "Which side is faster depends on the dimensions: ListContainers."


def test_a_verdict_does_not_contradict_its_interval() -> None:
    comparison = live(measured({"Version": (0.0004, 0.00045), "pod cycle": (1.0, 1.0)}))
    assert comparison.speed is not None
    version = next(each for each in comparison.speed.operations if each.operation == "Version")

    assert version.low is not None
    assert version.low > 1
    assert version.verdict == "no evidence of a difference"
    assert verdict_text(version, comparison) == "below the noise level"
    assert headline(comparison)[0].startswith("Differences below the noise level: ")
    unproven = dataclasses.replace(version, p=0.2)
    assert verdict_text(unproven, comparison) == "not significant after correction"
    speed = dataclasses.replace(comparison.speed, operations=[unproven])
    first, *_ = headline(dataclasses.replace(comparison, speed=speed))
    assert first == "Not significant after correction: Version."


def test_a_call_comes_after_its_whole_operation() -> None:
    comparison = live(
        measured({"create and start": (0.13, 0.18), "CreateContainer": (0.02, 0.15)})
        + [dataclasses.replace(each, scenario="B-13") for each in measured({"RunPodSandbox": (0.05, 0.1)})]
    )

    assert comparison.speed is not None
    assert [each.operation for each in comparison.speed.operations] == [
        "create and start",
        "RunPodSandbox",
        "CreateContainer",
    ]


def test_a_call_that_two_scenarios_measured_is_named_once() -> None:
    faster = measured({"CreateContainer": (0.02, 0.15)})
    slower = measured({"CreateContainer": (0.15, 0.02)})

    def elsewhere(samples: list[Series]) -> list[Series]:
        return [dataclasses.replace(each, scenario="B-06") for each in samples]

    first, *_ = headline(live([*faster, *elsewhere(faster)]))
    assert first.count("CreateContainer") == 1
    first, *_ = headline(live([*faster, *elsewhere(slower)]))
    assert first == "Which side is faster depends on the dimensions: CreateContainer."


def test_names_are_the_shortest_that_differ() -> None:
    def names(a: SideFacts, b: SideFacts) -> tuple[str, str]:
        found = names_of(a, b)
        return found.a, found.b

    one = side("containerd", "2.1.9+unknown")
    assert names(one, side("cri-o", "1.36.3")) == ("containerd 2.1", "CRI-O 1.36")
    assert names(one, side("containerd", "2.1.10")) == ("containerd 2.1.9+unknown", "containerd 2.1.10")
    crun = dataclasses.replace(one, handlers=["crun"])
    assert names(one, crun) == ("containerd 2.1", "containerd 2.1 (crun)")
    assert names(one, one) == ("containerd 2.1, first", "containerd 2.1, second")


def test_different_environments_are_a_warning() -> None:
    samples = measured({"pod cycle": (1.0, 0.8)})
    comparison = live(samples, {**PARTS, "OCI runtime": "crun 1.14"})
    names = names_of(comparison.a, comparison.b)

    assert {each.name: each.alike for each in environment_facts(comparison)} == {
        "OCI runtime": False,
        "CNI plugins": None,
        "storage": True,
        "cgroup driver": True,
        "sandbox image": None,
        "node settings": None,
        "kernel": True,
    }
    assert warning(comparison, names) == (
        "The environments differ in: OCI runtime (containerd 2.1: runc 1.1.5; CRI-O 1.36: crun 1.14)."
        " Not recorded on both sides: CNI plugins, sandbox image, node settings."
    )
