"""What a replay was answered otherwise than the recording: codes, what statuses say of states and exit codes,
and what lists hold; and how long each RPC took in both.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from critests.api import api_pb2 as cri
from critests.audit.language.descriptors import rpcs
from critests.traces.replaying import SKIPPED, Played

ABSENT = "not in the list"


@dataclass(frozen=True)
class Difference:
    """An answer that differs.

    Attributes:
        at: of the recorded call, in seconds since the recording began.
        rpc: its name.
        what: differs: `code`, a field of a status, or the entry of a list, by its recorded id.
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


def differences(played: Sequence[Played], ids: Mapping[str, str]) -> Iterator[Difference]:
    """Give what differs, in the recorded order.

    Args:
        played: the calls.
        ids: of what the replay has made, by the recorded ones; nothing else in a list is looked at.
    """
    recorded_ids = {own: recorded for recorded, own in ids.items()}
    for each in played:
        entry = each.recorded
        if each.code == SKIPPED:
            continue
        if entry.code != each.code:
            yield Difference(entry.at, entry.rpc, "code", entry.code, each.code)
        elif each.code == "OK":
            before = _told(entry.rpc, entry.response, {recorded: recorded for recorded in ids})
            now = _told(entry.rpc, each.response, recorded_ids)
            for name in sorted(before.keys() | now.keys()):
                was, is_now = before.get(name, ABSENT), now.get(name, ABSENT)
                if was != is_now:
                    yield Difference(entry.at, entry.rpc, name, was, is_now)


def _told(rpc: str, plain: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, str]:
    """Return what of an answer must be the same on any node, by what it is about.

    Args:
        rpc: its name.
        plain: the answer.
        ids: recorded ids, by those that stand in the answer.
    """
    if rpc not in {"PodSandboxStatus", "ContainerStatus", "ListPodSandbox", "ListContainers"}:
        return {}
    # data leave out what is 0, which the first state of both kinds is
    answer: Any = json_format.ParseDict(dict(plain), rpcs()[rpc].response(), ignore_unknown_fields=True)
    if rpc == "PodSandboxStatus":
        return {"state": cri.PodSandboxState.Name(answer.status.state)}
    if rpc == "ContainerStatus":
        state = cri.ContainerState.Name(answer.status.state)
        return {"state": state, "exit code": str(answer.status.exit_code)}
    states = cri.PodSandboxState if rpc == "ListPodSandbox" else cri.ContainerState
    listed = answer.items if rpc == "ListPodSandbox" else answer.containers
    return {ids[each.id]: states.Name(each.state) for each in listed if each.id in ids}


def times(played: Sequence[Played]) -> list[tuple[str, int, float, float]]:
    """Return for each RPC how often it was played, and the medians of its seconds, recorded and played."""
    of_rpc: dict[str, list[Played]] = defaultdict(list)
    for each in played:
        if each.code != SKIPPED:
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
