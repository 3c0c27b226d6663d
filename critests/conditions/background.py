"""The process of the clients that work next to the tests.

They are in a process of their own, so that they take neither the interpreter nor the connection from the
tests, and so that the watch of leftovers does not take their objects for those of a test. The responses to
them have a judge of their own. The process ends when its standard input is closed, and so also when the run
is killed.
"""

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, TlsFiles
from critests.client.plain_connection import plain_stubs
from critests.conditions.background_client import BackgroundClient, Work
from critests.conditions.churn import churn
from critests.conditions.condition_table import CHURN, EVENTS, QUESTIONS
from critests.conditions.event_clients import never_reads, visits
from critests.conditions.questions import questions
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.record.codec import from_plain, to_plain
from critests.responses.figure_history import MachineSize
from critests.responses.response_judge import ResponseJudge
from critests.responses.rules import Difference, Violation

CLIENTS: Final[dict[str, tuple[Work, ...]]] = {
    CHURN: (churn,),
    QUESTIONS: (questions, questions, questions),
    EVENTS: (visits, visits, never_reads),
}
"""The clients of each condition, one thread each."""
END_SECONDS: Final = 20.0
"""How long clients may take to end their last calls; the run's clean-up removes what is left."""

Calls = dict[str, dict[str, int]]
"""RunCondition to RPC and status code to the number of calls."""


@dataclass(frozen=True, kw_only=True)
class BackgroundStart:
    """What the process needs to know.

    Attributes:
        conditions: names of those in `CLIENTS`.
        seed: of what the clients do.
        run: whose label their objects have.
        endpoint: of the runtime service.
        image_endpoint: of the image service.
        tls: certificates.
        driver: the runtime's cgroup driver.
        image: of the containers; None for pods without containers.
        handler: runtime handler of the pods.
        scale: factor of the deadlines.
        local: whether the runtime runs on this machine, whose size limits what it may report.
    """

    conditions: list[str]
    seed: int
    run: RunIdentity
    endpoint: Endpoint
    image_endpoint: Endpoint
    tls: TlsFiles = field(default_factory=TlsFiles)
    driver: CgroupDriver
    image: ImageName | None = None
    handler: str = ""
    scale: float = 1.0
    local: bool = False


@dataclass(frozen=True)
class BackgroundReport:
    """What the clients did and received.

    Attributes:
        calls: number of their calls.
        violations: of the responses, the first one of each aspect and field; values are texts.
    """

    calls: Calls = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    def to_json(self) -> str:
        """Return it as JSON."""
        plain = [
            [each.aspect, each.rpc, each.field, *map(_text, each.difference)] for each in self.violations
        ]
        return json.dumps([self.calls, plain])

    @classmethod
    def from_json(cls, text: str) -> "BackgroundReport":
        """Return what `to_json` wrote."""
        calls, plain = json.loads(text)
        return cls(
            calls,
            [Violation(aspect, rpc, name, Difference(*rest)) for aspect, rpc, name, *rest in plain],
        )


class BackgroundProcess:
    """The running process, from the side of the run."""

    def __init__(self, start: BackgroundStart) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the run, which then ends this process
            text=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(to_plain(start))}\n")
        self._process.stdin.flush()
        self._report: BackgroundReport | None = None

    def stop(self) -> BackgroundReport:
        """End it, and return what it did; empty if it had ended before or had to be killed."""
        if self._report is None:
            try:
                out, _ = self._process.communicate(timeout=2 * END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                out, _ = self._process.communicate()
            self._report = BackgroundReport.from_json(out) if out else BackgroundReport()
        return self._report


def work(start: BackgroundStart, over: threading.Event) -> BackgroundReport:
    """Run all clients until `over` is set, and return what they did."""
    judge = ResponseJudge()
    judge.machine = MachineSize.this_one() if start.local else None
    clients: list[tuple[str, BackgroundClient]] = []
    threads: list[threading.Thread] = []
    for condition in start.conditions:
        for number, action in enumerate(CLIENTS[condition]):
            draws = random.Random(f"{start.seed} {condition} {number}")  # noqa: S311 - repeatable, no secret
            client = _client(start, draws, over, judge)
            clients.append((condition, client))
            threads.append(threading.Thread(target=_repeat, args=(action, client), daemon=True))
    for thread in threads:
        thread.start()
    over.wait()
    for thread in threads:
        thread.join(END_SECONDS)
    sums: dict[str, Counter[str]] = {}
    for condition, client in clients:
        sums.setdefault(condition, Counter()).update(client.calls)
    counts = {condition: dict(sorted(calls.items())) for condition, calls in sums.items()}
    # only now, as a removal under way may explain that a list omits an object
    return BackgroundReport(counts, judge.take())


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _client(
    start: BackgroundStart, draws: random.Random, over: threading.Event, judge: ResponseJudge
) -> BackgroundClient:
    requests = RequestBuilder(
        start.run, start.run.data_directory / "logs", CgroupParents(start.run, start.driver)
    )
    plain = plain_stubs(start.endpoint, start.image_endpoint, start.tls)
    return BackgroundClient(
        plain,
        requests,
        start.image,
        start.handler,
        Deadlines(start.scale),
        draws,
        over,
        start.endpoint.text,
        judge,
    )


def _repeat(action: Work, client: BackgroundClient) -> None:
    while not client.over.is_set():
        action(client)


def main() -> None:
    """Work until standard input is closed, and print the report as JSON."""
    start = from_plain(BackgroundStart, json.loads(sys.stdin.readline()))
    over = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    sys.stdout.write(work(start, over).to_json())


if __name__ == "__main__":
    main()
