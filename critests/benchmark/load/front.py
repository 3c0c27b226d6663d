"""The process that the user started: begins the run, starts the processes that put load on, and cleans up. It
never imports Locust.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import critests
from critests import catalogue
from critests.benchmark.load import processes
from critests.benchmark.load.outcome import Outcome, operations_of, outcome_of, write_measured
from critests.benchmark.load.plan import Load, LoadResult, MasterPlan, WorkerPlan, read_plan, write_plan
from critests.exit_codes import CannotTest, ExitCode
from critests.lifecycle.requests import ImageName
from critests.lifecycle.run_label import RunIdentity
from critests.node.addresses import free_port
from critests.node.machine import fingerprint
from critests.record.identity import RuntimeIdentity
from critests.record.layout import UNKNOWN, RunFolder, new_run_folder
from critests.record.operations import BenchmarkFacts
from critests.record.run import RunRecord, Timing
from critests.run.beginning import begin_run
from critests.run.conclusion import identity_of
from critests.run.context import RunContext, tls_files
from critests.run.outcomes import Blocked, SetUpFailed
from critests.run.pulled_images import TestImages
from critests.run.settings import Settings
from critests.run.stop_signals import handled_by, say, say_that_it_goes_on

STOP_SECONDS = 30.0
"""How long the master may take to end after it was asked to."""
LEAVE_SECONDS = 20.0
POLL_SECONDS = 0.2
LATE_COMERS_SECONDS = 2.0
"""What was under way when a process was killed may still come into being at the runtime; it is looked for
again after this.
"""

Say = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Role:
    """Which part of a distributed run this machine plays.

    Attributes:
        master: only add up what workers elsewhere do.
        master_host: the master of which this machine is a worker; empty where it is none.
        master_port: its port.
        processes: worker processes of this machine.
        expect_workers: worker processes that the master waits for.
        web_port: of Locust's page; 0 for none.
        bound: of p99 in a capacity search, in seconds; 0 for none.
    """

    master: bool = False
    master_host: str = ""
    master_port: int = 5557
    processes: int = 1
    expect_workers: int = 1
    web_port: int = 0
    bound: float = 0.0


@dataclass
class Ended:
    """What is left of a run.

    Attributes:
        record: None for a machine that only worked for a master elsewhere.
        folder: of the run.
        outcome: how it ended.
    """

    record: RunRecord | None
    folder: RunFolder | None
    outcome: Outcome
    problems: list[str] = field(default_factory=list)


def run_load(settings: Settings, load: Load, role: Role, say: Say, arguments: list[str]) -> Ended:
    """Put load on a runtime, or do this machine's part of it.

    Args:
        settings: which runtime.
        load: what load.
        role: this machine's part.
        say: called with a line of progress, about once a second.
        arguments: of the command, for the record.

    Raises:
        UsageError: an option makes no sense with this runtime.
        CannotTest: there is nothing to put load on, or it must not be touched.
        RecordError: the results cannot be written.
    """
    with (
        tempfile.TemporaryDirectory(prefix="critests-load-") if role.master else contextlib.nullcontext("")
    ) as directory:
        front = _Front(settings, load, role, say, Path(directory))
        with handled_by(front.interrupt):
            return front.run(arguments)


class _Front:
    def __init__(self, settings: Settings, load: Load, role: Role, say: Say, directory: Path) -> None:
        self.settings, self.load, self.role, self.say = settings, load, role, say
        self.directory = directory
        self.context: RunContext | None = None
        self.workers: list[subprocess.Popen[str]] = []
        self.master: subprocess.Popen[str] | None = None
        self.interrupted = False
        self.ending = False
        self.identity: RuntimeIdentity | None = None
        self.begun = time.time()

    def run(self, arguments: list[str]) -> Ended:
        problems: list[str] = []
        try:
            if not self.role.master:
                self.context = begin_run(self.settings, keep_results=not self.role.master_host)
                self.identity = identity_of(self.context)
                # with the run's other files, so that `critests clean` finds it
                self.directory = self.context.run.data_directory / "load"
                self.directory.mkdir(parents=True)
            port = self.role.master_port
            if not self.role.master and not self.role.master_host:
                port = free_port()
            image = self._image() if self.context is not None else None
            self.say({"now": "starting"})
            if not self.role.master_host:
                self._start_master(port)
            if self.role.web_port:
                self.say({"now": "page", "port": self.role.web_port})
            if image is not None:
                self._start_workers(port, image)
            result = self._wait()
        finally:
            self.ending = True
            with contextlib.suppress(KeyboardInterrupt):
                self._end_processes()
            code, reason = self._why_workers_ended()
            if self.context is not None:
                self.say({"now": "cleaning up"})
                problems += self._end_context()
        if result is None:
            return Ended(None, None, Outcome(code, reason, problems), problems)
        outcome = outcome_of(result, interrupted=self.interrupted)
        record, folder = self._record(result, outcome, problems, arguments)
        write_measured(result, folder.samples)
        return Ended(record, folder, outcome, problems)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.ending or self.interrupted:
            say_that_it_goes_on(number, frame)
            return
        self.interrupted = True
        if self.master is None and not self.workers:
            raise KeyboardInterrupt
        say(b"interrupted; waiting a moment for what is under way, then cleaning up")
        for process in [self.master] if self.master is not None else self.workers:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)

    def _image(self) -> ImageName:
        assert self.context is not None
        connection = self.context.connect()
        try:
            return TestImages(connection, self.context).pull()
        except (Blocked, SetUpFailed) as error:
            raise CannotTest(str(error)) from error
        finally:
            connection.close()

    def _start_master(self, port: int) -> None:
        local = not self.role.master
        plan = MasterPlan(
            bind_host="127.0.0.1" if local else "*",
            port=port,
            workers=self.role.processes if local else self.role.expect_workers,
            load=self.load,
            bound=self.role.bound,
            web_port=self.role.web_port,
            result=str(self.directory / "result.json"),
            patience=60.0 if local else 0.0,
        )
        write_plan(plan, self.directory / "master.json")
        self.master = processes.start("master", self.directory / "master.json", self.directory / "master.err")

    def _start_workers(self, port: int, image: ImageName) -> None:
        context = self.context
        assert context is not None
        files = tls_files(self.settings)
        tls = [str(file or "") for file in (files.ca, files.certificate, files.key)]
        identity = {
            "name": context.version.runtime_name or UNKNOWN,
            "version": context.version.runtime_version or UNKNOWN,
            "api_version": context.version.runtime_api_version,
            "endpoint": context.endpoint.text,
        }
        for number in range(self.role.processes):
            plan = WorkerPlan(
                master_host=self.role.master_host or "127.0.0.1",
                master_port=port,
                endpoint=context.endpoint.text,
                image_endpoint=context.image_endpoint.text,
                tls=tls,
                handler=self.settings.handlers[0],
                run=context.run.id,
                cgroup_driver=str(context.driver),
                image=image.reference,
                image_written=image.written,
                deadline_scale=self.settings.deadline_scale,
                number=number,
                identity=identity,
            )
            file = self.directory / f"worker-{number}.json"
            write_plan(plan, file)
            self.workers.append(processes.start("workers", file, file.with_suffix(".err")))

    def _wait(self) -> LoadResult | None:
        """Wait for the end of the run; return the master's result, or None where the master is elsewhere."""
        if self.master is None:
            self.say({"now": "working", "master": f"{self.role.master_host}:{self.role.master_port}"})
            while any(worker.poll() is None for worker in self.workers):
                time.sleep(POLL_SECONDS)
            return None
        assert self.master.stdout is not None
        for line in self.master.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                self.say(json.loads(line))
        processes.end(self.master, STOP_SECONDS)
        try:
            return read_plan(LoadResult, self.directory / "result.json")
        except (OSError, ValueError):
            words = processes.last_words(self.directory / "master.err")
            return LoadResult(
                problem=f"the master process wrote no result ({words or 'and said nothing'})", harness=True
            )

    def _why_workers_ended(self) -> tuple[ExitCode, str]:
        if self.interrupted:
            return ExitCode.INTERRUPTED, "interrupted"
        failed = [number for number, worker in enumerate(self.workers) if worker.returncode]
        if failed:
            words = processes.last_words(self.directory / f"worker-{failed[0]}.err")
            return ExitCode.HARNESS_ERROR, f"a worker process failed: {words or 'it said nothing'}"
        return (
            ExitCode.CONFORMS,
            (
                f"worked for the master at {self.role.master_host}:{self.role.master_port}; the results are"
                " there"
            ),
        )

    def _end_processes(self) -> None:
        if self.master is not None and self.master.poll() is None:
            self.master.terminate()
            processes.end(self.master, STOP_SECONDS)
        for worker in self.workers:
            processes.end(worker, LEAVE_SECONDS if self.master is None else 3.0)

    def _end_context(self) -> list[str]:
        assert self.context is not None
        killed = any(worker.returncode for worker in self.workers) or self.interrupted
        if killed:
            time.sleep(LATE_COMERS_SECONDS)
        return self.context.end()

    def _record(
        self, result: LoadResult, outcome: Outcome, problems: list[str], arguments: list[str]
    ) -> tuple[RunRecord, RunFolder]:
        if self.context is not None and self.identity is not None:
            folder, run, runtime = self.context.folder, self.context.run, self.identity
        else:
            run, runtime = RunIdentity.new(), _identity_of(result.identities)
            folder = new_run_folder(self.settings.results, runtime.name, runtime.version, self.begun)
        finished = time.time()
        used = os.times()
        record = RunRecord(
            kind="benchmark",
            run_id=run.id,
            suite_version=critests.__version__,
            catalogue_revision=catalogue.load().revision,
            started=self.begun,
            finished=finished,
            arguments=arguments,
            runtime=runtime,
            machine=fingerprint(),
            exit_code=int(outcome.exit_code),
            exit_reason=outcome.reason,
            interrupted=self.interrupted,
            notes=[*outcome.notes, *problems],
            workers=len(result.identities),
            timing=Timing(
                wall_seconds=round(finished - self.begun, 3),
                harness_cpu_seconds=round(
                    used.user + used.system + used.children_user + used.children_system, 3
                ),
            ),
            operations=operations_of(result),
            benchmark=BenchmarkFacts(
                profile="load",
                seed=self.load.seed,
                budget_seconds=self.load.warm_up + self.load.duration,
                sides={},
            ),
        )
        return record, folder


def _identity_of(workers: list[dict[str, str]]) -> RuntimeIdentity:
    """Return what the runtimes of workers elsewhere are called together."""
    joined = {
        key: "+".join(sorted({worker.get(key, "") for worker in workers}))
        for key in ("name", "version", "api_version", "endpoint")
    }
    return RuntimeIdentity(
        name=joined["name"] or "unknown",
        version=joined["version"] or "unknown",
        api_version=joined["api_version"],
        endpoint=joined["endpoint"],
    )
