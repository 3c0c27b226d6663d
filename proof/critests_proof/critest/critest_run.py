"""Running critest: some of its specs, their results, and the places in the API that each reaches."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from critests.exit_codes import CannotTest
from critests_proof.language.descriptors import RpcDescriptor
from critests_proof.proxy.watch import Watch
from critests_proof.sweep.exercise import Exercised

SUITE: Final = "CRI validation"
"""What Ginkgo puts before the text of each spec when it compares it with a focus."""
FAILED: Final = ("failed", "panicked")
CUT: Final = ("timedout", "interrupted", "aborted")
"""States of a spec that was running when the time was over."""
HANGING_SECONDS = 60.0
"""A spec that ran so much longer than without a fault when the time was over counts as failed."""
CALL_SECONDS = 30
"""Deadline of each call of critest; its default is 300 s."""
_END_SECONDS = 60.0
"""How long critest may take to write its report when the time is over."""
_KILL_SECONDS = 10.0


class CritestFailed(CannotTest):
    """critest wrote no report; the message names its log."""


@dataclass(frozen=True)
class SpecResult:
    """The result of one spec.

    Attributes:
        text: its full text, which identifies it.
        state: of Ginkgo: `passed`, `failed`, `skipped` and so on.
        started: seconds since the epoch.
        ended: as above.
        message: of the failure.
    """

    text: str
    state: str
    started: float = 0.0
    ended: float = 0.0
    message: str = ""

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.ended - self.started

    def failed(self, usual_seconds: float = 0.0) -> bool:
        """Return whether it failed.

        Args:
            usual_seconds: its duration without a fault.
        """
        return self.state in FAILED or (self.state in CUT and self.seconds > usual_seconds + HANGING_SECONDS)


@dataclass(frozen=True)
class Critest:
    """The critest program and where it may write.

    Attributes:
        program: its binary.
        folder: an existing folder for its log and its report.
    """

    program: Path
    folder: Path

    def version(self) -> str:
        """Return what critest prints as its version.

        Raises:
            CritestFailed: it does not run.
        """
        try:
            said = subprocess.run(
                [self.program, "-version"], capture_output=True, text=True, timeout=_END_SECONDS, check=False
            ).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            msg = f"{self.program} does not run: {error}"
            raise CritestFailed(msg) from error
        found = re.search(r"critest version: *(\S+)", said)
        if found is None:
            msg = f"{self.program} does not print the version of a critest"
            raise CritestFailed(msg)
        return found[1]

    def run(
        self, endpoint: str, *, seconds: float, specs: Sequence[str] = (), fail_fast: bool = False
    ) -> list[SpecResult]:
        """Run specs and return the results of those that ran, in the order in which they ended.

        Args:
            endpoint: of the runtime.
            seconds: the limit for all of them.
            specs: their texts; all if empty.
            fail_fast: whether to stop after the first failure.

        Raises:
            CritestFailed: critest wrote no report.
        """
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        command = [
            str(self.program),
            f"-runtime-endpoint={endpoint}",
            f"-runtime-service-timeout={CALL_SECONDS}s",
            f"-image-service-timeout={CALL_SECONDS}s",
            f"-ginkgo.timeout={max(1, int(seconds))}s",
            f"-ginkgo.json-report={report}",
            "-ginkgo.no-color",
            f"-test.timeout={int(seconds + 2 * _END_SECONDS)}s",
        ]
        if fail_fast:
            command.append("-ginkgo.fail-fast")
        if specs:
            command.append(f"-ginkgo.focus={focus(specs)}")
        with (self.folder / "critest.log").open("wb") as log:
            _run(command, self.folder, log.fileno(), seconds + _END_SECONDS)
        try:
            return read_report(report)
        except (OSError, ValueError, KeyError) as error:
            msg = f"critest wrote no report ({error}); its output is in {log.name}"
            raise CritestFailed(msg) from error


def _run(command: Sequence[str], folder: Path, log: int, seconds: float) -> None:
    """Run a program in a process group that does not outlive this call."""
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        # at an interrupt Ginkgo writes its report
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def focus(specs: Iterable[str]) -> str:
    """Return the regular expression that selects exactly these specs."""
    # Go's syntax has no escape for a space, a quote or a slash, which re.escape leaves or writes differently
    texts = "|".join(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", spec) for spec in specs)
    return f"^{SUITE} (?:{texts})$"


def read_report(file: Path) -> list[SpecResult]:
    """Return the specs of a JSON report of Ginkgo that ran, in the order in which they ended.

    Raises:
        OSError: there is no such file.
        ValueError: it is no JSON.
        KeyError: it is no report of Ginkgo.
    """
    results = []
    for suite in json.loads(file.read_text(encoding="utf-8")):
        for spec in suite["SpecReports"] or ():
            if spec["LeafNodeType"] == "It" and spec["State"] not in {"skipped", "pending"}:
                results.append(_result(spec))
            elif spec["State"] == "skipped" and spec.get("Failure"):
                results.append(_result(spec))  # it ran until it called Skip
    return sorted(results, key=lambda one: one.ended)


def _result(spec: dict[str, Any]) -> SpecResult:
    return SpecResult(
        " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]]),
        spec["State"],
        datetime.fromisoformat(spec["StartTime"]).timestamp(),
        datetime.fromisoformat(spec["EndTime"]).timestamp(),
        " ".join(str((spec.get("Failure") or {}).get("Message", "")).split())[:300],
    )


class Timeline(Watch):
    """A recording of the places that calls reach, with the time of each."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = threading.Lock()
        self._noted: list[tuple[float, frozenset[str], int]] = []

    def request(self, rpc: RpcDescriptor, raw: bytes) -> None:
        """Record a request."""
        with self._turn:
            super().request(rpc, raw)
            self._note(hash((rpc.name, raw)))

    def response(self, rpc: RpcDescriptor, raw: bytes) -> None:
        """Record a response, or one message of a stream."""
        with self._turn:
            super().response(rpc, raw)
            self._note(0)

    def error(self, rpc: RpcDescriptor) -> None:
        """Record an error of the runtime."""
        with self._turn:
            super().error(rpc)
            self._note(0)

    def _note(self, request: int) -> None:
        self._noted.append((time.time(), self.take(), request))

    def exercised(self, specs: Iterable[SpecResult]) -> list[Exercised]:
        """Return the places that each spec reached between its start and its end."""
        found = []
        for spec in specs:
            places: set[str] = set()
            requests: set[int] = set()
            for at, here, request in self._noted:
                if spec.started <= at <= spec.ended:
                    places |= here
                    if request and request in requests:
                        places |= {f"{place}.repeated" for place in here if "." not in place}
                    requests.add(request)
            found.append(Exercised(spec.text, spec.state, spec.seconds, frozenset(places)))
        return found
