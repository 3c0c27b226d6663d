"""The master process: `python -m critests.benchmark.load.master PLAN`. It orders steps, adds up what workers
report, and writes the result.

It touches no runtime. What it says on standard output is one JSON object a line, for the process that started
it.
"""

import locust.runners

# isort: split
# Locust patches the standard library; everything below must be imported after that.
import dataclasses
import json
import logging
import math
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gevent  # type: ignore[import-untyped]  # the package ships no types
import gevent.event  # type: ignore[import-untyped]  # the package ships no types
from locust.env import Environment

from critests.benchmark.load.capacity import Decision, Search, decide
from critests.benchmark.load.parcels import Total
from critests.benchmark.load.plan import (
    DONE,
    HALT,
    LISTENING,
    PARCEL,
    PREPARE,
    PREPARED,
    STEP,
    Capacity,
    Load,
    LoadResult,
    MasterPlan,
    StepResult,
    read_plan,
)
from critests.benchmark.load.processes import die_with_parent
from critests.record.codec import to_plain
from critests.record.files import write_atomically

TICK_SECONDS = 0.25
TELL_SECONDS = 1.0
HALTED_SECONDS = 10.0
SETTLE_SECONDS = 1.0
"""Between two steps of a search."""
PREPARE_SECONDS = 300.0


class Stopped(Exception):
    """The user stopped the run."""


class Lost(Exception):
    """It cannot go on; the message says why."""


