"""Containers that count in memory and print each number: the log shows whether the process continues after a
checkpoint or a restore.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.lifecycle import container_log
from critests.testing import Container, Runtime


def count_from(start: int) -> str:
    """Return a script that counts upwards from a number, which it does not print itself."""
    # 20 ms between two numbers, so that a freeze of the process is visible as a gap in the times of its log
    return f"i={start}; while :; do i=$((i + 1)); echo $i; sleep 0.02; done"


COUNT = count_from(0)


def numbers(container: Container, since_ns: int = 0) -> list[int]:
    """Return the numbers in a container's log.

    Args:
        container: the container that counts.
        since_ns: leave out numbers printed before this time, in nanoseconds since the epoch.
    """
    records = [record for record in container.log() if record.time_ns >= since_ns]
    return [int(line) for line in container_log.lines(records, "stdout")]


def wait_for_progress(runtime: Runtime, *containers: Container) -> None:
    """Wait until each container has printed further numbers.

    Raises:
        ConditionNotMet: a container printed none.
    """
    before = [len(numbers(container)) for container in containers]

    def increased(after: Sequence[int]) -> bool:
        # two more: one may have been in the pipe already
        return all(now > then + 1 for now, then in zip(after, before, strict=True))

    runtime.eventually(
        "the containers to count on", lambda: [len(numbers(each)) for each in containers], 10, increased
    )


@dataclass(frozen=True)
class CountingContainer:
    """A container that counts, to take a checkpoint of.

    Attributes:
        runtime: the runtime that it runs on.
        container: the container.
        archive: path for its checkpoint; there is no file yet.
    """

    runtime: Runtime
    container: Container
    archive: Path

    def request(self, timeout: int = 0) -> cri.CheckpointContainerRequest:
        """Return the CheckpointContainer request; the timeout in seconds."""
        return cri.CheckpointContainerRequest(
            container_id=self.container.id, location=str(self.archive), timeout=timeout
        )

    def wait_for_progress(self) -> None:
        """Wait until the container has printed further numbers.

        Raises:
            ConditionNotMet: it printed none.
        """
        wait_for_progress(self.runtime, self.container)

    def numbers(self, since_ns: int = 0) -> list[int]:
        """Return the numbers that it has printed since a time, in nanoseconds since the epoch."""
        return numbers(self.container, since_ns)
