"""Containers that count in their memory and print each number, so that it shows whether one goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime
from critests.lifecycle import container_log
from critests.lifecycle.containers import Container


def count_from(start: int) -> str:
    """Return the script of a process that counts, beginning after a number."""
    return f"i={start}; while :; do i=$((i + 1)); echo $i; sleep 0.02; done"


COUNT = count_from(0)


def numbers(container: Container, since_ns: int = 0) -> list[int]:
    """Return the numbers in a container's log.

    Args:
        container: it.
        since_ns: leave out what was printed before, in nanoseconds since the epoch.
    """
    records = [record for record in container.log() if record.time_ns >= since_ns]
    return [int(line) for line in container_log.lines(records, "stdout")]


def goes_on(runtime: Runtime, *containers: Container) -> None:
    """Wait until containers have counted further than now.

    Raises:
        ConditionNotMet: one did not.
    """
    before = [len(numbers(container)) for container in containers]

    def further(after: Sequence[int]) -> bool:
        return all(now > then + 1 for now, then in zip(after, before, strict=True))

    runtime.eventually(
        "the containers to count further", lambda: [len(numbers(each)) for each in containers], 10, further
    )


@dataclass(frozen=True)
class Counter:
    """A container that counts, and is to be saved.

    Attributes:
        runtime: where it lives.
        container: it.
        archive: where its checkpoint is to be written; there is nothing yet.
    """

    runtime: Runtime
    container: Container
    archive: Path

    def request(self, timeout: int = 0) -> cri.CheckpointContainerRequest:
        """Return the request to save it; the timeout in seconds."""
        return cri.CheckpointContainerRequest(
            container_id=self.container.id, location=str(self.archive), timeout=timeout
        )

    def goes_on(self) -> None:
        """Wait until it has counted further than now.

        Raises:
            ConditionNotMet: it did not.
        """
        goes_on(self.runtime, self.container)

    def numbers(self, since_ns: int = 0) -> list[int]:
        """Return what it has printed; since a time, in nanoseconds since the epoch."""
        return numbers(self.container, since_ns)