class Master:
    """Leads one run."""

    def __init__(self, plan: MasterPlan) -> None:
        self.plan = plan
        self.result = LoadResult()
        self.stop = gevent.event.Event()
        self.environment = Environment(user_classes=[Caller])
        self.runner = self.environment.create_master_runner(plan.bind_host, plan.port)
        self.runner.register_message(LISTENING, self._listening)
        self.runner.register_message(PREPARED, self._prepared)
        self.runner.register_message(DONE, self._done)
        # Locust leaves its events untyped
        self.environment.events.worker_report.add_listener(self._reported)  # type: ignore[no-untyped-call]  # see above
        # Locust leaves its events untyped
        self.environment.events.test_stopping.add_listener(lambda **_: self.stop.set())  # type: ignore[no-untyped-call]  # see above
        self._can_hear: set[str] = set()
        self._ready: dict[str, str] = {}
        self._over: set[str] = set()
        self._total: Total | None = None
        self._parts: list[str] = []
        self._last_line_at = 0.0

    def run(self) -> None:
        """Lead the run; whatever happens, the result is written."""
        try:
            if self.plan.web_port:
                self.environment.create_web_ui("127.0.0.1", self.plan.web_port)
            self._gather_workers()
            load = self.plan.load
            self._prepare(load)
            users = load.users or len(self._parts)
            self.runner.start(users, spawn_rate=users)
            if self.plan.bound:
                self._search(load)
            else:
                self.result.steps.append(self._step(1, load))
        except Stopped:
            self.result.notes.append("stopped before the load was over")
        except Lost as error:
            self.result.problem = str(error)
        write_atomically(Path(self.plan.result), json.dumps(to_plain(self.result)))
        self.runner.quit()

    def _gather_workers(self) -> None:
        begin = time.monotonic()
        while (
            len(here := self._can_hear & {client.id for client in self.runner.clients.ready})
            < self.plan.workers
        ):
            self._tell("waiting", workers=len(here), wanted=self.plan.workers)
            if self.plan.patience and time.monotonic() - begin > self.plan.patience:
                self.result.harness = True
                msg = f"{len(here)} of {self.plan.workers} workers came within {self.plan.patience:g} s"
                raise Lost(msg)
            self._wait()
        self._parts = sorted(here)

    def _prepare(self, load: Load) -> None:
        for part in self._parts:
            # msgpack takes any plain data
            self.runner.send_message(PREPARE, to_plain(load), client_id=part)  # type: ignore[arg-type]  # see above
        begin = time.monotonic()
        while len(self._ready) < len(self._parts):
            self._tell("preparing", workers=len(self._ready), wanted=len(self._parts))
            self._wait()
            self._look_for_lost()
            if time.monotonic() - begin > PREPARE_SECONDS:
                msg = f"the pods that should stand during the load were not made within {PREPARE_SECONDS:g} s"
                raise Lost(msg)
        problems = [problem for problem in self._ready.values() if problem]
        if problems:
            raise Lost(problems[0])

    def _search(self, load: Load) -> None:
        search = Search(load.rate)
        try:
            while not search.over:
                rate = search.rate
                longest = load.duration or max(30.0, 1100 / rate)
                in_flight = max(load.in_flight, min(math.ceil(rate * 5), 2000))
                step = dataclasses.replace(
                    load, rate=rate, duration=longest, in_flight=in_flight, seed=load.seed + len(search.steps)
                )
                result = self._step(len(search.steps) + 1, step)
                self.result.steps.append(result)
                if self.stop.is_set() or result.gone:
                    break
                search.tell(Decision(result.decision))
                gevent.sleep(SETTLE_SECONDS)
        finally:
            self.result.capacity = Capacity(
                bound=self.plan.bound,
                held=search.held,
                exceeded=search.exceeded,
                sentence=search.sentence(self.plan.bound),
            )

    def _step(self, number: int, load: Load) -> StepResult:
        """Put load on until it is over, decided, stopped, or nobody is left to do it."""
        self._over.clear()
        total = self._total = Total(number, load, len(self._parts))
        for part, client in enumerate(self._parts):
            order = {
                "number": number,
                "load": to_plain(load),
                "part": part,
                "parts": len(self._parts),
                "bound": self.plan.bound,
            }
            self.runner.send_message(STEP, order, client_id=client)
        begin, halted, decision = time.monotonic(), False, Decision.UNDECIDED
        limit = load.warm_up + load.duration + load.drain + HALTED_SECONDS
        while not self._over.issuperset(self._parts):
            gevent.sleep(TICK_SECONDS)
            self._look_for_lost()
            self._tell_progress(total, time.monotonic() - begin)
            if self.plan.bound and decision is Decision.UNDECIDED:
                decision = self._decide(total)
            if not halted and (self.stop.is_set() or decision is not Decision.UNDECIDED):
                halted = True
                if self.stop.is_set():
                    limit = time.monotonic() - begin + 2 * HALTED_SECONDS
                drain = HALTED_SECONDS if self.stop.is_set() else load.drain
                for client in self._parts:
                    # msgpack takes any plain data
                    self.runner.send_message(HALT, drain, client_id=client)  # type: ignore[arg-type]  # see above
            if time.monotonic() - begin > limit:
                self.result.harness = True
                self.result.problem = "a worker did not report the end of its step in time"
                break
        result = total.result()
        if self.plan.bound:
            result.decision = str(
                self._decide(total, last=True) if decision is Decision.UNDECIDED else decision
            )
        return result

    def _decide(self, total: Total, *, last: bool = False) -> Decision:
        headline = total.load.mix.headline
        latencies = total.histogram(headline)
        bad = sum(total.errors(headline).values()) + total.number_of("overdue")
        return decide(latencies.count + bad, latencies.above(self.plan.bound) + bad, last=last)

    def _look_for_lost(self) -> None:
        if self.stop.is_set():
            # stopped by Locust's page, workers leave the list for a moment, and report nevertheless
            return
        for part in self._parts:
            client = self.runner.clients.get(part)
            if (client is None or client.state == locust.runners.STATE_MISSING) and part not in self._over:
                self.result.harness = True
                self.result.problem = f"worker {part} went away"
                self._over.add(part)
        if self._parts and not set(self._parts) & set(self.runner.clients):
            msg = "all workers went away"
            raise Lost(msg)

    def _wait(self) -> None:
        gevent.sleep(TICK_SECONDS)
        if self.stop.is_set():
            raise Stopped

    def _listening(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        del environment
        self._can_hear.add(msg.node_id)

    def _prepared(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        del environment
        self._ready[msg.node_id] = msg.data["problem"]
        self.result.identities.append(msg.data["identity"])

    def _done(self, environment: Environment, msg: Any) -> None:  # noqa: ANN401 - Locust's message
        del environment
        if self._total is not None and msg.data["step"] == self._total.number:
            self._total.add(msg.node_id, msg.data)
            self._over.add(msg.node_id)

    def _reported(self, client_id: str, data: dict[str, Any]) -> None:
        if self._total is not None and PARCEL in data:
            self._total.add(client_id, data[PARCEL])

    def _tell_progress(self, total: Total, elapsed: float) -> None:
        if time.monotonic() - self._last_line_at < TELL_SECONDS:
            return
        headline = total.load.mix.headline
        latencies = total.histogram(headline)
        self._tell(
            "load",
            step=total.number,
            rate=total.load.rate,
            elapsed=elapsed,
            whole=total.load.warm_up + total.load.duration,
            warm_up=total.load.warm_up,
            ended=total.number_of("ended"),
            errors=sum(total.errors(headline).values()),
            under_way=total.number_of("under_way"),
            late=total.number_of("late"),
            median=latencies.quantile(0.5) if latencies.count else None,
        )

    def _tell(self, what: str, **facts: object) -> None:
        now = time.monotonic()
        if now - self._last_line_at >= TELL_SECONDS:
            self._last_line_at = now
            sys.stdout.write(json.dumps({"now": what, **facts}) + "\n")
            sys.stdout.flush()


class Caller(locust.User):
    """The users that the workers have; the master only names them."""

    @locust.task
    def take_part(self) -> None:
        """Do nothing here."""


def main() -> None:
    """Lead one run."""
    die_with_parent()
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr, format="%(levelname)s: %(message)s")
    master = Master(read_plan(MasterPlan, Path(sys.argv[1])))
    gevent.signal_handler(signal.SIGTERM, master.stop.set)
    master.run()


if __name__ == "__main__":
    main()
