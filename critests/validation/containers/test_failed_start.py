"""CTR: a process that cannot start. Some runtimes fail in CreateContainer, others in StartContainer; tests
accept either.
"""

from collections.abc import Callable
from dataclasses import dataclass

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Container,
    Containers,
    RecordVariant,
    Registry,
    Runtime,
    Sandbox,
    refused_with,
    requirement,
)


@dataclass(frozen=True)
class AttemptedContainer:
    """The result of an attempt to create and start a container.

    Attributes:
        failed: the RPC that failed; empty if none did.
        container: None if CreateContainer failed.
    """

    failed: str
    container: Container | None


Attempt = Callable[[cri.ContainerConfig], AttemptedContainer]


@pytest.fixture
def attempt(runtime: Runtime, containers: Containers) -> Attempt:
    """Creates and starts a container, and returns which of the two calls failed."""

    def run(config: cri.ContainerConfig) -> AttemptedContainer:
        try:
            container_id = runtime.stub.CreateContainer(containers.creation(config)).container_id
        except grpc.RpcError as error:
            refused_with(error)
            return AttemptedContainer("CreateContainer", None)
        container = containers.adopt(container_id, config)
        try:
            container.start()
        except grpc.RpcError as error:
            refused_with(error)
            return AttemptedContainer("StartContainer", container)
        return AttemptedContainer("", container)

    return run


@requirement("CTR-14")
def test_a_file_that_cannot_be_executed_is_never_running(
    runtime: Runtime, attempt: Attempt, containers: Containers, registry: Registry
) -> None:
    """A container whose file the kernel cannot execute MUST NOT stay created or running: CreateContainer or
    StartContainer fails, or the container exits with a code other than 0.

    Source: StartContainer, ContainerStatus.state and exit_code.
    """
    # executable by its mode, so that only the content is wrong
    broken = registry.mint(
        changes={"files": [{"path": "bin/broken", "content": "no program\n", "mode": 0o755}]}
    )  # neither ELF nor `#!`: execve(2) fails with ENOEXEC

    attempted = attempt(containers.config(image=registry.pull(broken), command=["/bin/broken"]))

    if attempted.container is not None:
        entries = runtime.eventually(
            "the container to be exited or removed",
            attempted.container.entries,
            holds=lambda items: all(item.state == cri.CONTAINER_EXITED for item in items),
        )
        # a runtime may remove the container only if it has reported the failure
        if entries or not attempted.failed:
            assert attempted.container.status().exit_code != 0


@pytest.mark.parametrize(
    ("program", "tty"),
    [
        pytest.param("/bin/critests-no-such-program", False, marks=requirement("CTR-15/error"), id="absent"),
        pytest.param(
            "/bin/critests-no-such-program",
            True,
            marks=requirement("CTR-15/error"),
            id="absent, with a terminal",
        ),
        pytest.param("/etc/passwd", False, marks=requirement("CTR-16"), id="without permission to execute"),
    ],
)
def test_a_command_that_cannot_be_executed_is_refused(
    containers: Containers, program: str, *, tty: bool
) -> None:
    """CreateContainer or StartContainer MUST fail if the command does not exist in the container, with a
    terminal and without one, and if it is a file without permission to execute.

    Source: ContainerConfig.command.
    """
    config = containers.config(command=[program])
    config.tty = tty

    containers.refusal(config)


@requirement("CTR-15/form")
def test_form_of_a_failed_start(
    attempt: Attempt, containers: Containers, record_variant: RecordVariant
) -> None:
    """CreateContainer MAY accept a command that does not exist, and StartContainer then fails; the resulting
    state is recorded.

    Source: ContainerStatus; the CRI does not state which of the two calls looks for the file.
    """
    attempted = attempt(containers.config(command=["/bin/critests-no-such-program"]))

    if attempted.container is None:
        record_variant("CreateContainer fails")
        return
    assert attempted.failed == "StartContainer"
    # some runtimes remove a container that could not start
    if not attempted.container.entries():
        record_variant("StartContainer fails; the container is gone")
        return
    status = attempted.container.status()
    record_variant(
        f"StartContainer fails; {cri.ContainerState.Name(status.state)}, {status.exit_code},"
        f" {status.reason or 'no reason'}"
    )
    assert status.state != cri.CONTAINER_RUNNING


@requirement("CTR-17")
def test_a_container_that_could_not_start_can_be_replaced(
    runtime: Runtime, attempt: Attempt, containers: Containers, sandbox: Sandbox
) -> None:
    """RemoveContainer MUST remove a container that could not start, and another one in its place MUST run.

    Source: RemoveContainer.
    """
    config = containers.config(command=["/bin/critests-no-such-program"])
    attempted = attempt(config)

    if attempted.container is not None:
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=attempted.container.id))

    # a command that exists, under the same name
    second = attempt(containers.config(name=config.metadata.name, attempt=1))
    assert not second.failed
    assert second.container is not None
    assert second.container.state() == cri.CONTAINER_RUNNING
    inside = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=sandbox.id))
    ).containers
    assert [item.id for item in inside if item.metadata.name == config.metadata.name] == [second.container.id]
