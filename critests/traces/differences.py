"""What a replay was answered otherwise than the recording: codes, states and exit codes; and how long each
RPC took in both.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from critests.traces.replaying import SKIPPED, Played

TOLD = ("state", "exit_code")
"""Of the statuses of sandboxes and containers; all else differs between any two nodes, or in time."""


@dataclass(frozen=True)
class Difference:
    """An answer that differs.

    Attributes:
        at: of the recorded call, in seconds since the recording began.
        rpc: its name.
        what: differs: `code`, or a field of a status.
        recorded: what it was.
        played: what it is.
    """

    at: float
    rpc: str
    what: str
    recorded: str
    played: str

    def __str__(self) -> str:
        return f"{self.at:.3f} s: {self.rpc}: {self.what} was {self.recorded} and is {self.played}"


def differences(played: Sequence[Played]) -> Iterator[Difference]:
    """Give what differs, in the recorded order."""
    for each in played:
        entry = each.recorded
        if each.code == SKIPPED:
            continue
        if entry.code != each.code:
            yield Difference(entry.at, entry.rpc, "code", entry.code, each.code)
            continue
        before, now = entry.response.get("status", {}), each.response.get("status", {})
        for name in TOLD if entry.rpc in {"PodSandboxStatus", "ContainerStatus"} else ():
            if before.get(name) != now.get(name):
                yield Difference(entry.at, entry.rpc, name, str(before.get(name)), str(now.get(name)))


def times(played: Sequence[Played]) -> list[tuple[str, int, float, float]]:
    """Return for each RPC how often it was played, and the medians of its seconds, recorded and played."""
    of_rpc: dict[str, list[Played]] = defaultdict(list)
    for each in played:
        if each.code == SKIPPED:
            continue
        of_rpc[each.recorded.rpc].append(each)
    return [
        (
            rpc,
            len(group),
            statistics.median(each.recorded.seconds for each in group),
            statistics.median(each.seconds for each in group),
        )
        for rpc, group in sorted(of_rpc.items())
    ]
