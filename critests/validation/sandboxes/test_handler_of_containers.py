"""RCL, RT: the handler of a container, also after a restart and after a change of the configuration."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NEEDS_ITS_OWN,
    Capability,
    OwnRuntime,
    Record,
    Runtime,
    RuntimeSetup,
    Sandbox,
    blocked,
    disruptive,
    requirement,
    requires,
    slow,
    start_configured,
)

pytestmark = [disruptive, slow]

DEFAULT = ""
SECOND = "critests-second"
"""A second handler with the same OCI runtime, which is not wrapped."""


@pytest.fixture
def program(runtime: Runtime) -> Path:
    """The OCI runtime of the default handler."""
    known = runtime.context.oci_runtimes
    if known is None or known.default is None:
        blocked(NEEDS_ITS_OWN)
    return known.default


@pytest.fixture
def two_handler_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, program: Path
) -> Iterator[OwnRuntime]:
    """A runtime of this test with a second handler; the OCI runtime of the default one is wrapped."""
    with start_configured(request, runtime, RuntimeSetup(wrapped=True, handlers={SECOND: program})) as own:
        yield own


@pytest.fixture
def links(program: Path, host_folder: Path) -> list[Path]:
    """Two symbolic links to the default handler's OCI runtime."""
    paths = [host_folder / "configured", host_folder / "configured-anew"]
    for link in paths:
        link.symlink_to(program)
    return paths


@pytest.fixture
def linked_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, links: list[Path]
) -> Iterator[OwnRuntime]:
    """A runtime of this test whose second handler is configured with the first of the links."""
    with start_configured(request, runtime, RuntimeSetup(handlers={SECOND: links[0]})) as own:
        yield own


def replaced_in_configuration(folder: Path, old: Path, new: Path) -> int:
    """Replace a path in the files of a configuration, and return the number of files that had it."""
    changed = 0
    for file in folder.rglob("*.*"):
        if file.is_file() and file.suffix in {".conf", ".toml"}:
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(str(old), str(new)), encoding="utf-8")
            changed += str(old) in text
    return changed


def pods_of_both(runtime: OwnRuntime) -> dict[str, Sandbox]:
    """Run a sandbox with the default handler and one with the second."""
    pods = {}
    for handler in (DEFAULT, SECOND):
        config = runtime.sandboxes.config()
        response = runtime.stub.RunPodSandbox(runtime.sandboxes.creation(config, handler))
        pods[handler] = runtime.sandboxes.adopt(response.pod_sandbox_id, config)
    return pods


def created_by_default_handler(runtime: OwnRuntime, pods: dict[str, Sandbox]) -> dict[str, bool]:
    """Create and start a container in each pod, and return whether the default handler's OCI runtime created
    it.
    """
    with runtime.oci.planned({"create": [Record()]}):
        containers = {
            handler: runtime.containers.attempt(runtime.containers.config(), in_sandbox=pod).id
            for handler, pod in pods.items()
        }
        created = {invocation.id for invocation in runtime.oci.take()}
    return {handler: container in created for handler, container in containers.items()}


@requirement("RCL-09/handler")
def test_container_is_created_by_the_handler_of_its_sandbox(two_handler_runtime: OwnRuntime) -> None:
    """CreateContainer MUST use the handler of the sandbox.

    Source: RunPodSandboxRequest.runtime_handler, CreateContainerRequest.pod_sandbox_id.
    """
    pods = pods_of_both(two_handler_runtime)

    by_default = created_by_default_handler(two_handler_runtime, pods)

    assert by_default == {DEFAULT: True, SECOND: False}


@requirement("RCL-09/restart")
def test_sandbox_retains_its_handler_over_a_restart(two_handler_runtime: OwnRuntime) -> None:
    """CreateContainer MUST use the handler of the sandbox also after the runtime was killed and restarted.

    Source: RunPodSandboxRequest.runtime_handler, CreateContainerRequest.pod_sandbox_id.
    """
    pods = pods_of_both(two_handler_runtime)
    two_handler_runtime.restart(signal.SIGKILL)

    by_default = created_by_default_handler(two_handler_runtime, pods)

    assert by_default == {DEFAULT: True, SECOND: False}


@requirement("RT-14/complete")
@requires(Capability.RUNTIME_HANDLERS)
def test_every_configured_handler_is_listed(two_handler_runtime: OwnRuntime) -> None:
    """Status SHOULD list every configured handler by its name.

    Source: StatusResponse.runtime_handlers, RuntimeHandler.name.
    """
    configured = {SECOND, *two_handler_runtime.daemon.handlers} - {DEFAULT}

    response = two_handler_runtime.stub.Status(cri.StatusRequest())

    assert configured - {handler.name for handler in response.runtime_handlers} == set()


@requirement("RCL-10")
def test_running_pod_survives_a_change_of_its_handler(linked_runtime: OwnRuntime, links: list[Path]) -> None:
    """Pods of a handler SHOULD keep running after its configuration has changed and the runtime was
    restarted, and it SHOULD be possible to run commands in them, stop them and remove them.

    Source: RunPodSandboxRequest.runtime_handler. Not stated by the CRI; administrators change the
    configuration of nodes that run pods.
    """
    config = linked_runtime.sandboxes.config()
    response = linked_runtime.stub.RunPodSandbox(linked_runtime.sandboxes.creation(config, SECOND))
    pod = linked_runtime.sandboxes.adopt(response.pod_sandbox_id, config)
    container = linked_runtime.container(pod)

    with linked_runtime.down():
        if not replaced_in_configuration(linked_runtime.daemon.state, *links):
            blocked("the program of a handler is not found in the runtime's configuration")

    assert container.state() == cri.CONTAINER_RUNNING
    assert linked_runtime.stub.ExecSync(container.exec_request("echo", "here")).stdout == b"here\n"
    linked_runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    linked_runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    assert pod.entries() == []
