"""Whether two messages about one thing agree."""

import pytest

from critests.api import api_pb2 as cri
from critests.validation.containers.agreement import contradictions, differences


def stats(*, used: int = 5, at: int = 7, containers: tuple[str, ...] = ("a", "b")) -> cri.PodSandboxStats:
    inside = [cri.ContainerStats(attributes=cri.ContainerAttributes(id=each)) for each in containers]
    cpu = cri.CpuUsage(timestamp=at, usage_core_nano_seconds=cri.UInt64Value(value=used))
    made = cri.PodSandboxStats(linux=cri.LinuxPodSandboxStats(cpu=cpu, containers=inside))
    made.attributes.labels["colour"] = "green"
    made.attributes.metadata.attempt = 1
    return made


def test_figures_and_times_go_on_and_order_does_not_matter() -> None:
    told = stats(used=9, at=8, containers=("b", "a"))
    assert contradictions(told, stats(), stats(used=20, at=9)) == {}


@pytest.mark.parametrize(
    ("told", "way"),
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
def test_what_cannot_be_of_the_same_thing(told: cri.PodSandboxStats, way: str) -> None:
    assert way in contradictions(told, stats(), stats())


def test_a_label_and_a_number_that_is_no_figure_are_the_same_everywhere() -> None:
    told = stats()
    told.attributes.labels["colour"] = "red"
    told.attributes.metadata.attempt = 2
    assert contradictions(told, stats(), stats()) == {
        "attributes.labels[colour]": ("green", "red", "green"),
        "attributes.metadata.attempt": (1, 2, 1),
    }


def test_what_comes_between_the_looks_may_be_told_or_not() -> None:
    before, after = stats(), stats()
    after.linux.process.timestamp = 9
    assert contradictions(before, before, after) == {}
    assert contradictions(after, before, after) == {}
    assert "linux.process" in contradictions(after, before, before)


def test_values_that_two_messages_do_not_share() -> None:
    one, other = cri.ContainerStatus(id="a", exit_code=1), cri.ContainerStatus(id="a", reason="Error")
    assert differences(one, other) == {"exit_code": (1, None), "reason": (None, "Error")}
    assert differences(one, one) == {}
