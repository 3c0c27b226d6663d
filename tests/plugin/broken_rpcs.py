"""A run against the small CRI server with one broken RPC, and the parts of its result that are compared.

Runs and servers are forked from a process that has imported the suite: imports are most of the duration of a
run with few tests.
"""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from critests.cli.pytest_command import VALIDATION, pytest_command
from critests.exit_codes import ExitCode
from critests.run.run_settings import Settings
from tests.criserver import CriServer
from tests.plugin.command import environment

FAULTS = {
    "unimplemented": "unimplemented",
    "unavailable": "unavailable",
    "hangs": "hangs",
    "dies": "dies-at",
}
"""The columns of the matrix, and the corresponding ways of the server to be wrong."""
SCALES = {"hangs": 0.1}
"""Scale of the deadlines by column: a hang takes a whole deadline, the other faults respond at once."""
SCALE = 0.5
START_SECONDS = 60.0
RUN_SECONDS = 250.0

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.plugin.imported_suite"])


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        exit: its exit code.
        failed: the requirements or aspects that failed.
        outcomes: how many tests had each outcome, without `disabled`.
        blocked_by: the requirements that block tests; empty for a test that no requirement blocks.
        reasons: of the failures, as sentences.
        seconds: of the whole run.
        output: its standard output and standard error.
    """

    exit: ExitCode
    failed: frozenset[str]
    outcomes: dict[str, int]
    blocked_by: frozenset[str]
    reasons: tuple[str, ...]
    seconds: float
    output: str


def _serve(socket: Path, wrong: str, ready: Connection) -> None:
    server = CriServer(wrong=[wrong])
    server.when_killed = lambda: os.kill(os.getpid(), signal.SIGKILL)
    server.start(socket)
    ready.send(None)
    signal.pause()


@contextmanager
def broken_server(wrong: str, folder: Path) -> Iterator[str]:
    """Serve in another process, which can be killed, with a way to be wrong; yields the socket."""
    socket = folder / "cri.sock"
    ready_pipe, ready = FORKED.Pipe(duplex=False)
    server = FORKED.Process(target=_serve, args=(socket, wrong, ready))
    server.start()
    try:
        assert ready_pipe.poll(START_SECONDS)
        yield str(socket)
    finally:
        server.kill()
        server.join()


def _validate(settings: Settings, output: Path, variables: dict[str, str]) -> None:
    with output.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(variables)
    command = pytest_command(VALIDATION, settings)
    sys.exit(pytest.main(command[command.index("critests.pytest_process") + 1 :]))


def run_on(endpoint: str, column: str, select: str, folder: Path, require: Sequence[str] = ()) -> RunResult:
    """Validate an endpoint with a few tests."""
    output_file, results = folder / "output", folder / "results"
    settings = Settings(
        runtime_endpoint=endpoint,
        select=tuple(select.split(",")),
        require=tuple(require),
        results=results,
        allow_kubelet=True,
        deadline_scale=SCALES.get(column, SCALE),
    )
    run = FORKED.Process(target=_validate, args=(settings, output_file, environment()))
    begun = time.monotonic()
    run.start()
    run.join(RUN_SECONDS)
    seconds = time.monotonic() - begun
    run.kill()
    run.join()
    records = [json.loads(file.read_text(encoding="utf-8")) for file in results.rglob("run.json")]
    tests = [test for record in records for test in record["tests"] if test["outcome"] != "disabled"]
    output = output_file.read_text(encoding="utf-8")
    assert run.exitcode is not None
    assert run.exitcode >= 0, output
    return RunResult(
        ExitCode(run.exitcode),
        frozenset(_values(tests, "failed", lambda test: test["requirement"])),
        dict(sorted(Counter(test["outcome"] for test in tests).items())),
        frozenset(_values(tests, "blocked", lambda test: test["blocked_by"])),
        tuple(_values(tests, "failed", lambda test: test["reason"])),
        seconds,
        output,
    )


def _values(tests: list[dict[str, Any]], outcome: str, of: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    return (of(test) for test in tests if test["outcome"] == outcome)
