"""A locustfile: load on a CRI runtime, an open loop or a closed one. `critests load` starts Locust with it.

Every cycle is fired as Locust's request event with the latency from its intended start where there is a rate,
so that a runtime that stalls is seen to stall. What the runtime is stands in the file that `TARGET` names.
"""

import locust

# isort: split
# Locust patches the standard library; everything below must be imported after that.
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
from critests.benchmark.load.cycles import Mix, StepFailed, WrongAnswer, work_for
from critests.benchmark.load.load_target import TARGET, site_of
from critests.benchmark.load.schedule import ArrivalProcess, intended_starts, share

LOGGER = logging.getLogger(__name__)
DRAIN_SECONDS = 60.0
"""How long after the last arrival is waited for what is under way."""
GONE_SECONDS = 5.0
"""The runtime is gone after this long with nothing but UNAVAILABLE."""
EARLY_SECONDS = 0.001
"""The event loop's timers are up to a millisecond late; the rest of the time is waited for in turns."""
CYCLE, CALL, LATE = "cycle", "CRI", "late"
"""The types of the events: a whole cycle, one RPC, how late the load generator began a cycle."""


class AboveBound(Exception):
    """A cycle succeeded and took longer than `--p99`: it counts as failed."""


class LoadProcess:
    """What this process puts on the runtime."""

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
        self._refused_since: float | None = None
        self.site = site_of(Path(os.environ[TARGET]))
        self.work = work_for(self.mix, self.site, self.options.pods)
        self.work.stand()
        self._zero = time.perf_counter() + 0.5

    @property
    def now(self) -> float:
        """Seconds since the load began."""
        return time.perf_counter() - self._zero

    def arrive(self) -> None:
        """Wait for the next intended start, or none in a closed loop, and do one cycle. Raises StopUser."""
        prepared = self.work.prepare()
        start = self.now if self._starts is None else next(self._starts, math.inf)
        while (wait := min(start, self.end) - self.now - EARLY_SECONDS) > 0:
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
            self.work.tidy(prepared)

    def _timed(self, *, warm: bool) -> Callable[..., Any]:
        """Return what makes the calls of one cycle."""

        # the stubs' methods have no common type
        def call(rpc: str, method: Any, request: Any, right: Callable[[Any], object] = bool) -> Any:  # noqa: ANN401 - see above
            begun, failure, answer = time.perf_counter(), None, None
            try:
                answer = method(request, timeout=self.site.deadlines.seconds(rpc, request))
            except grpc.RpcError as error:
                failure = StepFailed(error.code().name)
                self._watch(error.code())
            seconds = time.perf_counter() - begun
            if failure is None:
                self._refused_since = None
                if right is not bool and not right(answer):
                    failure = WrongAnswer("the answer shows that it did not happen")
            if not warm:
                self._fire(CALL, rpc, seconds, failure)
            if failure is not None:
                raise failure
            return answer

        return call

    def _watch(self, code: grpc.StatusCode) -> None:
        """End the run when nobody answers any more."""
        if code is not grpc.StatusCode.UNAVAILABLE:
            self._refused_since = None
            return
        self._refused_since = self.now if self._refused_since is None else self._refused_since
        if self.now - self._refused_since >= GONE_SECONDS:
            LOGGER.error("the runtime stopped answering")
            self.end = self.now
        gevent.sleep(0.1)

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
    """Does one cycle after another: at once in a closed loop, at the next intended start in an open one."""

    wait_time = locust.constant(0)
    process: LoadProcess | None = None

    @locust.task
    def arrive(self) -> None:
        """Do one cycle."""
        if self.process is None:
            raise StopUser
        self.process.arrive()


class Rate(locust.LoadTestShape):
    """Enough users for the rate, or `--users`, until the run time is over and nothing is under way."""

    use_common_options = True

    def tick(self) -> tuple[int, float] | None:
        """Return the users and how many begin a second; None at the end."""
        assert self.runner is not None
        options: Any = self.runner.environment.parsed_options
        # Locust hands its workers only options that it does not know
        options.measured_seconds = options.run_time or 0
        now = time.perf_counter() - self.start_time
        end = options.warm_up + (options.run_time or math.inf)
        if now > end + DRAIN_SECONDS or (now > 2 and not self.runner.user_count):
            return None
        if options.p99:
            found = self.runner.stats.get(Mix(options.mix).headline, CYCLE)
            if decide(found.num_requests, found.num_failures) is not StepResult.UNDECIDED:
                return None
        users = options.num_users or 1
        if options.rate:
            users = options.in_flight or min(max(200, math.ceil(options.rate * 5)), 2000)
        return users, float(users)


@locust.events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def add_options(parser: Any) -> None:  # noqa: ANN401 - Locust's own parser
    """Add what the load is."""
    group = parser.add_argument_group("Load on a CRI runtime")
    group.add_argument("--mix", choices=[str(mix) for mix in Mix], default="pod", help="what one cycle does")
    group.add_argument(
        "--rate", type=float, default=0.0, help="open loop: cycles per second of all workers; 0: --users"
    )
    group.add_argument(
        "--arrivals",
        choices=[str(kind) for kind in ArrivalProcess],
        default="constant",
        help="how they are spread",
    )
    group.add_argument("--warm-up", type=float, default=5.0, help="seconds of load before the run time")
    group.add_argument("--seed", type=int, default=0, help="of random arrivals")
    group.add_argument("--in-flight", type=int, default=0, help="most cycles under way; 0: 5 s of arrivals")
    group.add_argument("--pods", type=int, default=1, help="that stand for container, exec and list")
    group.add_argument(
        "--p99",
        type=float,
        default=0.0,
        help="seconds: a longer cycle counts as failed, and it ends when sure",
    )


@locust.events.init.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def look_after(environment: "locust.env.Environment", **_: object) -> None:
    """End with the process that cleans up, however that ends."""
    if not isinstance(environment.runner, MasterRunner):
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, prctl(2)
        grpc_gevent.init_gevent()


@locust.events.test_start.add_listener  # type: ignore[untyped-decorator]  # Locust's own
def prepare(environment: "locust.env.Environment", **_: object) -> None:
    """Make what stands during the load."""
    if not isinstance(environment.runner, MasterRunner):
        try:
            CriUser.process = LoadProcess(environment)
        except grpc.RpcError as error:
            LOGGER.error("what should stand could not be made: %s: %s", error.code().name, error.details())  # noqa: TRY400 - a fact about the runtime, which needs no traceback
