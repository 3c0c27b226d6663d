"""Times are nanoseconds since the epoch and not in the future; what never happened has the time 0."""

from collections.abc import Iterable
from typing import Any

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, Rule, is_plausible_time, rule

IN_NANOSECONDS = "0, or nanoseconds since the epoch"
NOT_ZERO = "nanoseconds since the epoch"

OPTIONAL_TIMES = {
    "ContainerStatus.started_at": "CTA-29",
    "ContainerStatus.finished_at": "CTA-29",
    "PodSandboxStatusResponse.timestamp": "SBA-03",
    "Metric.timestamp": "MET-05",
    # a container that has just started has no sample yet
    "CpuUsage.timestamp": "STA-02/set",
    "MemoryUsage.timestamp": "STA-02/set",
    "FilesystemUsage.timestamp": "STA-02/set",
}
"""Field to the aspect that a time in another unit breaks."""

TIMES = {
    "ContainerStatus.created_at": "CTA-04",
    "Container.created_at": "CTA-04",
    "PodSandbox.created_at": "SBA-03",
    "SwapUsage.timestamp": "STA-26",
    "IoUsage.timestamp": "STA-26",
    "NetworkUsage.timestamp": "STA-26",
    "ProcessUsage.timestamp": "STA-26",
    "ContainerEventResponse.created_at": "EVT-04/time",
}
"""Field to the aspect that 0 or a time in another unit breaks."""


def _times(aspect: str, field: str, *, optional: bool) -> Rule:
    name = field.partition(".")[2]

    def check(message: Any, response: Response) -> Iterable[Difference]:  # noqa: ANN401 - any of the messages
        value = getattr(message, name)
        if getattr(message, "state", None) == cri.CONTAINER_UNKNOWN:
            # the runtime may have lost its record
            return
        if is_plausible_time(value, response) or (optional and value == 0):
            return
        about = str(getattr(message, "id", "") or getattr(message, "container_id", ""))
        yield Difference(name, IN_NANOSECONDS if optional else NOT_ZERO, value, about)

    return Rule(aspect, (field,), check)


@rule("SBA-03", "PodSandboxStatus.created_at")
def status_has_a_creation_time(status: cri.PodSandboxStatus, of: Response) -> Iterable[Difference]:
    """PodSandboxStatus reports the time of the creation; it may be 0 in the event of a removal."""
    if not is_plausible_time(status.created_at, of) and (status.created_at or not of.is_of_removal):
        yield Difference("created_at", NOT_ZERO, status.created_at, status.id)


RULES = [
    status_has_a_creation_time,
    *(_times(aspect, field, optional=True) for field, aspect in OPTIONAL_TIMES.items()),
    *(_times(aspect, field, optional=False) for field, aspect in TIMES.items()),
]
