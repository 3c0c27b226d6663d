"""The locustfile: load on a CRI runtime, in an open or a closed loop. `critests load` starts Locust with it.

Every cycle fires Locust's request event. With a rate, the latency counts from the intended start, which
avoids coordinated omission: a stall of the runtime shows in the latencies. The environment variable `TARGET`
names the file that describes the runtime.
"""

import locust

# isort: split
# Locust patches the standard library; all imports below must follow it.
import ctypes
import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # the package ships no types
import grpc
from grpc.experimental import gevent as grpc_gevent
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

from critests.benchmark.load.capacity import StepResult, decide
from critests.benchmark.load.cycles import Mix, StepFailed, WrongResponse, work_for
from critests.benchmark.load.load_target import TARGET, connect_target
from critests.benchmark.load.schedule import ArrivalProcess, intended_starts, share

LOGGER = logging.getLogger(__name__)
DRAIN_SECONDS = 60.0
"""Longest wait for cycles in flight after the last arrival."""
UNREACHABLE_SECONDS = 5.0
"""The runtime counts as unreachable after this time with UNAVAILABLE only."""
SPIN_SECONDS = 0.001
"""The timers of the event loop are up to a millisecond late; the last millisecond is polled."""
CYCLE, CALL, LATE = "cycle", "CRI", "late"
"""The event types: a whole cycle, one RPC, the delay of the load generator at the start of a cycle."""


class AboveBound(Exception):
    """A cycle succeeded but took longer than `--p99`: it counts as failed."""


class LoadProcess:
    """The load that this process generates."""

    # Locust's environment, whose options are untyped
    def __init__(self, environment: Any) -> None:  # noqa: ANN401 - see above
        self.environment = environment
        self.options = environment.parsed_options
        self.mix = Mix(self.options.mix)
        runner = environment.runner
        distributed = isinstance(runner, WorkerRunner)
        part = runner.worker_index if distributed else 0
        parts = max(1, self.options.expect_workers) if distributed else 1
        self.end = self.options.warm_up + (self.options.measured_seconds or math.inf)
        self._starts: Iterator[float] | None = None
        if self.options.rate:
            arrivals = ArrivalProcess(self.options.arrivals)
            starts = intended_starts(self.options.rate, arrivals, self.end, self.options.seed)
            self._starts = share(starts, part, parts)
        self._unavailable_since: float | None = None
        self.target = connect_target(Path(os.environ[TARGET]))
        self.work = work_for(self.mix, self.target, self.options.pods)
        self.work.set_up()
        self._zero = time.perf_counter() + 0.5

    @property
    def now(self) -> float:
        """Seconds since the start of the load."""
        return time.perf_counter() - self._zero

    def arrive(self) -> None:
        """Wait for the next intended start, without one in a closed loop, and run one cycle. Raises
        StopUser.
        """
        prepared = self.work.prepare()
        start = self.now if self._starts is None else next(self._starts, math.inf)
        while (wait := min(start, self.end) - self.now - SPIN_SECONDS) > 0:
            gevent.sleep(min(wait, 0.5))
            if self.environment.runner is None or self.environment.runner.state in {"stopping", "stopped"}:
                raise StopUser
        if start >= self.end:
            raise StopUser
        while self.now < start:
            gevent.sleep(0)
        warm = start < self.options.warm_up
        if self._starts is not None and not warm:
            self._fire(LATE, "start of a cycle", self.now - start, None)
        failure: Exception | None = None
        try:
            self.work.run(prepared, self._timed(warm=warm))
        except StepFailed as failed:
            failure = failed
        except gevent.GreenletExit:
            failure = StepFailed("UNFINISHED")
            raise
        finally:
            seconds = self.now - start
            if failure is None and 0 < self.options.p99 < seconds:
                failure = AboveBound(f"took more than {self.options.p99:g} s")
            if not warm:
                self._fire(CYCLE, self.mix.headline, seconds, failure)
            self.work.clean_up(prepared)

    def _timed(self, *, warm: bool) -> Callable[..., Any]:
        """Return the function that makes and times the calls of one cycle."""

        # the stubs' methods have no common type
        def call(rpc: str, method: Any, request: Any, check: Callable[[Any], object] = bool) -> Any:  # noqa: ANN401 - see above
            begin, failure, response = time.perf_counter(), None, None
            try:
                response = method(request, timeout=self.target.deadlines.seconds(rpc, request))
            except grpc.RpcError as error:
                failure = StepFailed(error.code().name)
                self._watch(error.code())
            seconds = time.perf_counter() - begin
            if failure is None:
                self._unavailable_since = None
                if check is not bool and not check(response):
                    failure = WrongResponse("the response shows that the operation did not happen")
            if not warm:
                self._fire(CALL, rpc, seconds, failure)
            if failure is not None:
                raise failure
            return response

        return call

    def _watch(self, code: grpc.StatusCode) -> None:
        """End the run when the runtime stays unavailable."""
        if code is not grpc.StatusCode.UNAVAILABLE:
            self._unavailable_since = None
            return
        self._unavailable_since = self.now if self._unavailable_since is None else self._unavailable_since
        if self.now - self._unavailable_since >= UNREACHABLE_SECONDS:
            LOGGER.error("the runtime stopped responding")
            self.end = self.now
        gevent.sleep(0.1)  # such calls fail at once, so the next cycles would follow without a pause

    def _fire(self, kind: str, name: str, seconds: float, failure: Exception | None) -> None:
        self.environment.events.request.fire(
            request_type=kind,
            name=name,
            response_time=max(0.0, seconds) * 1000,
            response_length=0,
            context={},
            exception=failure,
        )


