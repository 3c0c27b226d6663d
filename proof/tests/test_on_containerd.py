"""The proxy, the faults in logs and those in sessions, in front of a real containerd."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import websocket
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.run_label import RunIdentity
from critests.node.starting.with_registry import throwaway_with_registry
from tests.criserver.clients import eventually

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("containerd") is None, reason="needs root and a containerd"
    ),
]
SCRIPT = "echo '  a'; echo err >&2; printf end; exec sleep 100"


class Pod:
    """A sandbox behind the proxy, and where its logs are."""

    def __init__(self, proxy: FaultProxy, connection: Connection, image: str, logs: Path) -> None:
        self.proxy, self.connection, self.image, self.logs = proxy, connection, image, logs
        metadata = cri.PodSandboxMetadata(name="audit", uid="audit", namespace="audit")
        self.config = cri.PodSandboxConfig(
            metadata=metadata, hostname="audit", log_directory=str(logs), linux=cri.LinuxPodSandboxConfig()
        )
        self.id = connection.runtime.RunPodSandbox(
            cri.RunPodSandboxRequest(config=self.config)
        ).pod_sandbox_id

    def run(self, name: str, script: str = SCRIPT) -> str:
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name),
            image=cri.ImageSpec(image=self.image, user_specified_image=self.image),
            command=["/bin/sh", "-c", script],
            log_path=f"{name}.log",
            linux=cri.LinuxContainerConfig(),
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=self.id, config=config, sandbox_config=self.config
        )
        container = self.connection.runtime.CreateContainer(request).container_id
        self.connection.runtime.StartContainer(cri.StartContainerRequest(container_id=container))
        return container

    def status(self, container: str) -> cri.ContainerStatus:
        return self.connection.runtime.ContainerStatus(
            cri.ContainerStatusRequest(container_id=container)
        ).status


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    run = RunIdentity.new()
    with (
        throwaway_with_registry(run_id=run.id) as (runtime, registry),
        FaultProxy(runtime.endpoint) as proxy,
    ):
        plain = registry.mint("plain", f"critests/{run.id}/plain")
        connection = connect(Endpoint.parse(proxy.endpoint))
        connection.images.PullImage(cri.PullImageRequest(image=cri.ImageSpec(image=plain.reference)))
        pod = Pod(proxy, connection, plain.reference, tmp_path_factory.mktemp("logs"))
        yield pod
        proxy.faults = []
        connection.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
        connection.close()


def test_messages(pod: Pod) -> None:
    container = pod.run("messages")
    pod.proxy.faults = ["StopContainer: swallow", "ContainerStatus.response.status.exit_code: add 3"]
    pod.connection.runtime.StopContainer(cri.StopContainerRequest(container_id=container, timeout=0))
    status = pod.status(container)
    assert (status.state, status.exit_code) == (cri.CONTAINER_RUNNING, 3)


@pytest.mark.parametrize(
    ("fault", "lines"),
    [
        ("log: strip-spaces", {b"stdout F a", b"stderr F err", b"stdout P end"}),
        ("log: swap-streams", {b"stderr F   a", b"stdout F err", b"stderr P end"}),
        ("log: drop-last-partial", {b"stdout F   a", b"stderr F err"}),
    ],
)
def test_logs(pod: Pod, fault: str, lines: set[bytes]) -> None:
    pod.proxy.faults = [fault]
    container = pod.run(fault.split()[1], SCRIPT.replace("; exec sleep 100", ""))
    status = eventually(lambda: pod.status(container), lambda seen: seen.state == cri.CONTAINER_EXITED)
    log = Path(status.log_path)
    assert log == pod.logs / f"{fault.split()[1]}.log"
    assert {line.split(b" ", 1)[1] for line in log.read_bytes().splitlines()} == lines


def test_reopened_log(pod: Pod) -> None:
    pod.proxy.faults = ["log: upper"]
    container = pod.run("reopened", "while :; do echo line; sleep 0.05; done")
    log = pod.logs / "reopened.log"
    eventually(log.read_bytes, lambda seen: b"LINE" in seen)
    log.rename(pod.logs / "reopened.log.1")
    pod.connection.runtime.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container))
    eventually(log.read_bytes, lambda seen: b"LINE" in seen)


def test_sessions(pod: Pod) -> None:
    container = pod.run("sessions")
    pod.proxy.faults = ["Exec.stream: swap-channels", "Version: swallow"]
    request = cri.ExecRequest(
        container_id=container, cmd=["sh", "-c", "echo out; echo err >&2; exit 3"], stdout=True, stderr=True
    )
    url = pod.connection.runtime.Exec(request).url
    session = websocket.create_connection(
        url.replace("http", "ws", 1), subprotocols=["v4.channel.k8s.io"], timeout=10
    )
    frames = []
    while (message := session.recv_data())[0] != websocket.ABNF.OPCODE_CLOSE:
        frames.append(message[1])
    session.shutdown()  # type: ignore[no-untyped-call]  # the library has no types here
    assert b"\x02out\n" in frames
    assert b"\x01err\n" in frames
    assert b'"3"' in frames[-1]


def test_the_proxy_costs_little(pod: Pod) -> None:
    pod.proxy.faults = ["StopContainer: swallow"]
    started = time.perf_counter()
    for _ in range(100):
        pod.connection.runtime.Version(cri.VersionRequest())
    assert time.perf_counter() - started < 10
