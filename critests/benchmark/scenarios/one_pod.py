"""One pod with one container: timed calls that start and remove it, and a check that it runs."""

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import (
    check_ready,
    check_running,
    create_and_start,
    stop_and_remove_container,
    stop_and_remove_sandbox,
)

START, END = "pod start", "pod end"


class TimedPod:
    """A pod that is started once and removed once.

    Attributes:
        sandbox_id: id of its sandbox; empty before its creation and after its removal.
        container_id: id of its container; empty before its creation and after its removal.
    """

    def __init__(self, target: Target, *, start: str = START, end: str = END) -> None:
        """Build the requests.

        Args:
            target: the side.
            start: name of the summed calls that start it.
            end: name of the summed calls that remove it.
        """
        self.sandbox_id = self.container_id = ""
        self._target = target
        self._names = start, end
        self._request = target.sandbox_request()
        self._create = cri.CreateContainerRequest()

    def start(self, meter: Meter) -> None:
        """Run the sandbox, create and start the container, each in a timed window."""
        target = self._target
        with meter.sum(self._names[0]):
            self.sandbox_id = meter.call(
                "RunPodSandbox", target.runtime.RunPodSandbox, self._request
            ).pod_sandbox_id
            self._create = target.container_request(self.sandbox_id, self._request.config)
            self.container_id = create_and_start(target, meter, self._create)

    def check_running(self) -> None:
        """Check outside every timed window that the sandbox is ready and the container runs.

        Raises:
            NotDone: it is not, although all calls succeeded.
        """
        self._target.wait_for_output(self._request.config, self._create.config)
        check_ready(self._target, self.sandbox_id)
        check_running(self._target, self.container_id)

    def end(self, meter: Meter) -> None:
        """Stop and remove container and sandbox, each in a timed window, and check that they are gone."""
        with meter.sum(self._names[1]):
            stop_and_remove_container(self._target, meter, self.container_id)
            self.container_id = ""
            stop_and_remove_sandbox(self._target, meter, self.sandbox_id)
            self.sandbox_id = ""

    def discard(self) -> None:
        """Remove the pod if it exists, outside every timed window."""
        if self.sandbox_id:
            self._target.discard(self.sandbox_id)
            self.sandbox_id = self.container_id = ""
