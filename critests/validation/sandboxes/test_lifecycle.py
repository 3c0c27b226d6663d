"""SBX: the life of a sandbox."""

from collections.abc import Callable

from critests.api import api_pb2 as cri
from critests.fixtures.marks import requirement
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import SandboxFactory
from critests.lifecycle.sandboxes import Sandbox

Adopt = Callable[[str, cri.PodSandboxConfig], Sandbox]


@requirement("SBX-01")
def test_run_pod_sandbox_returns_a_ready_sandbox(runtime: Runtime, sandbox_config: cri.PodSandboxConfig, adopt_sandbox: Adopt) -> None:
    """RunPodSandbox MUST return only when the sandbox is ready.

    Source: RunPodSandbox, PodSandboxStatus.state.
    """
    answer = runtime.stub.RunPodSandbox(cri.RunPodSandboxRequest(config=sandbox_config, runtime_handler=runtime.handler))

    assert adopt_sandbox(answer.pod_sandbox_id, sandbox_config).state() == cri.SANDBOX_READY


@requirement("SBX-12")
def test_stop_pod_sandbox_ends_the_sandbox(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """StopPodSandbox MUST make the sandbox not ready.

    Source: StopPodSandbox.
    """
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-07")
def test_sandboxes_of_one_name_live_in_two_namespaces(new_sandbox: SandboxFactory) -> None:
    """Sandboxes of the same name in different namespaces MUST coexist.

    Source: PodSandboxMetadata.
    """
    one, other = new_sandbox(name="twin", namespace="one"), new_sandbox(name="twin", namespace="other")

    assert one.id != other.id
    assert (one.state(), other.state()) == (cri.SANDBOX_READY, cri.SANDBOX_READY)
