"""The process that the user started: begins the run, starts Locust, and cleans up. It never imports
Locust.
"""

import contextlib
import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, Self

from critests.benchmark.load.capacity import Search, decide
from critests.benchmark.load.load_target import TARGET, write_target
from critests.exit_codes import CannotTest, ExitCode, UsageError
from critests.lifecycle.requests import ImageName
from critests.record.run_layout import new_run_folder
from critests.run.beginning import begin_run
from critests.run.context import RunContext
from critests.run.pulled_images import TestImages
from critests.run.run_settings import Settings
from critests.run.stop_signals import announce_cleanup, handled_by, say

LOCUSTFILE: Final = Path(__file__).with_name("locustfile.py")
FIRST_RATE: Final = 1.0
SETTLE_SECONDS: Final = 2.0
"""After an interruption, the runtime may still complete the calls that were in flight."""


@dataclass(frozen=True)
class LoadResult:
    """The result of a run.

    Attributes:
        exit_code: as for every command.
        reason: one sentence.
        count: cycles in the measured time, failed ones included.
        failed: number of failed cycles.
    """

    exit_code: ExitCode
    reason: str
    count: int = 0
    failed: int = 0


class LoadController:
    """A context in which Locust runs on the runtime, or as a master that contacts no runtime.

    Args:
        settings: the runtime.
        options: Locust's options from the command line.
        web: whether to serve Locust's web page during the load.

    Raises:
        UsageError: an option contradicts the choice of the runtime.
        CannotTest: there is no runtime to load, or it must not be loaded.
        RecordNotWritten: the results folder cannot be created.
    """

    def __init__(self, settings: Settings, options: list[str], *, web: bool = False) -> None:
        self.settings, self.options, self.web = settings, options, web
        self.context: RunContext | None = None
        self._locust: subprocess.Popen[bytes] | None = None
        self._interrupted = self._ending = False
        self._environment = dict(os.environ)
        self._signals = contextlib.ExitStack()

    @property
    def worker(self) -> bool:
        """Whether a master elsewhere collects the results."""
        return "--worker" in self.options

    def option(self, name: str, default: float) -> float:
        """Return the numeric value of one of Locust's options. Raises UsageError."""
        for index, word in enumerate(self.options):
            key, _, value = word.partition("=")
            if key == name:
                try:
                    return float(value or self.options[index + 1])
                except (ValueError, IndexError):
                    msg = f"{name}: expected a number"
                    raise UsageError(msg) from None
        return default

    def __enter__(self) -> Self:
        if "--master" in self.options and (self.settings.runtime_endpoint or self.settings.node):
            raise UsageError("--master does not use a runtime: pass the runtime to its workers")
        self._signals.enter_context(handled_by(self._stop))
        try:
            if "--master" in self.options:
                folder = new_run_folder(self.settings.results, "load", "master", time.time())
            else:
                self.context = begin_run(self.settings, keep_results=not self.worker)
                folder = self.context.folder
                self._environment[TARGET] = str(write_target(self.context, self._image()))
        except BaseException:
            self.__exit__()
            raise
        self.folder = folder.path
        return self

    def __exit__(self, *_: object) -> None:
        self._ending = True
        if self.context is not None:
            if self._interrupted:
                time.sleep(SETTLE_SECONDS)
            for problem in self.context.end():
                print(problem, file=sys.stderr)
        self._signals.close()

    def run(self, extra: list[str] | None = None, name: str = "load") -> LoadResult:
        """Run Locust and return the result.

        Args:
            extra: options after those of the user.
            name: prefix of the names of its files.
        """
        self._locust = subprocess.Popen(
            [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *self._options(name), *(extra or [])],
            stdin=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,  # Ctrl-C must reach only this process, which stops Locust
        )
        code = self._locust.wait()
        if self._interrupted:
            return LoadResult(ExitCode.INTERRUPTED, "interrupted")
        if code:
            usage = code == 2 and not (self.folder / f"{name}_stats.csv").exists()  # exit code 2 of argparse
            return LoadResult(
                ExitCode.USAGE if usage else ExitCode.HARNESS_ERROR, f"Locust exited with {code}"
            )
        if self.worker:
            return LoadResult(ExitCode.NO_NEW_FAILURE, "the worker finished; the master has the results")
        return self._read(self.folder / f"{name}_stats.csv")

    def _options(self, name: str) -> list[str]:
        if self.worker:
            return self.options
        given = {word.partition("=")[0] for word in self.options}
        options = ["--csv", str(self.folder / name), "--html", str(self.folder / f"{name}.html")]
        options += ["--exit-code-on-error", "0", "--stop-timeout", "60"]
        if self.web:
            options += ["--autostart", "--autoquit", "0"]
            options += [] if "--web-host" in given else ["--web-host", "127.0.0.1"]
        else:
            options += ["--headless", "--only-summary"]
        if not given & {"--run-time", "-t"}:
            options += ["--run-time", "60"]
        if "--users" not in given and "-u" not in given:
            options += ["--users", "1"]
        return [*options, *self.options]

    def _read(self, stats: Path) -> LoadResult:
        """Read the result from Locust's file: failed cycles are data; a run needs at least one success."""
        with stats.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["Type"] == "cycle"]
        count = sum(int(row["Request Count"]) for row in rows)
        failed = sum(int(row["Failure Count"]) for row in rows)
        if self._runtime_unreachable():
            return LoadResult(ExitCode.NOT_TESTED, "the runtime stopped responding", count, failed)
        if count == failed:
            return LoadResult(
                ExitCode.NOT_TESTED, "not one cycle succeeded in the measured time", count, failed
            )
        reason = f"{count - failed} of {count} cycles succeeded in the measured time; results: {self.folder}"
        return LoadResult(ExitCode.NO_NEW_FAILURE, reason, count, failed)

    def _runtime_unreachable(self) -> bool:
        if self.context is None:
            return False
        connection = self.context.connect()
        try:
            connection.greet(self.settings.timeout)
        except CannotTest:
            return True
        finally:
            connection.close()
        return False

    def _image(self) -> ImageName:
        assert self.context is not None
        connection = self.context.connect()
        try:
            return TestImages(connection, self.context).pull()
        finally:
            connection.close()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._ending or self._interrupted:
            announce_cleanup(number, frame)
            return
        self._interrupted = True
        if self._locust is None:
            raise KeyboardInterrupt
        say(b"interrupted; waiting for calls in flight, then cleaning up")
        with contextlib.suppress(ProcessLookupError):
            self._locust.send_signal(signal.SIGINT)


def search_capacity(controller: LoadController) -> LoadResult:
    """Search for the highest rate at which p99 stays under `--p99`, with one run of Locust per step.

    Raises:
        UsageError: `--p99` is missing or not a number.
    """
    bound = controller.option("--p99", 0.0)
    if bound <= 0:
        raise UsageError("--capacity needs --p99 SECONDS, the bound to search for")
    search = Search(controller.option("--rate", FIRST_RATE))
    while not search.finished:
        ended = controller.run(["--rate", f"{search.rate:.4g}"], f"step-{len(search.steps) + 1}")
        if ended.exit_code in {ExitCode.INTERRUPTED, ExitCode.HARNESS_ERROR, ExitCode.USAGE}:
            return ended
        decision = decide(ended.count, ended.failed)
        print(f"{search.rate:.3g} per second: {decision}, {ended.failed} of {ended.count} above", flush=True)
        search.add(decision)
    held = ExitCode.NO_NEW_FAILURE if search.held else ExitCode.NOT_TESTED
    return LoadResult(held, f"{search.sentence(bound)}; results: {controller.folder}")
