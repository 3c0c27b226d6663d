"""What is kept when a test is not green: its calls, the logs of its containers, the runtime's own log of that
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
CALLS_KEPT = 500
CONTAINERS_KEPT = 20
"""The newest ones: some tests make hundreds."""


@dataclass
class RuntimeLog:
    """The runtime's log, of which a test's share is cut out.

    Attributes:
        where: a file, or the name of a systemd unit; empty where no log is known.
    """

    where: str

    def position(self) -> float:
        """Return where the log is now: an offset in the file, or a time."""
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
        """Return what was written after a position, as far as it can be read."""
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
    """Write the evidence of a test and return its place relative to the run's folder.

    Calls go to `calls/`, as compressed JSON lines; everything else to the test's folder below `evidence/`.
    """
    calls = recorder.since(position)[-CALLS_KEPT:]
    folder.calls.mkdir(exist_ok=True)
    with gzip.open(
        folder.calls / f"{safe_test_id(test_id)}.jsonl.gz", "wt", encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.writelines(json.dumps(call.to_json(), ensure_ascii=False) + "\n" for call in calls)
    place = folder.evidence(test_id)
    place.mkdir(parents=True, exist_ok=True)
    said = log.since(log_position)
    if said:
        (place / "runtime.log").write_bytes(said)
    hangs = False
    for container in [*cleanup.looked_at, *cleanup.containers][-CONTAINERS_KEPT:] if cleanup else ():
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
            # the others' deadlines are not waited for as well
            hangs = error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        except ValueError as error:  # gRPC's for a closed channel: the test's own runtime has gone
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
