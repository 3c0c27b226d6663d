"""Workloads: the lifecycles of sandboxes, containers and pods, each RPC in its own timed window."""

import contextlib
import time
from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import PLAIN, Target
from critests.lifecycle.user_namespaces import with_user_namespace
from critests.record.comparison_questions import FIRST_OUTPUT
from critests.run.outcomes import Blocked

HOST = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD)
GONE = "gone"
EXIT_SECONDS = 0.5


def sandbox_cycle(*, network: bool = True, user_namespace: bool = False) -> Workload:
    """Return the workload that runs, stops and removes one sandbox after another."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        namespaces = None if network else HOST
        if user_namespace:
            namespaces = with_user_namespace()

        def cycle(meter: Meter) -> None:
            request = target.sandbox_request(namespaces=namespaces)
            sandbox_id = meter.call("RunPodSandbox", target.runtime.RunPodSandbox, request).pod_sandbox_id
            try:
                check_ready(target, sandbox_id, network=network)
                stop_and_remove_sandbox(target, meter, sandbox_id)
            except BaseException:
                target.discard(sandbox_id)
                raise

        yield cycle

    return prepared


@contextlib.contextmanager
def container_lifecycle(target: Target) -> Iterator[Cycle]:
    """Prepare a sandbox; each cycle creates, starts, stops and removes a container in it."""
    with target.sandbox() as sandbox:

        def cycle(meter: Meter) -> None:
            request = target.container_request(sandbox.id, sandbox.config)
            container_id = ""
            try:
                with meter.sum("create and start"):
                    container_id = meter.call(
                        "CreateContainer", target.runtime.CreateContainer, request
                    ).container_id
                    meter.call(
                        "StartContainer",
                        target.runtime.StartContainer,
                        cri.StartContainerRequest(container_id=container_id),
                    )
                target.wait_for_output(sandbox.config, request.config)
                check_running(target, container_id)
                stop_and_remove_container(target, meter, container_id)
            except BaseException:
                if container_id:
                    target.discard_container(container_id)
                raise

        yield cycle


def pod_cycle(*, network: bool = True) -> Workload:
    """Return the workload that starts a pod, reads its status and removes it, one pod after another."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        namespaces = None if network else HOST
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            request = target.sandbox_request(namespaces=namespaces)
            sandbox_id = ""
            try:
                with meter.sum("pod cycle"):
                    with meter.sum("pod start"):
                        sandbox_id = meter.call(
                            "RunPodSandbox", target.runtime.RunPodSandbox, request
                        ).pod_sandbox_id
                        status = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
                        response = meter.call("PodSandboxStatus", target.runtime.PodSandboxStatus, status)
                        _check_ready_status(response.status, network=network)
                        begin, _ = meter.windows["RunPodSandbox"]
                        container_id = start_container(target, meter, sandbox_id, request.config)
                    meter.add(FIRST_OUTPUT, time.perf_counter() - begin, begin)
                    stop_and_remove_container(target, meter, container_id)
                    stop_and_remove_sandbox(target, meter, sandbox_id)
            except BaseException:
                if sandbox_id:
                    target.discard(sandbox_id)
                raise

        yield cycle

    return prepared


def create_and_start(target: Target, meter: Meter, request: cri.CreateContainerRequest) -> str:
    """Create and start a container in timed windows; return its id."""
    container_id: str = meter.call("CreateContainer", target.runtime.CreateContainer, request).container_id
    meter.call(
        "StartContainer", target.runtime.StartContainer, cri.StartContainerRequest(container_id=container_id)
    )
    return container_id


def start_container(target: Target, meter: Meter, sandbox_id: str, sandbox: cri.PodSandboxConfig) -> str:
    """Create and start a container and read its status in timed windows, and check outside them that it
    runs.
    """
    request = target.container_request(sandbox_id, sandbox)
    container_id = create_and_start(target, meter, request)
    meter.call(
        "ContainerStatus",
        target.runtime.ContainerStatus,
        cri.ContainerStatusRequest(container_id=container_id),
    )
    # its output shows that it runs
    target.wait_for_output(sandbox, request.config)
    return container_id


