"""Data that the processes of a run exchange: the run, from the controller to each worker, and the report of
each worker to the controller.

Both are plain data, which xdist can carry: `critests.record.codec` writes and reads it.
"""

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from critests.client.endpoint import Endpoint
from critests.images.registry_client import RegistryClient
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.lifecycle.run_label import RunIdentity
from critests.node.observing.api_level import ProvenLevel
from critests.node.observing.oci_version import OciRuntimes
from critests.record.codec import Json, from_plain, to_plain
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.record.run_layout import RunFolder
from critests.record.run_record import CapabilityFact, RunConditions
from critests.run.collected_tests import CollectedTest

SCALE: Final = "critests_scale"
"""In the input of a worker, which needs the scale of the deadlines before it collects."""


@dataclass(kw_only=True)
class WorkerStart:
    """What every process of a run knows about it.

    Attributes:
        run: its name and label.
        endpoint: of the runtime service.
        image_endpoint: of the image service.
        found_by: source of the endpoint, in words.
        version_message: response of Version at the start, serialized, in hexadecimal.
        level: the proven API level.
        driver: the runtime's cgroup driver.
        registry: how to reach the suite's registry; None with --image-prefix or --read-only.
        folder: where results go.
        runtime_log: the runtime's log file or systemd unit; empty if unknown.
        daemon_pid: the process that listens on the endpoint; None if it is not visible.
        companions: sockets of the daemon's companion processes, such as dockerd.
        facts: capabilities that were probed at the start.
        throwaway: whether the runtime was started for this run.
        gone: why the runtime was gone before the first test; None if it was not.
        cdi_folder: directory of the private runtime's CDI specifications; None for other runtimes.
        oci_runtimes: the OCI runtimes of its further handlers; None if it was not started for this run.
        conditions: what else goes on while the tests run.
        no_test_after: when the time limit of the run ends, on the monotonic clock; None without one.
    """

    run: RunIdentity
    endpoint: Endpoint
    image_endpoint: Endpoint
    found_by: str
    version_message: str
    level: ProvenLevel
    driver: CgroupDriver
    registry: RegistryClient | None
    folder: RunFolder
    runtime_log: str
    daemon_pid: int | None
    companions: list[Path] = field(default_factory=list)
    facts: list[CapabilityFact]
    throwaway: bool
    gone: Reason | None = None
    cdi_folder: Path | None = None
    oci_runtimes: OciRuntimes | None = None
    conditions: RunConditions = field(default_factory=RunConditions)
    no_test_after: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the time limit of the run has ended."""
        return self.no_test_after is not None and time.monotonic() >= self.no_test_after

    def to_worker(self) -> Json:
        """Return these fields as plain data, also for a subclass. They include the registry's secret, so they
        must not be stored in a file that stays.
        """
        mine = {item.name: getattr(self, item.name) for item in dataclasses.fields(WorkerStart)}
        return to_plain(WorkerStart(**mine))


class HandoverFile:
    """What workers read and write while they start: the run, which begins meanwhile, and which tests share a
    fixture.

    No test is sent to a worker before the run has begun, so the run is there when a worker reads it. The
    files are in memory and have no name, because one of them has the registry's secret: they go with the
    controller, also when it is killed. Another user cannot open them, proc_pid_fd(5).
    """

    def __init__(self) -> None:
        self._descriptors = [os.memfd_create(name) for name in ("critests-run", "critests-sharing")]
        self._run, self._sharing = self.paths = tuple(
            f"/proc/{os.getpid()}/fd/{descriptor}" for descriptor in self._descriptors
        )

    def write(self, run: WorkerStart) -> None:
        """Write the run for the workers."""
        Path(self._run).write_text(json.dumps(run.to_worker()), encoding="utf-8")

    @staticmethod
    def read(paths: Sequence[str]) -> WorkerStart:
        """Read the run, in a worker."""
        return from_plain(WorkerStart, json.loads(Path(paths[0]).read_text(encoding="utf-8")))

    @staticmethod
    def report_sharing(paths: Sequence[str], sharing: Iterable[CollectedTest]) -> None:
        """Report to the controller, which collects no tests, which tests use a module-scoped fixture. Every
        worker collects the same tests and writes the same, so none truncates the report of another.
        """
        files = {test.id: test.file for test in sharing}
        with Path(paths[1]).open("r+", encoding="utf-8") as file:
            file.write(json.dumps(files))

    def sharing_tests(self) -> dict[str, str]:
        """Return the files of these tests by test id, after a worker has collected; empty without any."""
        files: dict[str, str] = json.loads(Path(self._sharing).read_text(encoding="utf-8") or "{}")
        return files

    def remove(self) -> None:
        """Remove the files, when the last worker has ended."""
        while self._descriptors:
            os.close(self._descriptors.pop())


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """The report of a worker to the controller after its last test.

    Attributes:
        coverage: counts of calls and of fields, by kind.
        facts: capabilities that this process probed for its tests.
        cpu_seconds: processor time of the process.
        problems: why it could not remove an object.
        gone: why the runtime cannot be tested any more; None while it responds.
        hangs: RPCs that hang, each with the seconds that a call took until its deadline.
        deselected: all tests that the user's options leave out; each process collects them all.
        not_begun: number of its tests that the time limit of the run left out.
        musts_not_begun: how many of them judge a MUST.
    """

    coverage: dict[str, dict[str, int]]
    facts: list[CapabilityFact]
    cpu_seconds: float
    problems: list[Reason] = field(default_factory=list)
    gone: Reason | None = None
    hangs: dict[str, float] = field(default_factory=dict)
    deselected: list[TestResult] = field(default_factory=list)
    not_begun: int = 0
    musts_not_begun: int = 0
