"""Sequences of calls that violated a requirement on some runtime, as `critests explore` printed them."""

from critests.explore.setting_up import replay
from critests.model import Step
from critests.testing import Runtime, requirement

SAME_NAME_IN_ANOTHER_ATTEMPT = [
    Step("RunPodSandbox", makes="sandbox-1", name="pod"),
    Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app", process="waits"),
    Step("RunPodSandbox", makes="sandbox-3", name="pod", attempt=1),
    Step("CreateContainer", makes="container-4", inside="sandbox-3", name="app", process="waits"),
]
ENDS_AT_ONCE = [
    Step("RunPodSandbox", makes="sandbox-1", name="pod"),
    Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app", process="fails"),
    Step("StartContainer", on="container-2"),
]


@requirement("CTR-09")
def test_found_container_of_another_attempt(runtime: Runtime) -> None:
    """CreateContainer in the second attempt of a pod MUST NOT return the container of that name in the first
    attempt; it may create one or fail.

    Source: CreateContainerRequest.pod_sandbox_id; ContainerMetadata.name, unique within a sandbox only.
    """
    assert replay(runtime.context, SAME_NAME_IN_ANOTHER_ATTEMPT, "CTR-09") == []


@requirement("CTR-21")
def test_found_exit_before_the_start(runtime: Runtime) -> None:
    """ContainerStatus of a container that exits at once MUST NOT report an end before its start.

    Source: ContainerStatus.started_at and finished_at.
    """
    assert replay(runtime.context, ENDS_AT_ONCE, "CTR-21") == []
