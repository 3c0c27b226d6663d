"""NS: containers that join the PID namespace of another one, as ephemeral containers do."""

import secrets

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    HOST,
    VIEWS,
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    SharedContainers,
    may_be_refused,
    requirement,
    requires,
)


def namespaces_of_target(target: str) -> cri.NamespaceOption:
    """Return the namespace options of a container that joins the PID namespace of another one."""
    return cri.NamespaceOption(network=cri.POD, pid=cri.TARGET, ipc=cri.POD, target_id=target)


@requirement("NS-06")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_container_joins_the_pid_namespace_of_its_target(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """Every process of a container with the PID mode TARGET MUST be in the PID namespace of its target.

    Source: NamespaceOption.pid and target_id.
    """
    target = shared_containers.container()
    of_the_target = shared_containers.process(EXEC).namespaces

    joined = shared_containers.process(seen_from, namespaces=namespaces_of_target(target.id)).namespaces

    assert joined["pid"] == of_the_target["pid"]
    assert joined["mnt"] != of_the_target["mnt"]


@requirement("NS-07/unknown")
# the second has the form of an id, but no container has it
@pytest.mark.parametrize("target", ["", secrets.token_hex(32)], ids=["missing", "unknown"])
def test_unknown_target_is_refused(containers: Containers, target: str) -> None:
    """CreateContainer or StartContainer with an empty or unknown `target_id` MUST be rejected.

    Source: NamespaceOption.target_id.
    """
    containers.refusal(containers.config(namespaces=namespaces_of_target(target)))


@requirement("NS-07/exited")
def test_exited_target_is_refused(containers: Containers, exited_container: Container) -> None:
    """CreateContainer or StartContainer SHOULD reject a target that has exited, as it has no PID namespace.

    Source: NamespaceOption.target_id.
    """
    containers.refusal(containers.config(namespaces=namespaces_of_target(exited_container.id)))


@requirement("NS-07/exited")
def test_a_target_in_another_pod_is_refused(containers: Containers, own_sandbox: Sandbox) -> None:
    """CreateContainer or StartContainer SHOULD reject a target in another pod.

    Source: NamespaceOption.target_id, which names a container of the same sandbox.
    """
    elsewhere = containers.running(in_sandbox=own_sandbox)

    containers.refusal(containers.config(namespaces=namespaces_of_target(elsewhere.id)))


@requirement("NS-07/created")
def test_form_of_a_target_that_is_not_started(
    containers: Containers, container: Container, record_variant: RecordVariant
) -> None:
    """CreateContainer or StartContainer MAY reject a target that is created and not started, or join it.

    Source: NamespaceOption.target_id; the CRI does not say.
    """
    joined = None

    with may_be_refused():
        joined = containers.attempt(containers.config(namespaces=namespaces_of_target(container.id)))

    record_variant("refused" if joined is None else "joined")
    assert joined is None or joined.state() == cri.CONTAINER_RUNNING


@requirement("NS-08")
def test_target_id_is_ignored_without_mode_target(containers: Containers) -> None:
    """A `target_id` SHOULD be ignored if no namespace has the mode TARGET.

    Source: NamespaceOption.target_id, which belongs to TARGET.
    """
    namespaces = cri.NamespaceOption(
        network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD, target_id=secrets.token_hex(32)
    )

    container = containers.attempt(containers.config(namespaces=namespaces))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("NS-09")
def test_target_continues_when_a_joined_container_exits(runtime: Runtime, containers: Containers) -> None:
    """A target MUST continue to run when a container that joined its PID namespace exits.

    Source: NamespaceOption.pid; a PID namespace exists as long as its first process.
    """
    target = containers.running()
    joined = containers.running(namespaces=namespaces_of_target(target.id))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=joined.id, timeout=0))

    assert joined.exited().state == cri.CONTAINER_EXITED
    assert target.output("echo", "alive") == "alive"
    assert target.state() == cri.CONTAINER_RUNNING


@requirement("NS-09")
def test_joined_containers_exit_with_their_target(runtime: Runtime, containers: Containers) -> None:
    """Containers that joined the PID namespace of a target MUST exit with it.

    Source: NamespaceOption.pid; the kernel kills all processes of a PID namespace when its first one exits.
    """
    target = containers.running()
    joined = containers.running(namespaces=namespaces_of_target(target.id))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=target.id, timeout=0))

    # 137 is 128 plus the number of SIGKILL
    assert joined.exited().exit_code == 137
