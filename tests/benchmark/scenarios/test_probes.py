"""Probes of many containers: when they are due, in whose turn, and that each says its own."""

from types import SimpleNamespace
from typing import cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.test_probes import due, probing
from tests.benchmark.fakes import new_meter


class Probed:
    """A runtime that says what a probe prints, or always the same."""

    def __init__(self, always: bytes = b"") -> None:
        self.asked: list[str] = []
        self._always = always

    def ExecSync(self, request: cri.ExecSyncRequest, timeout: float) -> cri.ExecSyncResponse:  # noqa: N802 - the RPC's name
        assert timeout > 0
        self.asked.append(request.container_id)
        return cri.ExecSyncResponse(stdout=self._always or f"{request.cmd[1]}\n".encode())


def test_probes_are_spread_evenly() -> None:
    assert due(4, 2) == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]


def test_a_short_schedule_of_probes_has_a_few_nevertheless() -> None:
    assert due(0.5, 0.1) == [0, 2, 4]


def test_containers_are_probed_in_turn() -> None:
    probed, meter = Probed(), new_meter()
    cycle = probing(cast("Target", SimpleNamespace(runtime=probed)), ["a", "b", "c"])

    for _ in range(5):
        cycle(meter)

    assert probed.asked == ["a", "b", "c", "a", "b"]
    assert len(meter.series["ExecSync"].value) == 5


def test_the_output_of_another_probe_is_detected() -> None:
    cycle = probing(cast("Target", SimpleNamespace(runtime=Probed(b"7\n"))), ["a"])

    with pytest.raises(NotDone, match="not its number"):
        cycle(new_meter())
