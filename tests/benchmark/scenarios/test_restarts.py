"""After a restart both connections of a side must reach the new daemon."""

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.scenarios import daemon_restarts
from critests.benchmark.scenarios.daemon_restarts import reconnect, restarting
from critests.client.endpoint import Endpoint
from critests.node.starting.throwaway import ThrowawayRuntime
from tests.benchmark.fakes import FakeTarget, new_meter
from tests.criserver import CriServer, serve
from tests.refused import Refused

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


@pytest.fixture
def served() -> Iterator[Any]:
    """A side whose endpoint is a CRI server, and whose runtime only pretends to be killed and started."""
    with serve(CriServer()) as address:
        endpoint = Endpoint.parse(address)
        target = side(Version(0), Version(0))
        target.context.endpoint = endpoint
        target.context.owned = SimpleNamespace(
            runtime=SimpleNamespace(pid=77, kill=lambda _: None, start_again=lambda: None)
        )
        yield target


def restart(target: Any, container_ids: list[str]) -> Meter:  # noqa: ANN401 - as much of a target as is asked
    """Restart the runtime of a side once."""
    meter = new_meter()
    population: Any = SimpleNamespace(container_ids=container_ids)
    with restarting(population, signal.SIGKILL)(target) as cycle:
        cycle(meter)
    return meter


def test_further_conditions_of_status_may_be_false(served: Any) -> None:  # noqa: ANN401 - as above
    meter = restart(served, [])

    assert set(meter.series) == {"restart to Version", "restart to ready", "restart to complete lists"}


def test_later_cycles_use_the_new_daemon_after_an_incomplete_list(
    served: Any,  # noqa: ANN401 - as above
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon_restarts, "RESTART_SECONDS", 0.5)

    with pytest.raises(NotDone, match="complete lists"):
        restart(served, ["a container that is lost"])

    assert served.context.daemon_pid == 77
