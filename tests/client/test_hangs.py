"""RPCs that hang: one deadline is used up, then a probe now and then."""

import threading
import time
from collections.abc import Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client import hangs as rules
from critests.client.connection import Connection
from critests.client.deadlines import Deadlines
from critests.client.hangs import Hangs, StillHangs
from critests.client.under_way import UnderWay
from tests.criserver import CriServer
from tests.criserver.connected import connected

STATUS = cri.StatusRequest()


@pytest.fixture
def server() -> CriServer:
    return CriServer(wrong={"hangs=Status"})


@pytest.fixture
def connection(server: CriServer) -> Iterator[Connection]:
    with connected(server, deadlines=Deadlines(0.1)) as opened:
        yield opened


def hang(connection: Connection) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        connection.runtime.Status(STATUS)
    assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    return error.value


def test_a_hang_costs_a_deadline_and_a_probe(server: CriServer, connection: Connection) -> None:
    errors = [hang(connection) for _ in range(20)]

    assert server.calls.count("Status") == 2
    assert [isinstance(error, StillHangs) for error in errors] == [False, *[True] * 19]
    assert errors[-1].details() == "Status did not answer within 1 s, and was not called again"


def test_other_rpcs_are_called_during_a_hang(connection: Connection) -> None:
    hang(connection)
    hang(connection)

    assert connection.runtime.Version(cri.VersionRequest()).runtime_name


def test_a_hang_can_be_forgotten(server: CriServer, connection: Connection) -> None:
    hang(connection)
    hang(connection)
    calls = server.calls.count("Status")
    connection.hangs.forget()

    assert not isinstance(hang(connection), StillHangs)

    assert server.calls.count("Status") == calls + 1


def test_no_deadline_is_longer_than_the_longest() -> None:
    bounded = Deadlines(1.0, most=5.0)
    assert bounded.seconds("PullImage") == 5.0
    assert bounded.seconds("StopContainer", cri.StopContainerRequest(timeout=60)) == 5.0
    assert Deadlines(0.1, most=5.0).seconds("Status") == 1.0


def test_an_rpc_that_responds_again_is_called_as_before(server: CriServer, connection: Connection) -> None:
    hang(connection)
    server.mend()

    connection.runtime.Status(STATUS)

    assert connection.hangs.known() == {}


def test_the_caller_s_own_deadline_does_not_show_a_hang(connection: Connection) -> None:
    for _ in range(3):
        with pytest.raises(grpc.RpcError):
            connection.runtime.Status(STATUS, timeout=0.01)

    assert connection.hangs.known() == {}
    assert not connection.hangs.calls


def test_hanging_rpc_is_probed_again_after_a_pause(
    server: CriServer, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "PAUSES_SECONDS", (0.0, 1000.0))
    for _ in range(10):
        hang(connection)

    assert server.calls.count("Status") == 3, "the deadline, a probe, and a probe after the first pause"


def test_hang_of_a_call_with_a_future_is_noticed(connection: Connection) -> None:
    error = connection.runtime.Status.future(STATUS).exception()

    assert error is not None
    deadline = time.monotonic() + 30
    while not connection.hangs.known():
        assert time.monotonic() < deadline, "gRPC runs callbacks after the caller has the result"


def test_a_hang_of_another_process_is_probed_first() -> None:
    hangs = Hangs(Deadlines(0.02))
    hangs.adopt({"Status": 10.0})

    assert hangs.allow("Status", STATUS, None).seconds == pytest.approx(0.1)
    with pytest.raises(StillHangs):
        hangs.allow("Status", STATUS, None)


def test_a_probe_allows_the_timeout_of_the_request() -> None:
    hangs = Hangs()
    hangs.adopt({"StopContainer": 130.0})

    assert hangs.allow("StopContainer", cri.StopContainerRequest(timeout=30), None).seconds == 35


def test_pending_time_is_counted_once_for_concurrent_calls() -> None:
    under_way, go = UnderWay(), threading.Barrier(3)

    def call() -> None:
        under_way.begin()
        go.wait()
        go.wait()
        under_way.end()

    threads = [threading.Thread(target=call) for _ in range(2)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    go.wait()
    assert under_way.calls == 2
    go.wait()
    for thread in threads:
        thread.join()

    assert under_way.calls == 0
    assert 0 < under_way.seconds <= time.perf_counter() - begun
