"""NS: containers that join the processes of another one, as debug containers do."""

import secrets

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.session import Observe
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.containers import Container
from critests.lifecycle.process import EXEC, HOST, VIEWS
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires


def joining(target: str) -> cri.NamespaceOption:
    """Return the namespaces of a container that joins the processes of another one."""
    return cri.NamespaceOption(network=cri.POD, pid=cri.TARGET, ipc=cri.POD, target_id=target)


@requirement("NS-06")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_a_container_joins_the_processes_of_its_target(shared: SharedContainers, seen_from: str) -> None:
    """With the pid namespace of a TARGET, every process of the container MUST be in that container's.

    Source: NamespaceOption.pid and target_id.
    """
    target = shared.container()
    of_the_target = shared.process(EXEC).namespaces

    found = shared.process(seen_from, namespaces=joining(target.id)).namespaces

    assert found["pid"] == of_the_target["pid"]
    assert found["mnt"] != of_the_target["mnt"]


@requirement("NS-07/unknown")
@pytest.mark.parametrize("target", ["", secrets.token_hex(32)], ids=["missing", "unknown"])
def test_a_target_that_nobody_knows_is_refused(containers: Containers, target: str) -> None:
    """A container that is to join the processes of none, or of one that does not exist, MUST be refused.

    Source: NamespaceOption.target_id.
    """
    containers.refusal(containers.config(namespaces=joining(target)))


@requirement("NS-07/exited")
def test_a_target_that_has_ended_is_refused(containers: Containers, ended_container: Container) -> None:
    """A container that is to join the processes of one that has ended SHOULD be refused: it has none.

    Source: NamespaceOption.target_id.
    """
    containers.refusal(containers.config(namespaces=joining(ended_container.id)))


@requirement("NS-07/exited")
def test_a_target_in_another_pod_is_refused(containers: Containers, own_sandbox: Sandbox) -> None:
    """A container that is to join the processes of one in another pod SHOULD be refused.

    Source: NamespaceOption.target_id, which names one of the same sandbox.
    """
    elsewhere = containers.running(in_sandbox=own_sandbox)

    containers.refusal(containers.config(namespaces=joining(elsewhere.id)))


@requirement("NS-07/created")
def test_a_target_that_has_not_been_started(
    containers: Containers, container: Container, observe: Observe
) -> None:
    """A container that is to join the processes of one that was only created MAY be refused, or join it.

    Source: NamespaceOption.target_id; the CRI does not say.
    """
    joined = None

    with may_be_refused():
        joined = containers.attempt(containers.config(namespaces=joining(container.id)))

    observe("refused" if joined is None else "joined")
    assert joined is None or joined.state() == cri.CONTAINER_RUNNING


@requirement("NS-08")
def test_a_target_that_nothing_joins_is_not_looked_for(containers: Containers) -> None:
    """A target_id SHOULD be ignored where no namespace is that of a TARGET.

    Source: NamespaceOption.target_id, which belongs to TARGET.
    """
    namespaces = cri.NamespaceOption(
        network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD, target_id=secrets.token_hex(32)
    )

    container = containers.attempt(containers.config(namespaces=namespaces))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("NS-09")
def test_a_container_that_joined_ends_alone(runtime: Runtime, containers: Containers) -> None:
    """The end of a container that joined the processes of another one MUST leave that one running.

    Source: NamespaceOption.pid; a pid namespace lives as long as its first process.
    """
    target = containers.running()
    joined = containers.running(namespaces=joining(target.id))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=joined.id, timeout=0))

    assert joined.exited().state == cri.CONTAINER_EXITED
    assert target.output("echo", "alive") == "alive"
    assert target.state() == cri.CONTAINER_RUNNING


@requirement("NS-09")
def test_containers_that_joined_end_with_their_target(runtime: Runtime, containers: Containers) -> None:
    """The end of a container MUST end those that have joined its processes.

    Source: NamespaceOption.pid; the kernel kills a pid namespace with its first process.
    """
    target = containers.running()
    joined = containers.running(namespaces=joining(target.id))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=target.id, timeout=0))

    assert joined.exited().exit_code == 137
