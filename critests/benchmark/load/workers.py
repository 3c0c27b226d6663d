"""A worker process, `python -m critests.benchmark.load.workers PLAN`: puts its share of the load on the
runtime and tells the master.
"""

import locust

# isort: split
# Locust patches the standard library; everything below must be imported after that.
import gc
import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # the package ships no types
import gevent.event  # type: ignore[import-untyped]  # the package ships no types
import gevent.pool  # type: ignore[import-untyped]  # the package ships no types
import gevent.threadpool  # type: ignore[import-untyped]  # the package ships no types
import grpc
import locust.runners
from grpc.experimental import gevent as grpc_gevent
from locust.env import Environment

from critests.benchmark.load.cycles import WRONG_ANSWER, Site, StepFailed, Work, work_for
from critests.benchmark.load.parcels import OK, Tally
from critests.benchmark.load.plan import (
    DONE,
    HALT,
    LISTENING,
    PARCEL,
    PREPARE,
    PREPARED,
    STEP,
    Load,
    Mix,
    WorkerPlan,
    read_plan,
)
from critests.benchmark.load.processes import die_with_parent
from critests.benchmark.load.schedule import intended_starts, share
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, TlsFiles
from critests.client.plain import plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.record.codec import from_plain
from critests.record.samples import LATE_SECONDS

LOGGER = logging.getLogger(__name__)
REPORT_SECONDS = 1.0
LEAD_SECONDS = 0.5
"""From the order to begin to the first intended start."""
EARLY_SECONDS = 0.001
"""The event loop's timers are up to a millisecond late; the rest of the time is waited for in turns with the
other cycles.
"""
HALTED_SECONDS = 10.0
"""How long what is under way may take when the user stops the run."""
GONE_SECONDS, GONE_CALLS = 5.0, 5
"""The runtime is believed to be gone after this long, and this many calls in a row, with UNAVAILABLE."""
UNFINISHED, NOT_STARTED, CLIENT_ERROR = "UNFINISHED", "NOT_STARTED", "CLIENT_ERROR"
"""Stand among the codes: still under way when the wait was over; never begun because too many were under way;
our own mistake.
"""


class Step:
    """One step in this worker."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.load = from_plain(Load, order["load"])
        self.part, self.parts = int(order["part"]), int(order["parts"])
        self.bound = float(order["bound"])
        self.tally = Tally(int(order["number"]), self.load, self.parts)
        self.pool = gevent.pool.Pool(max(1, self.load.in_flight // self.parts))
        self.halted, self.over, self.driven = gevent.event.Event(), gevent.event.Event(), gevent.event.Event()
        self.claimed = False
        self.busy = 0
        self.drain = self.load.drain
        self._zero = time.perf_counter() + LEAD_SECONDS

    @property
    def now(self) -> float:
        """Seconds since the step's beginning."""
        return time.perf_counter() - self._zero

    @property
    def end(self) -> float:
        """When the last arrival is due."""
        return self.load.warm_up + self.load.duration

    @property
    def on(self) -> bool:
        """Whether new cycles may begin."""
        return not self.halted.is_set() and self.now < self.end

    def halt(self, drain: float) -> None:
        """Begin no more cycles."""
        if not self.halted.is_set():
            self.tally.halted = True
            self.tally.seconds = max(0.0, min(self.now, self.end) - self.load.warm_up)
            self.drain = drain
            self.halted.set()