class CriUser(locust.User):
    """Runs one cycle after another: immediately in a closed loop, at the next intended start in an open
    loop.
    """

    wait_time = locust.constant(0)
    process: LoadProcess | None = None

    @locust.task
    def arrive(self) -> None:
        """Run one cycle."""
        if self.process is None:
            raise StopUser
        self.process.arrive()


class Rate(locust.LoadTestShape):
    """Enough users for the rate, or `--users`, until the run time is over and no cycle is in flight."""

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        """Return the number of users and how many start per second; None at the end."""
        assert self.runner is not None
        options: Any = self.runner.environment.parsed_options
        # Locust does not pass its own options, such as --run-time, to its workers
        options.measured_seconds = options.run_time or 0
        now = time.perf_counter() - self.start_time
        end = options.warm_up + (options.run_time or math.inf)
        if now > end + DRAIN_SECONDS or (now > 2 and not self.runner.user_count):
            return None
        if options.p99:
            stats = self.runner.stats.get(Mix(options.mix).headline, CYCLE)
            if decide(stats.num_requests, stats.num_failures) is not StepResult.UNDECIDED:
                return None
        users = options.num_users or 1
        if options.rate:
            # Little's law: enough for cycles of five seconds at this rate
            users = options.in_flight or min(max(200, math.ceil(options.rate * 5)), 2000)
        return users, float(users)


@locust.events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def add_options(parser: Any) -> None:  # noqa: ANN401 - Locust's own parser
    """Add the options of the load."""
    group = parser.add_argument_group("Load on a CRI runtime")
    group.add_argument("--mix", choices=[str(mix) for mix in Mix], default="pod", help="work of one cycle")
    group.add_argument(
        "--rate",
        type=float,
        default=0.0,
        help="open loop: cycles per second of all workers; 0: closed loop with --users",
    )
    group.add_argument(
        "--arrivals",
        choices=[str(kind) for kind in ArrivalProcess],
        default="constant",
        help="distribution of the arrivals",
    )
    group.add_argument("--warm-up", type=float, default=5.0, help="seconds of load before the run time")
    group.add_argument("--seed", type=int, default=0, help="seed of random arrivals")
    group.add_argument(
        "--in-flight", type=int, default=0, help="limit of cycles in flight; 0: 5 s of arrivals"
    )
    group.add_argument(
        "--pods", type=int, default=1, help="pods that exist during the load (mix container, exec, list)"
    )
    group.add_argument(
        "--p99",
        type=float,
        default=0.0,
        help="bound of p99 in seconds: a longer cycle counts as failed; the run ends when decided",
    )


@locust.events.init.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def end_with_parent(environment: "locust.env.Environment", **_: object) -> None:
    """Exit with the parent process, which cleans up, however it exits."""
    if not isinstance(environment.runner, MasterRunner):
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        grpc_gevent.init_gevent()


@locust.events.test_start.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def prepare(environment: "locust.env.Environment", **_: object) -> None:
    """Create the pods that exist during the load."""
    if not isinstance(environment.runner, MasterRunner):
        try:
            CriUser.process = LoadProcess(environment)
        except grpc.RpcError as error:
            LOGGER.error("set-up of the pods failed: %s: %s", error.code().name, error.details())  # noqa: TRY400 - a fact about the runtime, which needs no traceback
