"""The plans of slow and failing steps."""

from typing import cast

from critests.conditions.slow_and_failing_steps import Steps
from critests.node.wrappers.actions import Delay, Fail
from critests.node.wrappers.stand_in import CniWrapper, MonitorWrapper, OciWrapper


class Plans:
    """Stands for a wrapper, and keeps its plan."""

    def __init__(self) -> None:
        self.now: dict[str, list[object]] = {}

    def plan(self, actions: dict[str, list[object]]) -> None:
        self.now = actions

    def acted(self) -> list[str]:
        return list(self.now)[:1]


def steps(*names: str, seed: int = 7) -> tuple[Steps, Plans, Plans, Plans]:
    oci, cni, monitor = Plans(), Plans(), Plans()
    wrappers = (cast("OciWrapper", oci), cast("CniWrapper", cni), cast("MonitorWrapper", monitor))
    return Steps(*wrappers, names, seed), oci, cni, monitor


def test_slow_steps_are_late_by_50_ms_and_one_in_twenty_by_more_than_the_time_outs() -> None:
    slow, oci, cni, monitor = steps("slow-steps")

    slow.plan_for("a")

    for plan in (oci.now["create"], cni.now["ADD"], monitor.now["start"]):
        usual, long = plan
        assert usual == Delay(0.05)
        assert isinstance(long, Delay)
        assert 10 <= long.seconds <= 15
        assert (long.every, 1 <= long.first <= 20) == (20, True)


def test_failing_steps_fail_one_time_in_fifty() -> None:
    failing, oci, cni, monitor = steps("failing-steps")

    failing.plan_for("a")

    (fail,) = oci.now["kill"]
    assert isinstance(fail, Fail)
    assert (fail.every, 1 <= fail.first <= 50) == (50, True)
    assert cni.now.keys() == {"ADD", "DEL", "CHECK"}
    assert monitor.now.keys() == {"start", "exec", "delete"}


def test_a_test_meets_the_same_again_and_another_seed_or_test_another_place() -> None:
    def planned(test: str, seed: int) -> object:
        both, oci, *_ = steps("slow-steps", "failing-steps", seed=seed)
        both.plan_for(test)
        return oci.now

    assert planned("a", 7) == planned("a", 7)
    assert planned("a", 7) != planned("a", 8)
    assert planned("a", 7) != planned("b", 7)


def test_after_the_test_every_step_works() -> None:
    both, oci, cni, monitor = steps("slow-steps", "failing-steps")
    both.plan_for("a")
    assert both.acted() == ["create", "ADD", "monitor start"]

    both.end()

    assert (oci.now, cni.now, monitor.now) == ({}, {}, {})
