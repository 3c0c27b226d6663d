"""Evidence of a test that is not green: its calls, the logs of its containers, the runtime's log of that
time.
"""

import gzip
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import grpc

from critests.client.call_recording import Recorder
from critests.record.run_layout import RunFolder, evidence_name, safe_test_id
from critests.run.object_cleanup import ObjectCleanup

LOG_LIMIT_BYTES = 256 * 1024
MOST_CALLS = 500
MOST_CONTAINERS = 20
"""The newest ones: some tests create hundreds."""


@dataclass
class RuntimeLog:
    """The runtime's log, from which the part of a test is read.

    Attributes:
        where: a file, or the name of a systemd unit; empty if the log is not known.
    """

    where: str

    def position(self) -> float:
        """Return the current end of the log: an offset in the file, or a time."""
        if self._is_file:
            try:
                return Path(self.where).stat().st_size
            except OSError:
                return 0.0
        return time.time()

    @property
    def _is_file(self) -> bool:
        return "/" in self.where

    def since(self, position: float) -> bytes:
        """Return the log after a position, as far as it can be read."""
        if not self.where:
            return b""
        if self._is_file:
            try:
                with Path(self.where).open("rb") as log:
                    log.seek(int(position))
                    return log.read(LOG_LIMIT_BYTES)
            except OSError as error:
                return f"(the runtime's log cannot be read: {error.strerror})\n".encode()
        command = [
            "journalctl",
            "--no-pager",
            "--output=short-iso-precise",
            f"--unit={self.where}",
            f"--since=@{position:.3f}",
        ]
        try:
            return subprocess.run(command, capture_output=True, timeout=10, check=False).stdout[
                :LOG_LIMIT_BYTES
            ]
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"(the journal cannot be read: {error})\n".encode()


def write(
    folder: RunFolder,
    test_id: str,
    recorder: Recorder,
    position: int,
    cleanup: ObjectCleanup | None,
    log: RuntimeLog,
    log_position: float,
) -> str:
    """Write the evidence of a test and return its folder, relative to that of the run.

    Calls go to `calls/`, as compressed JSON lines; everything else to the test's folder below `evidence/`.
    """
    calls = recorder.since(position)[-MOST_CALLS:]
    folder.calls.mkdir(exist_ok=True)
    with gzip.open(
        folder.calls / f"{safe_test_id(test_id)}.jsonl.gz", "wt", encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.writelines(json.dumps(call.to_json(), ensure_ascii=False) + "\n" for call in calls)
    place = folder.evidence(test_id)
    place.mkdir(parents=True, exist_ok=True)
    written_log = log.since(log_position)
    if written_log:
        (place / "runtime.log").write_bytes(written_log)
    hangs = False
    for container in [*cleanup.looked_at, *cleanup.containers][-MOST_CONTAINERS:] if cleanup else ():
        name = container.config.metadata.name or container.id[:13]
        written = _tail(container.log_path)
        if written:
            (place / f"container-{safe_test_id(name)}.log").write_bytes(written)
        if hangs:
            continue
        try:
            status = str(container.status())
        except grpc.RpcError as error:
            status = f"ContainerStatus failed: {error.code()}: {error.details()}\n"
            # after one hang, do not call ContainerStatus for the other containers
            hangs = error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        except ValueError as error:  # closed channel: the test's own runtime was stopped
            status = f"ContainerStatus was not asked: {error}\n"
        (place / f"container-{safe_test_id(name)}.status.txt").write_text(
            status, encoding="utf-8", errors="backslashreplace"
        )
    return evidence_name(test_id)


def _tail(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - LOG_LIMIT_BYTES))
            return file.read(LOG_LIMIT_BYTES)
    except OSError:
        return b""
