"""The questions of a user who chooses between two runtimes, and the operation whose samples answer each.

A comparison has one row for each, in this order, whatever was measured.
"""

from dataclasses import dataclass, field
from typing import Final

from critests.record.operations import KeyedByOperation

CPU_TIME: Final = "CPU time"
"""CPU time of the runtime for one pod cycle."""
DAEMON_MEMORY: Final = "memory of the restarted daemon"
FIRST_OUTPUT: Final = "pod start to first output"
MEMORY_OUTSIDE: Final = "memory per pod outside the daemon"


@dataclass(frozen=True, kw_only=True)
class Question(KeyedByOperation):
    """One question about speed or resources.

    Attributes:
        title: What is asked; the label of its row.
        scenario: Id of the scenario that measures it.
        operation: The operation that answers it.
        dimensions: Dimensions of that operation.
    """

    title: str
    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)


QUESTIONS: Final = (
    Question(title="a pod starts, to its first output", scenario="B-11", operation=FIRST_OUTPUT),
    Question(title="a container is created and started", scenario="B-06", operation="create and start"),
    Question(
        title="a command is executed",
        scenario="B-13",
        operation="ExecSync",
        dimensions={"output": "none"},
    ),
    Question(title="a container is stopped", scenario="B-06", operation="StopContainer"),
    Question(title="a container is removed", scenario="B-06", operation="RemoveContainer"),
    Question(title="a whole pod cycle", scenario="B-11", operation="pod cycle"),
    Question(
        title="a small image is pulled",
        scenario="B-23",
        operation="PullImage",
        dimensions={"image": "1 small layer"},
    ),
    Question(
        title="a large image (64 MB) is pulled",
        scenario="B-23",
        operation="PullImage",
        dimensions={"image": "1 layer of 64 MB"},
    ),
    Question(
        title="all is listed with 100 pods",
        scenario="B-27",
        operation="relist",
        dimensions={"pods": "100"},
    ),
    Question(
        title="pod cycles a second, 4 at once",
        scenario="B-28",
        operation="pods",
        dimensions={"concurrency": "4"},
    ),
    Question(title="memory per pod outside the daemon", scenario="B-26", operation=MEMORY_OUTSIDE),
    Question(
        title="the daemon's memory with 100 pods",
        scenario="B-27",
        operation=DAEMON_MEMORY,
        dimensions={"pods": "100"},
    ),
    Question(title="CPU time per pod cycle", scenario="B-11", operation=CPU_TIME),
)
