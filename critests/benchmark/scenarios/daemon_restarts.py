"""Restart of the daemon while its pods keep running: time until it responds, is ready, and lists all
containers.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import STATUS_SECONDS, Target
from critests.benchmark.scenarios.population import Population
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.responses.status_responses import REQUIRED_CONDITIONS
from critests.run.outcomes import blocked

POLL_SECONDS = 0.005
RESTART_SECONDS = 60.0


def throwaway_runtime_of(target: Target) -> ThrowawayRuntime:
    """Return the throwaway runtime of this run; block the scenario if the run has none."""
    owned = target.context.owned
    if owned is None or owned.runtime is None:
        blocked("needs a private runtime (--node): the suite does not restart other runtimes")
    return owned.runtime


def restarting(population: Population, signal_number: signal.Signals, name: str = "restart") -> Workload:
    """Return the workload that stops the daemon by a signal and starts it again, while containers run.

    Args:
        population: the containers, all of which the lists must hold again.
        signal_number: SIGTERM as in an upgrade, SIGKILL as in a crash.
        name: prefix of the operations: `restart to Version`, `restart to ready`, `restart to complete lists`.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = throwaway_runtime_of(target)

        def cycle(meter: Meter) -> None:
            runtime.kill(signal_number)
            _restart(meter, target, runtime, set(population.container_ids), name)

        yield cycle

    return prepared


def _restart(
    meter: Meter, target: Target, runtime: ThrowawayRuntime, container_ids: Collection[str], name: str
) -> None:
    """Start the daemon again, and poll it on new connections: on an existing one, gRPC's reconnection backoff
    would be measured.
    """
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(runtime.start_again)
        try:
            _until(meter, f"{name} to Version", begin, lambda: _version_responds(target, started))
            with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
                _until(meter, f"{name} to ready", begin, lambda: _ready(fresh))
                _until(
                    meter,
                    f"{name} to complete lists",
                    begin,
                    lambda: _listed(fresh).issuperset(container_ids),
                )
        finally:
            if started.exception() is None:  # after a wait that failed too: later cycles use the new daemon
                reconnect(target, runtime)
        started.result()


def reconnect(target: Target, runtime: ThrowawayRuntime) -> None:
    """Store the PID of a side's new daemon, and wait until both of its connections reach it: a removal on a
    connection that does not would leave the object behind.

    Raises:
        NotDone: a connection did not reach it within a minute.
    """
    target.context.daemon_pid = runtime.pid
    deadline = time.monotonic() + RESTART_SECONDS
    request = cri.VersionRequest()
    # the recorded connection sets its own deadlines, and takes a call that exceeds a shorter one for a hang
    for version in (
        lambda: target.runtime.Version(request, timeout=STATUS_SECONDS).version,
        lambda: target.connection.runtime.Version(request).version,
    ):
        while not _responds(version):
            if time.monotonic() > deadline:
                msg = f"{target.name} did not respond within {RESTART_SECONDS:g} s after its restart"
                raise NotDone(msg)
            time.sleep(POLL_SECONDS)


def _responds(version: Callable[[], str]) -> bool:
    with contextlib.suppress(grpc.RpcError):  # the connection has not reconnected yet
        return bool(version())
    return False


def _version_responds(target: Target, started: Future[None]) -> bool:
    if started.done() and (error := started.exception()) is not None:
        raise NotDone(str(error)) from error
    with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
        return bool(fresh.runtime.Version(cri.VersionRequest(), timeout=1).version)


def _ready(fresh: PlainConnection) -> bool:
    """Whether the kubelet would use the runtime: other conditions may be false for good, such as that there
    are no deprecation warnings.
    """
    conditions = fresh.runtime.Status(cri.StatusRequest(), timeout=1).status.conditions
    return {each.type for each in conditions if each.status}.issuperset(REQUIRED_CONDITIONS)


def _listed(fresh: PlainConnection) -> set[str]:
    return {
        each.id for each in fresh.runtime.ListContainers(cri.ListContainersRequest(), timeout=10).containers
    }


def _until(meter: Meter, operation: str, begin: float, holds: Callable[[], bool]) -> None:
    """Poll until a condition holds, and store the time since the start of the restart."""
    while time.perf_counter() - begin < RESTART_SECONDS:
        with contextlib.suppress(grpc.RpcError):  # the daemon does not respond yet
            if holds():
                meter.add(operation, time.perf_counter() - begin, begin)
                return
        time.sleep(POLL_SECONDS)
    msg = f"{operation}: not within {RESTART_SECONDS:g} s after a restart"
    raise NotDone(msg)