def stop_and_remove_sandbox(target: Target, meter: Meter, sandbox_id: str) -> None:
    """Stop and remove a sandbox in timed windows, and check outside them that it is not ready, and then
    gone.
    """
    meter.call(
        "StopPodSandbox", target.runtime.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
    )
    status = target.sandbox_status(sandbox_id)
    if status is not None and status.state != cri.SANDBOX_NOTREADY:
        msg = f"StopPodSandbox returned, and the sandbox is {cri.PodSandboxState.Name(status.state)}"
        raise NotDone(msg)
    meter.call(
        "RemovePodSandbox",
        target.runtime.RemovePodSandbox,
        cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id),
    )
    if target.sandbox_status(sandbox_id) is not None:
        msg = "RemovePodSandbox returned, and PodSandboxStatus still knows the sandbox"
        raise NotDone(msg)


def stop_and_remove_container(target: Target, meter: Meter, container_id: str, grace: int = 10) -> None:
    """Stop and remove a container in timed windows, and check outside them that it has exited, and is
    gone.
    """
    meter.call(
        "StopContainer",
        target.runtime.StopContainer,
        cri.StopContainerRequest(container_id=container_id, timeout=grace),
    )
    check_exited(target, container_id)
    meter.call(
        "RemoveContainer",
        target.runtime.RemoveContainer,
        cri.RemoveContainerRequest(container_id=container_id),
    )
    check_removed(target, container_id)


def check_ready(target: Target, sandbox_id: str, *, network: bool = True) -> None:
    """Check outside the timed windows that a sandbox is ready, with an IP address if it is on the pod
    network.
    """
    status = target.sandbox_status(sandbox_id)
    if status is None:
        msg = "RunPodSandbox returned, and PodSandboxStatus does not know the sandbox"
        raise NotDone(msg)
    _check_ready_status(status, network=network)


def _check_ready_status(status: cri.PodSandboxStatus, *, network: bool) -> None:
    if status.state != cri.SANDBOX_READY or (network and not status.network.ip):
        msg = (
            f"RunPodSandbox returned, and the sandbox is {cri.PodSandboxState.Name(status.state)} with the"
            f" address {status.network.ip!r}"
        )
        raise NotDone(msg)


def address_of(target: Target, sandbox_id: str) -> str:
    """Return the IP address of a pod.

    Raises:
        Blocked: it has none.
    """
    status = target.sandbox_status(sandbox_id)
    if status is None or not status.network.ip:
        raise Blocked("needs a pod with an address", by="NET-01")
    return str(status.network.ip)


def check_running(target: Target, container_id: str) -> None:
    """Check outside the timed windows that a container is running."""
    state = _state(target, container_id)
    if state != "CONTAINER_RUNNING":
        msg = f"StartContainer returned, and the container is {state}"
        raise NotDone(msg)


def check_exited(target: Target, container_id: str) -> None:
    """Check outside the timed windows that a container has exited.

    The runtime may respond to the stop shortly before it reports the exit: it has half a second.
    """
    deadline = time.monotonic() + EXIT_SECONDS * target.connection.deadlines.scale
    while (state := _state(target, container_id)) not in {"CONTAINER_EXITED", GONE}:
        if time.monotonic() > deadline:
            msg = f"StopContainer returned, and the container is {state}"
            raise NotDone(msg)
        time.sleep(0.005)


def check_removed(target: Target, container_id: str) -> None:
    """Check outside the timed windows that a container was removed."""
    state = _state(target, container_id)
    if state != GONE:
        msg = f"RemoveContainer returned, and ContainerStatus still knows the container as {state}"
        raise NotDone(msg)


def _state(target: Target, container_id: str) -> str:
    status = target.container_status(container_id)
    return cri.ContainerState.Name(status.state) if status is not None else GONE
