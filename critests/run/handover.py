"""What the processes of one run hand each other: the controller its run to each worker, each worker its
report to the controller.

Both travel as plain data, which xdist can carry: `critests.record.codec` writes and reads it.
"""

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from critests.client.endpoint import Endpoint
from critests.images.registry_client import RegistryClient
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.lifecycle.run_label import RunIdentity
from critests.node.observing.api_level import ProvenLevel
from critests.node.observing.oci_version import OciRuntimes
from critests.record.codec import Json, from_plain, to_plain
from critests.record.files import write_atomically
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.record.run_layout import RunFolder
from critests.record.run_record import CapabilityFact
from critests.run.known_tests import KnownTest


@dataclass(kw_only=True)
class WorkerStart:
    """What every process of a run knows of it.

    Attributes:
        run: its name and label.
        endpoint: of the runtime service.
        image_endpoint: of the image service.
        found_by: where the endpoint came from, in words.
        version_message: what Version answered at the start, serialised, in hexadecimal.
        level: the API level that was proven.
        driver: the runtime's cgroup driver.
        registry: how to reach the suite's registry; None with --image-prefix or --read-only.
        folder: where results go.
        runtime_log: the runtime's log file or systemd unit; empty where none is known.
        daemon_pid: the process that listens on the endpoint; None where it cannot be seen.
        companions: sockets of further processes that the daemon does its work with.
        facts: what was probed at the start.
        throwaway: whether the runtime was started for this run.
        gone: why the runtime could not be tested any more before the first test; None where it could.
        cdi_folder: where the runtime, and only it, looks for CDI specifications; None where it is not ours.
        oci_runtimes: the programs behind its further handlers; None where it was not started for this run.
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

    def to_worker(self) -> Json:
        """Return it as plain data, also of a class with more. It holds the registry's secret: not for files
        that stay.
        """
        mine = {item.name: getattr(self, item.name) for item in dataclasses.fields(WorkerStart)}
        return to_plain(WorkerStart(**mine))


class HandoverFile:
    """Where workers find the run, which begins while they start and collect.

    No test is sent to a worker before the run has begun, so whoever reads the file finds it.
    """

    def __init__(self) -> None:
        """Make a directory that only this user can read: the run holds the registry's secret."""
        self.path = Path(tempfile.mkdtemp(prefix="critests-")) / "run.json"

    def write(self, run: WorkerStart) -> None:
        """Hand the run over."""
        self.path.write_text(json.dumps(run.to_worker()), encoding="utf-8")

    @staticmethod
    def read(path: str) -> WorkerStart:
        """Take the run over, in a worker."""
        return from_plain(WorkerStart, json.loads(Path(path).read_text(encoding="utf-8")))

    @staticmethod
    def answer(path: str, sharing: Iterable[KnownTest]) -> None:
        """Tell the controller, from a worker, which tests use what is made once for their module: it collects
        none itself. Every worker collects the same, so whichever comes last is right.
        """
        files = {test.id: test.file for test in sharing}
        write_atomically(_answer_to(Path(path)), json.dumps(files), durable=False)

    def answered(self) -> dict[str, str]:
        """Return, once a worker has collected, the files of such tests by test; empty where none is ours."""
        place = _answer_to(self.path)
        files: dict[str, str] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
        return files

    def remove(self) -> None:
        """Remove it, when the last worker has ended."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def _answer_to(path: Path) -> Path:
    return path.with_name("sharing.json")


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """What one process reports to the controller when its last test is over.

    Attributes:
        coverage: counts of calls and of fields, by kind.
        facts: capabilities that tests asked for, probed by this process.
        cpu_seconds: processor time of the process.
        problems: what it could not remove.
        gone: why the runtime cannot be tested any more; None while it answers.
        hangs: RPCs that hang, each with the seconds that a call was waited for.
        deselected: tests that the user's options leave out; every process collects, so each has them all.
    """

    coverage: dict[str, dict[str, int]]
    facts: list[CapabilityFact]
    cpu_seconds: float
    problems: list[str] = field(default_factory=list)
    gone: Reason | None = None
    hangs: dict[str, float] = field(default_factory=dict)
    deselected: list[TestResult] = field(default_factory=list)
