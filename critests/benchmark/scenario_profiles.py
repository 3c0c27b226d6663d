"""The scenarios: what each measures, and for how long in which profile."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

SMOKE, STANDARD, FULL = "smoke", "standard", "full"
PROFILES: Final = (SMOKE, STANDARD, FULL)
COMPARE: Final = "compare"
"""The profile with exactly what answers the questions of a comparison."""
COMPARE_SECONDS: Final = {
    "B-06": 40.0,
    "B-11": 45.0,
    "B-13": 15.0,
    "B-23": 60.0,
    "B-26": 45.0,
    "B-27": 70.0,
    "B-28": 56.0,
}
"""Its scenarios, and the seconds of sampling after which each ends without a narrow interval."""


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Attributes:
        id: such as `B-06`; never reused for another scenario.
        title: short description of the measurement.
        seconds: of sampling in each profile that includes it; set-up and clean-up are not included.
        throwaway: whether it needs a throwaway runtime to restart, fill or wrap.
    """

    id: str
    title: str
    seconds: dict[str, float]
    throwaway: bool = False

    def seconds_in(self, profile: str) -> float:
        """Return its seconds of sampling in a profile; if the profile does not include it, those of the
        shortest profile that does.
        """
        return self.seconds.get(self.profile_in(profile)) or min(self.seconds.values())

    def profile_in(self, profile: str) -> str:
        """Return the profile that decides how much of it is measured: `smoke` for one that the profile of
        comparisons does not include.
        """
        return SMOKE if profile == COMPARE and COMPARE not in self.seconds else profile


def _scenario(
    name: str, title: str, smoke: float, standard: float, full: float, *, throwaway: bool = False
) -> Scenario:
    by_profile = {SMOKE: smoke, STANDARD: standard, FULL: full, COMPARE: COMPARE_SECONDS.get(name, 0)}
    return Scenario(
        name, title, {profile: seconds for profile, seconds in by_profile.items() if seconds}, throwaway
    )


SCENARIOS: Final = {
    scenario.id: scenario
    for scenario in (
        _scenario("B-01", "Version and Status: the cost of transport and client", 2, 6, 12),
        _scenario("B-02", "sandbox on the pod network", 8, 30, 90),
        _scenario("B-03", "sandbox on the host network: the cost of CNI", 5, 18, 50),
        _scenario("B-04", "sandbox in a user namespace: the cost of isolation", 0, 15, 45),
        _scenario("B-05", "stopping and removing a sandbox with 0, 1, 5 and 20 containers", 0, 24, 95),
        _scenario("B-06", "creating, starting, stopping and removing a container", 8, 30, 90),
        _scenario("B-07", "CreateContainer by number of layers, mounts, variables", 0, 28, 140),
        _scenario(
            "B-08", "StartContainer to the container's first instruction and first log line", 4, 20, 50
        ),
        _scenario(
            "B-09", "StopContainer: process that handles SIGTERM, ignores it, has many children", 0, 22, 60
        ),
        _scenario("B-10", "RemoveContainer by size of the writable layer", 0, 24, 95),
        _scenario("B-11", "complete pod cycle with the calls of the kubelet", 12, 45, 140),
        _scenario("B-12", "cold start: page cache dropped; image not present", 0, 24, 50),
        _scenario("B-13", "ExecSync: latency, output of 1 MB and 16 MB, concurrency 1 to 64", 6, 32, 140),
        _scenario("B-14", "probes: one exec per period in each of many containers", 0, 16, 140),
        _scenario(
            "B-15", "streaming exec: first byte, echo, throughput both ways, concurrent sessions", 4, 35, 95
        ),
        _scenario("B-16", "attach and port-forward: first line, connections, throughput", 0, 25, 70),
        _scenario("B-17", "logs: lines and bytes per second, CPU time, rotation", 0, 25, 70),
        _scenario("B-18", "list and status calls by number of containers", 4, 25, 125),
        _scenario("B-19", "streamed lists compared with unary lists", 0, 20, 140),
        _scenario("B-20", "the kubelet's relist every second during pod churn", 0, 20, 95),
        _scenario("B-21", "statistics lists by number of containers", 0, 20, 140),
        _scenario("B-22", "delivery of container events", 3, 20, 45),
        _scenario("B-23", "image pull by layers, sizes and compression", 5, 30, 140),
        _scenario("B-24", "parallel pulls: different images, shared layers, the same image", 0, 20, 95),
        _scenario("B-25", "image calls on images that are present", 3, 15, 45),
        _scenario(
            "B-26", "density: memory per pod, split into daemon, shim and pause", 0, 36, 150, throwaway=True
        ),
        _scenario(
            "B-27",
            "growth with the number of running pods: calls, memory, idle cost, restart",
            0,
            95,
            340,
        ),
        _scenario("B-28", "throughput by concurrency, and the knee of the curve", 8, 32, 125),
        _scenario("B-29", "simultaneous start of many pods", 0, 20, 45),
        _scenario("B-30", "arrivals at a fixed rate, latency from the intended start", 0, 22, 110),
        _scenario("B-31", "pod cycles while idle pods run", 0, 22, 100),
        _scenario("B-32", "UpdateContainerResources", 2, 10, 45),
        _scenario("B-33", "restart of the daemon with pods running", 0, 20, 95, throwaway=True),
        _scenario(
            "B-34", "soak: growth of memory and other gauges during pod churn", 0, 0, 360, throwaway=True
        ),
        _scenario(
            "B-37",
            "interference: container lifecycle next to a neighbour that exhausts one resource",
            0,
            25,
            70,
        ),
        _scenario(
            "B-38",
            "counters: page faults, context switches, instructions, system calls of a pod cycle",
            2,
            10,
            25,
        ),
        _scenario("B-39", "simultaneous exit of many containers", 0, 20, 45),
        _scenario("B-40", "node start with 50 pods", 0, 25, 50, throwaway=True),
        _scenario("B-41", "200 simultaneous execs", 0, 10, 20),
    )
}


def in_profile(profile: str) -> list[Scenario]:
    """Return the scenarios of a profile, in order."""
    return [scenario for scenario in SCENARIOS.values() if profile in scenario.seconds]


def seconds_each(chosen: Iterable[str], profile: str, budget: float | None = None) -> dict[str, float]:
    """Divide the time among scenarios.

    Args:
        chosen: their ids.
        profile: whose times are used.
        budget: seconds for all of them together; None for the profile's own times.
    """
    own = {name: SCENARIOS[name].seconds_in(profile) for name in chosen}
    factor = budget / sum(own.values()) if budget is not None and own else 1.0
    return {name: seconds * factor for name, seconds in own.items()}
