"""A daemon that ends and comes back while its pods run on: until it answers, until it is ready, until its
lists are complete.
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
from critests.benchmark.measuring.target import LOOK_SECONDS, Target
from critests.benchmark.scenarios.population import Population
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.run.outcomes import blocked

POLL_SECONDS = 0.005
BACK_SECONDS = 60.0


def own_runtime(target: Target) -> ThrowawayRuntime:
    """Return the runtime that this run started; anybody else's is not ours to restart."""
    owned = target.context.owned
    if owned is None or owned.runtime is None:
        blocked("needs a throwaway runtime (--node): this one is not ours to restart")
    return owned.runtime


def restarting(population: Population, signal_number: signal.Signals, name: str = "restart") -> Workload:
    """Return the workload that ends the daemon by a signal and starts it again, with a population standing.

    Args:
        population: what has to be in the lists again.
        signal_number: SIGTERM as an upgrade does it, SIGKILL as a crash.
        name: what the operations begin with: `restart to Version`, `restart to ready`, `restart to complete
            lists`.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = own_runtime(target)

        def cycle(meter: Meter) -> None:
            runtime.kill(signal_number)
            _come_back(meter, target, runtime, set(population.container_ids), name)

        yield cycle

    return prepared


def _come_back(
    meter: Meter, target: Target, runtime: ThrowawayRuntime, wanted: Collection[str], name: str
) -> None:
    """Start the daemon again, and ask meanwhile on connections of our own: gRPC's own wait between attempts
    would be measured.
    """
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(runtime.start_again)
        _until(meter, f"{name} to Version", begin, lambda: _answers(target, started))
        with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
            _until(meter, f"{name} to ready", begin, lambda: _ready(fresh))
            _until(meter, f"{name} to complete lists", begin, lambda: _listed(fresh).issuperset(wanted))
        started.result()
    found_again(target, runtime)


def found_again(target: Target, runtime: ThrowawayRuntime) -> None:
    """Let a side know its new daemon, and wait until both of its connections have found it: what is removed
    on one that has not would stay.

    Raises:
        NotDone: they did not find it in a minute.
    """
    target.context.daemon_pid = runtime.pid
    deadline = time.monotonic() + BACK_SECONDS
    request = cri.VersionRequest()
    # the recorded one has a deadline of its own, and takes a call that outlasts a shorter one for a hang
    for version in (
        lambda: target.runtime.Version(request, timeout=LOOK_SECONDS).version,
        lambda: target.connection.runtime.Version(request).version,
    ):
        while not _found(version):
            if time.monotonic() > deadline:
                msg = f"{target.name} was started again, and is not found in {BACK_SECONDS:g} s"
                raise NotDone(msg)
            time.sleep(POLL_SECONDS)


def _found(version: Callable[[], str]) -> bool:
    with contextlib.suppress(grpc.RpcError):  # a connection that has not noticed yet
        return bool(version())
    return False


def _answers(target: Target, started: Future[None]) -> bool:
    if started.done() and (error := started.exception()) is not None:
        raise NotDone(str(error)) from error
    with contextlib.closing(plain_stubs(target.context.endpoint)) as fresh:
        return bool(fresh.runtime.Version(cri.VersionRequest(), timeout=1).version)


def _ready(fresh: PlainConnection) -> bool:
    conditions = fresh.runtime.Status(cri.StatusRequest(), timeout=1).status.conditions
    return bool(conditions) and all(each.status for each in conditions)


def _listed(fresh: PlainConnection) -> set[str]:
    return {
        each.id for each in fresh.runtime.ListContainers(cri.ListContainersRequest(), timeout=10).containers
    }


def _until(meter: Meter, operation: str, begin: float, holds: Callable[[], bool]) -> None:
    """Ask again and again until something holds, and keep how long that was after the restart began."""
    while time.perf_counter() - begin < BACK_SECONDS:
        with contextlib.suppress(grpc.RpcError):  # a daemon that is not back yet; what counts is when it is
            if holds():
                meter.keep(operation, time.perf_counter() - begin, begin)
                return
        time.sleep(POLL_SECONDS)
    msg = f"{operation}: not within {BACK_SECONDS:g} s after a restart"
    raise NotDone(msg)
