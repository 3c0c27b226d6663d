"""One pod with one container: the calls that start it and that end it, and a look whether they did."""

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import (
    create_and_start,
    end_container,
    end_sandbox,
    is_ready,
    is_running,
)

START, END = "pod start", "pod end"


class TimedPod:
    """A pod that is started once and ended once.

    Attributes:
        sandbox_id: of its sandbox; empty before there is one, and when it is gone.
        container_id: of its container; likewise.
    """

    def __init__(self, target: Target, *, start: str = START, end: str = END) -> None:
        """Prepare its requests, and make nothing.

        Args:
            target: where it is to be.
            start: what the sum of the calls that start it is called.
            end: what the sum of the calls that end it is called.
        """
        self.sandbox_id = self.container_id = ""
        self._target = target
        self._names = start, end
        self._request = target.sandbox_request()
        self._create = cri.CreateContainerRequest()

    def start(self, meter: Meter) -> None:
        """Run its sandbox, create and start its container, each in a timed window."""
        target = self._target
        with meter.sum(self._names[0]):
            self.sandbox_id = meter.call(
                "RunPodSandbox", target.runtime.RunPodSandbox, self._request
            ).pod_sandbox_id
            self._create = target.container_request(self.sandbox_id, self._request.config)
            self.container_id = create_and_start(target, meter, self._create)

    def look(self) -> None:
        """See outside of every timed window that it is ready and runs.

        Raises:
            NotDone: it is not, although all calls said so.
        """
        self._target.until_output(self._request.config, self._create.config)
        is_ready(self._target, self.sandbox_id)
        is_running(self._target, self.container_id)

    def end(self, meter: Meter) -> None:
        """Stop and remove container and sandbox, each in a timed window, and see that they are gone."""
        with meter.sum(self._names[1]):
            end_container(self._target, meter, self.container_id)
            self.container_id = ""
            end_sandbox(self._target, meter, self.sandbox_id)
            self.sandbox_id = ""

    def discard(self) -> None:
        """Remove what is left of it, outside every timed window."""
        if self.sandbox_id:
            self._target.discard(self.sandbox_id)
            self.sandbox_id = self.container_id = ""