class Worker:
    """What this process does."""

    def __init__(self, plan: WorkerPlan, environment: Environment) -> None:
        self.plan = plan
        self.environment = environment
        run = RunIdentity(plan.run)
        self.site = Site(
            plain_stubs(
                Endpoint.parse(plan.endpoint),
                Endpoint.parse(plan.image_endpoint),
                TlsFiles(*(Path(file) if file else None for file in plan.tls)),
            ),
            RequestBuilder(
                run, run.data_directory / "logs", CgroupParents(run, CgroupDriver(plan.cgroup_driver))
            ),
            ImageName(plan.image, plan.image_written),
            plan.handler,
            Deadlines(plan.deadline_scale),
        )
        self.works: dict[tuple[Mix, int], Work[Any]] = {}
        self.work: Work[Any] | None = None
        self.step: Step | None = None
        self.begun = gevent.event.Event()
        self._refused, self._refused_since = 0, 0.0
        # a thread: removing a file may wait for the disk, and the loop must not
        self._sweeper = gevent.threadpool.ThreadPool(1)

    @property
    def runner(self) -> locust.runners.WorkerRunner:
        """Locust's own part of this process."""
        assert isinstance(self.environment.runner, locust.runners.WorkerRunner)
        return self.environment.runner

    def prepare(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        """Make what stands during the load, and tell the master."""
        del environment
        load = from_plain(Load, msg.data)
        problem = ""
        try:
            self.work = work_for(load.mix, self.site, load.pods)
            self.work.stand()
        except grpc.RpcError as error:
            problem = (
                f"what should stand during the load could not be made on {self.plan.endpoint}:"
                f" {error.code().name}: {error.details()}"
            )
        self.runner.send_message(PREPARED, {"problem": problem, "identity": self.plan.identity})

    def begin(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        """Begin a step."""
        del environment
        gc.collect()
        gc.freeze()
        self.step = step = Step(msg.data)
        self._refused = 0
        self.begun.set()
        gevent.spawn(self._conclude, step)

    def halt(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        """End the step early."""
        del environment
        if self.step is not None:
            self.step.halt(float(msg.data))

    def leave(self) -> None:
        """End the step early, report, and end."""
        step = self.step
        if step is not None and not step.over.is_set():
            step.halt(HALTED_SECONDS)
            step.over.wait(HALTED_SECONDS + 2)
        # Locust leaves its events untyped
        self.environment.events.quitting.fire(environment=self.environment, reverse=True)  # type: ignore[no-untyped-call]  # see above
        self.runner.quit()

    def report(self, client_id: str, data: dict[str, Any]) -> None:
        """Add our own data to Locust's report."""
        del client_id
        if self.step is not None:
            data[PARCEL] = self.step.tally.parcel(self.step.now, self.step.bound)

    def take_part(self) -> None:
        """Be one user: put load on as long as there is a step, then wait for the next."""
        self.begun.wait()
        step = self.step
        assert step is not None
        if not step.load.open:
            self._loop(step)
        elif not step.claimed:
            step.claimed = True
            try:
                self._drive(step)
            finally:
                step.driven.set()
        step.over.wait()

    def _loop(self, step: Step) -> None:
        """Closed loop: one cycle after another."""
        assert self.work is not None
        gevent.sleep(max(0.0, -step.now))
        step.busy += 1
        try:
            while step.on:
                prepared = self.work.prepare()
                self._cycle(step, prepared, step.now, held_back=False)
        finally:
            step.busy -= 1

    def _drive(self, step: Step) -> None:
        """Open loop: begin a cycle at each intended start, whatever became of the others."""
        assert self.work is not None
        load, held_back = step.load, False
        for start in share(
            intended_starts(load.rate, load.arrivals, step.end, load.seed), step.part, step.parts
        ):
            prepared = self.work.prepare()
            wait = start - step.now - EARLY_SECONDS
            if wait > 0:
                step.halted.wait(wait)
            while step.now < start and not step.halted.is_set():
                gevent.sleep(0)
            # who comes late only because others had to wait before had to wait as well
            held_back = step.pool.full() or (held_back and step.now - start > LATE_SECONDS)
            while step.pool.full() and not step.halted.is_set() and step.now < step.end + step.drain:
                step.pool.wait_available(timeout=0.5)
            if step.halted.is_set():
                self.work.tidy(prepared)
                break
            if step.pool.full():
                self.work.tidy(prepared)
                step.tally.start(step.now - start, warm=start < load.warm_up, held_back=True)
                step.tally.cycle(
                    start, step.now - start, step.now - start, NOT_STARTED, warm=start < load.warm_up
                )
                continue
            step.pool.spawn(self._cycle, step, prepared, start, held_back=held_back)

    # each mix has its own
    def _cycle(self, step: Step, prepared: Any, start: float, *, held_back: bool) -> None:  # noqa: ANN401 - see above
        """Do one cycle and count it."""
        assert self.work is not None
        warm = start < step.load.warm_up
        late = max(0.0, step.now - start)
        step.tally.start(late, warm=warm, held_back=held_back)
        key = object()
        step.tally.under_way[key] = start
        code = OK
        try:
            self.work.run(prepared, self._timed(step, warm=warm))
        except StepFailed as failure:
            code = str(failure)
        except Exception:
            code = CLIENT_ERROR
            LOGGER.exception("a cycle went wrong")
        value = step.now - start
        step.tally.under_way.pop(key, None)
        if not step.over.is_set():
            step.tally.cycle(start, value, late, code, warm=warm)
            self._tell_locust("cycle", step.load.mix.headline, value, code)
        self.work.tidy(prepared)
        log = self.work.log(prepared)
        if log is not None:
            self._sweeper.spawn(log.unlink, missing_ok=True)

    def _timed(self, step: Step, *, warm: bool) -> Callable[..., Any]:
        """Return what makes the calls of one cycle."""
        deadlines = self.site.deadlines

        # the stubs' methods have no common type
        def call(rpc: str, method: Any, request: Any, right: Callable[[Any], object] | None = None) -> Any:  # noqa: ANN401 - see above
            timeout = deadlines.seconds(rpc, request)
            code, answer = OK, None
            at = step.now
            try:
                answer = method(request, timeout=timeout)
            except grpc.RpcError as error:
                code = error.code().name
            seconds = step.now - at
            if code == OK and right is not None and not right(answer):
                code = WRONG_ANSWER
            if not step.over.is_set():
                step.tally.call(rpc, at, seconds, code, warm=warm)
                self._tell_locust("CRI", rpc, seconds, code)
            self._watch(step, code)
            if code != OK:
                raise StepFailed(code)
            return answer

        return call

    def _tell_locust(self, kind: str, name: str, seconds: float, code: str) -> None:
        # Locust leaves its events untyped
        self.environment.events.request.fire(  # type: ignore[no-untyped-call]  # see above
            request_type=kind,
            name=name,
            response_time=seconds * 1000,
            response_length=0,
            context={},
            exception=None if code == OK else StepFailed(code),
        )

    def _watch(self, step: Step, code: str) -> None:
        """End the step when nobody answers any more."""
        if code != grpc.StatusCode.UNAVAILABLE.name:
            self._refused = 0
            return
        self._refused += 1
        if self._refused == 1:
            self._refused_since = step.now
        if (
            self._refused >= GONE_CALLS
            and step.now - self._refused_since >= GONE_SECONDS
            and not step.tally.gone
        ):
            when = max(0.0, self._refused_since)
            step.tally.gone = (
                f"the runtime at {self.plan.endpoint} stopped answering {when:.0f} s after the load began"
            )
            step.halt(HALTED_SECONDS)

    def _conclude(self, step: Step) -> None:
        """Wait for the end of the step and of what is under way, and report."""
        step.halted.wait(max(0.0, step.end - step.now))
        if not step.halted.is_set():
            step.tally.seconds = step.load.duration
        deadline = time.perf_counter() + step.drain
        while time.perf_counter() < deadline and (
            step.busy or len(step.pool) or (step.load.open and step.claimed and not step.driven.is_set())
        ):
            gevent.sleep(0.05)
            if step.halted.is_set():
                deadline = min(deadline, time.perf_counter() + step.drain)
        for begin in list(step.tally.under_way.values()):
            step.tally.cycle(begin, step.now - begin, 0.0, UNFINISHED, warm=begin < step.load.warm_up)
        self.begun.clear()
        step.over.set()
        step.pool.kill(block=False)
        step.tally.under_way.clear()
        self.runner.send_message(DONE, step.tally.parcel(step.now, step.bound))


class Caller(locust.User):
    """A user as Locust counts them: in a closed loop each leads cycles, in an open loop one per worker begins
    them on schedule.
    """

    wait_time = locust.constant(0)
    worker: Worker | None = None

    @locust.task
    def take_part(self) -> None:
        """Take part in the step that is on, or wait for the next."""
        assert self.worker is not None
        self.worker.take_part()


def main() -> None:
    """Work until the master says that it is over."""
    die_with_parent()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s: %(message)s")
    plan = read_plan(WorkerPlan, Path(sys.argv[1]))
    grpc_gevent.init_gevent()
    gc.set_threshold(50_000, 20, 20)
    locust.runners.WORKER_REPORT_INTERVAL = REPORT_SECONDS
    environment = Environment(user_classes=[Caller])
    worker = Worker(plan, environment)
    Caller.worker = worker
    # Locust leaves its events untyped
    environment.events.report_to_master.add_listener(worker.report)  # type: ignore[no-untyped-call]  # see above
    try:
        runner = environment.create_worker_runner(plan.master_host, plan.master_port)
    except ConnectionError as error:
        sys.exit(f"no master at {plan.master_host}:{plan.master_port}: {error}")
    runner.register_message(PREPARE, worker.prepare, concurrent=True)
    runner.register_message(STEP, worker.begin)
    runner.register_message(HALT, worker.halt)
    runner.send_message(LISTENING)
    gevent.signal_handler(signal.SIGTERM, worker.leave)
    runner.greenlet.join()
    worker.site.plain.close()


if __name__ == "__main__":
    main()
