"""After a restart both connections of a side must reach the new daemon."""

from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.scenarios import daemon_restarts
from critests.benchmark.scenarios.daemon_restarts import reconnect
from critests.node.starting.throwaway import ThrowawayRuntime
from tests.benchmark.fakes import FakeTarget, Refused

GONE = Refused(grpc.StatusCode.UNAVAILABLE)


class Version:
    """A stub whose first calls fail with UNAVAILABLE."""

    def __init__(self, failing: int) -> None:
        self.left = failing
        self.asked = 0

    def Version(self, _request: object, timeout: float = 0.0) -> cri.VersionResponse:  # noqa: N802 - as the stub has it
        assert timeout >= 0
        self.asked += 1
        self.left -= 1
        if self.left >= 0:
            raise GONE
        return cri.VersionResponse(version="0.1.0")


def side(plain: Version, recorded: Version) -> Any:  # noqa: ANN401 - as much of a target as is asked
    target: Any = FakeTarget(pid=1)
    target.name = "containerd 2.1.4"
    target.runtime = plain
    target.connection.runtime = recorded
    return target


def test_both_connections_are_polled_until_they_respond() -> None:
    plain, recorded = Version(3), Version(2)
    target = side(plain, recorded)

    reconnect(target, cast("ThrowawayRuntime", SimpleNamespace(pid=77)))

    assert (plain.asked, recorded.asked) == (4, 3)
    assert target.context.daemon_pid == 77


def test_a_daemon_that_does_not_respond_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_restarts, "RESTART_SECONDS", 0.05)

    with pytest.raises(NotDone, match=r"containerd 2\.1\.4 did not respond within"):
        reconnect(side(Version(0), Version(10_000)), cast("ThrowawayRuntime", SimpleNamespace(pid=77)))
