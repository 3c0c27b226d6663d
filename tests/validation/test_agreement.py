"""Comparison of messages that report the same object."""

import pytest

from critests.api import api_pb2 as cri
from critests.validation.containers.agreement import contradictions, differences


def stats(*, used: int = 5, at: int = 7, containers: tuple[str, ...] = ("a", "b")) -> cri.PodSandboxStats:
    inside = [cri.ContainerStats(attributes=cri.ContainerAttributes(id=each)) for each in containers]
    cpu = cri.CpuUsage(timestamp=at, usage_core_nano_seconds=cri.UInt64Value(value=used))
    message = cri.PodSandboxStats(linux=cri.LinuxPodSandboxStats(cpu=cpu, containers=inside))
    message.attributes.labels["colour"] = "green"
    message.attributes.metadata.attempt = 1
    return message


def test_measured_values_and_times_may_grow_in_any_order() -> None:
    reported = stats(used=9, at=8, containers=("b", "a"))
    assert contradictions(reported, stats(), stats(used=20, at=9)) == {}


@pytest.mark.parametrize(
    ("reported", "path"),
    [
        (stats(used=5000), "linux.cpu.usage_core_nano_seconds"),
        (stats(used=0), "linux.cpu.usage_core_nano_seconds"),
        (stats(at=6), "linux.cpu.timestamp"),
        (stats(at=0), "linux.cpu.timestamp"),
        (stats(containers=("a",)), "linux.containers[b]"),
        (stats(containers=("a", "b", "b")), "linux.containers[b] once more"),
        (stats(containers=("a", "c", "b")), "linux.containers[c]"),
    ],
)
def test_values_that_contradict_both_others(reported: cri.PodSandboxStats, path: str) -> None:
    assert path in contradictions(reported, stats(), stats())


def test_labels_and_unmeasured_numbers_must_be_equal() -> None:
    reported = stats()
    reported.attributes.labels["colour"] = "red"
    reported.attributes.metadata.attempt = 2
    assert contradictions(reported, stats(), stats()) == {
        "attributes.labels[colour]": ("green", "red", "green"),
        "attributes.metadata.attempt": (1, 2, 1),
    }


def test_a_value_that_appears_in_between_may_be_reported_or_not() -> None:
    before, after = stats(), stats()
    after.linux.process.timestamp = 9
    assert contradictions(before, before, after) == {}
    assert contradictions(after, before, after) == {}
    assert "linux.process" in contradictions(after, before, before)


def test_differences_of_two_messages() -> None:
    one, other = cri.ContainerStatus(id="a", exit_code=1), cri.ContainerStatus(id="a", reason="Error")
    assert differences(one, other) == {"exit_code": (1, None), "reason": (None, "Error")}
    assert differences(one, one) == {}
