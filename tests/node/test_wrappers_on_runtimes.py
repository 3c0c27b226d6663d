"""Both wrappers with every runtime of this machine: a CRI client observes the planned actions, and nothing is
left.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.run_label import RunIdentity
from critests.node.run_state import run_directories
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from critests.node.starting.wrapper_setup import Wrappers
from critests.node.wrappers.actions import ALL, Delay, Edit, Fail, Record
from critests.node.wrappers.phases import Phases, split
from critests.node.wrappers.stand_in import CniWrapper, OciWrapper
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from tests.criserver.clients import eventually
from tests.node.test_leaves_nothing import BINARIES, EVERY_KIND

pytestmark = pytest.mark.runtime

OWN_PROCESSES = cri.NamespaceOption(pid=cri.CONTAINER)
"""With it CRI-O starts no sandbox process, whose oom_score_adj root cannot lower on every machine."""


class Pods:
    """A client of a throwaway runtime with both wrappers."""

    def __init__(self, runtime: ThrowawayRuntime, connection: Connection, image: str, logs: Path) -> None:
        assert runtime.wrappers.oci is not None
        assert runtime.wrappers.cni is not None
        self.oci: OciWrapper = runtime.wrappers.oci
        self.cni: CniWrapper = runtime.wrappers.cni
        self.connection, self.image, self.logs = connection, image, logs
        self.number = 0

    def configuration(self) -> cri.PodSandboxConfig:
        self.number += 1
        metadata = cri.PodSandboxMetadata(
            name=f"pod{self.number}", uid=f"{self.number}", namespace="wrappers"
        )
        return cri.PodSandboxConfig(
            metadata=metadata,
            log_directory=str(self.logs),
            linux=cri.LinuxPodSandboxConfig(
                security_context=cri.LinuxSandboxSecurityContext(namespace_options=OWN_PROCESSES)
            ),
        )

    def run(self, config: cri.PodSandboxConfig) -> str:
        return self.connection.runtime.RunPodSandbox(cri.RunPodSandboxRequest(config=config)).pod_sandbox_id

    def create(self, pod: str, config: cri.PodSandboxConfig, script: str) -> str:
        container = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name="container"),
            image=cri.ImageSpec(image=self.image, user_specified_image=self.image),
            command=["/bin/sh", "-c", script],
            envs=[cri.KeyValue(key="TEXT", value=b"original")],
            log_path=f"{self.number}.log",
            linux=cri.LinuxContainerConfig(
                security_context=cri.LinuxContainerSecurityContext(namespace_options=OWN_PROCESSES)
            ),
        )
        request = cri.CreateContainerRequest(pod_sandbox_id=pod, config=container, sandbox_config=config)
        return self.connection.runtime.CreateContainer(request).container_id

    def start(self, container: str) -> None:
        self.connection.runtime.StartContainer(cri.StartContainerRequest(container_id=container))

    def remove_all(self) -> None:
        for pod in self.connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items:
            self.connection.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
            self.connection.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))


@pytest.fixture(scope="module", params=EVERY_KIND)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    run = RunIdentity.new()
    kind = request.param
    wrapped = WrappedPrograms(oci=True, cni=True)
    with throwaway_with_registry(kind.name, run_id=run.id, binary=kind, wrapped=wrapped) as (
        runtime,
        registry,
    ):
        image = registry.mint("plain", f"critests/{run.id}/plain").reference
        connection = connect(Endpoint.parse(runtime.endpoint))
        connection.images.PullImage(cri.PullImageRequest(image=cri.ImageSpec(image=image)))
        yield Pods(runtime, connection, image, tmp_path_factory.mktemp("logs"))
        connection.close()
    assert not run_directories.run_dir(run.id).exists()
    assert not (run_directories.FILES / run.id).exists()


@pytest.fixture
def pods(running: Pods) -> Iterator[Pods]:
    running.oci.take()
    running.cni.take()
    yield running
    running.oci.plan({})
    running.cni.plan({})
    running.remove_all()


def timed(call: Callable[[], str | None]) -> tuple[float, float, str]:
    begin = time.monotonic()
    response = call()
    return begin, time.monotonic() - begin, response or ""


def test_lifecycle_of_a_pod_is_recorded_and_its_time_split(pods: Pods) -> None:
    pods.oci.plan({ALL: [Record()]})
    pods.cni.plan({ALL: [Record()]})
    config = pods.configuration()

    *run, pod = timed(lambda: pods.run(config))
    *create, container = timed(lambda: pods.create(pod, config, "exec sleep 100"))
    *start, _ = timed(lambda: pods.start(container))
    pods.connection.runtime.StopContainer(cri.StopContainerRequest(container_id=container, timeout=0))
    pods.remove_all()

    oci, cni = pods.oci.take(), pods.cni.take()
    assert {one.exit_code for one in cni} == {0}
    # some runtimes do not call the loopback plugin, and some call CHECK after ADD
    assert {(one.program, one.operation) for one in cni if one.id == pod} >= {
        (name, operation) for name in ("bridge", "portmap") for operation in ("ADD", "DEL")
    }
    # not every runtime starts a sandbox process
    owners = {one.id for one in oci}
    assert {container} <= owners <= {pod, container}
    for owner in owners:
        # CRI-O calls `state` in between
        operations = [one.operation for one in oci if one.id == owner and one.operation != "state"]
        assert operations[:2] == ["create", "start"]
        assert {"kill", "delete"} <= set(operations)
    of_run, of_create, of_start = (
        split(begin, seconds, cni=cni, oci=oci) for begin, seconds in (run, create, start)
    )
    assert_phases(of_run, run[1], sandbox_process=pod in owners)
    assert of_run.cni > 0
    assert of_create.cni == of_start.cni == 0
    assert_phases(of_start, start[1])


def assert_phases(phases: Phases, seconds: float, *, sandbox_process: bool = True) -> None:
    assert (phases.oci > 0) is sandbox_process
    assert phases.rest > 0
    assert phases.total == pytest.approx(seconds)


def test_delay_of_start_extends_start_container(pods: Pods) -> None:
    config = pods.configuration()
    pod = pods.run(config)
    container = pods.create(pod, config, "exec sleep 100")
    pods.oci.plan({"start": [Record(), Delay(0.5)]})
    begin, seconds, _ = timed(lambda: pods.start(container))
    (invocation,) = pods.oci.take()
    assert (invocation.operation, invocation.id, invocation.exit_code) == ("start", container, 0)
    assert 0.5 < invocation.seconds < seconds
    assert begin < invocation.begin < invocation.end < begin + seconds
    assert split(begin, seconds, oci=[invocation]).oci == pytest.approx(invocation.seconds)


def test_failed_cni_add_fails_run_pod_sandbox(pods: Pods) -> None:
    pods.cni.plan({"bridge/ADD": [Record(), Fail(11, "planned by a test")]})
    with pytest.raises(grpc.RpcError, match="planned by a test"):
        pods.run(pods.configuration())
    assert "bridge" in {one.program for one in pods.cni.take()}
    pods.cni.plan({})
    pods.run(pods.configuration())


def test_failed_start_fails_start_container_with_its_message(pods: Pods) -> None:
    config = pods.configuration()
    pod = pods.run(config)
    container = pods.create(pod, config, "exec sleep 100")
    pods.oci.plan({"start": [Fail(1, "planned by a test")]})
    with pytest.raises(grpc.RpcError, match="planned by a test"):
        pods.start(container)


def test_edited_bundle_takes_effect_in_the_container(pods: Pods) -> None:
    config = pods.configuration()
    pod = pods.run(config)
    pods.oci.plan({"create": [Record(), Edit("TEXT=original", "TEXT=after the edit")]})
    container = pods.create(pod, config, "echo $TEXT")
    pods.start(container)
    log = pods.logs / f"{pods.number}.log"
    assert eventually(log.read_bytes, lambda seen: b"\n" in seen).endswith(b"stdout F after the edit\n")
    assert [one.edits for one in pods.oci.take()] == [1]
    # some runtimes sometimes reject a stop during the exit (CNC-13), and the clean-up stops the container
    request = cri.ContainerStatusRequest(container_id=container)
    eventually(
        lambda: pods.connection.runtime.ContainerStatus(request).status.state,
        lambda state: state == cri.CONTAINER_EXITED,
    )


def test_exec_sync_works_through_a_recording_wrapper(pods: Pods) -> None:
    config = pods.configuration()
    pod = pods.run(config)
    container = pods.create(pod, config, "exec sleep 100")
    pods.start(container)
    pods.oci.plan({"exec": [Record()]})
    request = cri.ExecSyncRequest(
        container_id=container, cmd=["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], timeout=10
    )
    response = pods.connection.runtime.ExecSync(request)
    assert (response.stdout, response.stderr, response.exit_code) == (b"out\n", b"err\n", 3)
    assert [(one.operation, one.id) for one in pods.oci.take()] == [("exec", container)]


def test_runtime_has_no_wrappers_by_default() -> None:
    if not BINARIES:
        pytest.skip("needs root and a containerd")
    with start_throwaway(run_id=f"{os.getpid()}-fedcba", pause_image="x", binary=BINARIES[0]) as runtime:
        assert runtime.wrappers == Wrappers()
        assert not (runtime.state / "wrappers").exists()
