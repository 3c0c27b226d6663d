"""Sessions with a real containerd: the packaged one, and those that CRITESTS_TEST_CONTAINERDS names (paths,
as in PATH).
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.client.streaming.errors import HalfCloseUnsupported, StreamTimeout, UpgradeRefused
from critests.client.streaming.port_forward import open_port_forward
from critests.client.streaming.probe import websocket_works
from critests.client.streaming.sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streams import EndedBy, Protocol, Stream
from critests.node.with_registry import throwaway_with_registry

pytestmark = [pytest.mark.runtime, pytest.mark.parametrize("protocol", Protocol)]

SECONDS = 20
BINARIES = [
    *filter(None, [shutil.which("containerd")]),
    *filter(None, os.environ.get("CRITESTS_TEST_CONTAINERDS", "").split(os.pathsep)),
]
IDLE = "trap 'exit 0' TERM; while :; do sleep 1; done"
ECHO_AND_BANNER = "nc -ll -p 7001 -e cat & nc -ll -p 7002 -e echo banner & echo listening; wait"


class Pod:
    """One sandbox of a private containerd."""

    def __init__(self, endpoint: str, channel: grpc.Channel, image: str, logs: Path) -> None:
        self.endpoint = endpoint
        self.stub = cri_grpc.RuntimeServiceStub(channel)
        self.image = image
        self.count = 0
        metadata = cri.PodSandboxMetadata(name="streams", uid="streams", namespace="critests")
        self.config = cri.PodSandboxConfig(
            metadata=metadata, hostname="streams", log_directory=str(logs), linux=cri.LinuxPodSandboxConfig()
        )
        cri_grpc.ImageServiceStub(channel).PullImage(
            cri.PullImageRequest(image=cri.ImageSpec(image=image)), timeout=SECONDS
        )
        self.id = self.stub.RunPodSandbox(
            cri.RunPodSandboxRequest(config=self.config), timeout=SECONDS
        ).pod_sandbox_id
        self.idle = self.container(IDLE)

    def container(self, script: str, *, stdin: bool = False, tty: bool = False) -> str:
        self.count += 1
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=f"c{self.count}"),
            image=cri.ImageSpec(image=self.image),
            command=["/bin/sh", "-c", script],
            log_path=f"c{self.count}.log",
            linux=cri.LinuxContainerConfig(),
            stdin=stdin,
            tty=tty,
        )
        request = cri.CreateContainerRequest(
            pod_sandbox_id=self.id, config=config, sandbox_config=self.config
        )
        made = self.stub.CreateContainer(request, timeout=SECONDS).container_id
        self.stub.StartContainer(cri.StartContainerRequest(container_id=made), timeout=SECONDS)
        return made

    def exec_url(self, command: list[str], *, stdin: bool = False, tty: bool = False) -> str:
        request = cri.ExecRequest(
            container_id=self.idle, cmd=command, stdin=stdin, stdout=True, stderr=not tty, tty=tty
        )
        return self.stub.Exec(request, timeout=SECONDS).url

    def exec(
        self, protocol: Protocol, script: str, *, stdin: bool = False, tty: bool = False
    ) -> RemoteCommand:
        url = self.exec_url(["sh", "-c", script], stdin=stdin, tty=tty)
        return open_remote_command(
            url,
            stdin=stdin,
            stdout=True,
            stderr=not tty,
            tty=tty,
            protocol=protocol,
            deadline_seconds=SECONDS,
        )

    def attach(self, protocol: Protocol, container: str, *, tty: bool = False) -> RemoteCommand:
        request = cri.AttachRequest(container_id=container, stdin=True, stdout=True, stderr=not tty, tty=tty)
        url = self.stub.Attach(request, timeout=SECONDS).url
        return open_remote_command(
            url, stdin=True, stdout=True, stderr=not tty, tty=tty, protocol=protocol, deadline_seconds=SECONDS
        )

    def forward_url(self, *ports: int) -> str:
        return self.stub.PortForward(
            cri.PortForwardRequest(pod_sandbox_id=self.id, port=ports), timeout=SECONDS
        ).url


@pytest.fixture(scope="module", params=BINARIES)
def pod(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    with (
        throwaway_with_registry(binary=Path(request.param)) as (runtime, registry),
        grpc.insecure_channel(runtime.endpoint) as channel,
    ):
        image = registry.mint("plain", "critests/streams/plain").reference
        yield Pod(runtime.endpoint, channel, image, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def served(pod: Pod) -> Pod:
    """Give the pod with servers on ports 7001 (echo) and 7002 (banner)."""
    container = pod.container(ECHO_AND_BANNER)
    tables = [
        "sh",
        "-c",
        "until grep -q :1B59 /proc/net/tcp* && grep -q :1B5A /proc/net/tcp*; do sleep 0.05; done",
    ]
    request = cri.ExecSyncRequest(container_id=container, cmd=tables, timeout=SECONDS)
    assert pod.stub.ExecSync(request, timeout=SECONDS).exit_code == 0
    return pod


def test_exec_separates_output_and_gives_the_exit_code(pod: Pod, protocol: Protocol) -> None:
    with pod.exec(protocol, "echo out; echo err >&2; exit 7") as session:
        finished = session.finish(SECONDS)
    assert session.subprotocol == "v4.channel.k8s.io"
    assert (finished.stdout, finished.stderr) == (b"out\n", b"err\n")
    assert finished.status is not None
    assert (finished.status.exit_code, finished.status.reason, finished.status.problem) == (
        7,
        "NonZeroExitCode",
        "",
    )
    assert finished.frames[-1].channel == Stream.ERROR
    assert finished.ended_by is (
        EndedBy.CLOSE_FRAME if protocol is Protocol.WEBSOCKET else EndedBy.STREAMS_FINISHED
    )


def test_exec_of_what_does_not_exist_fails(pod: Pod, protocol: Protocol) -> None:
    url = pod.exec_url(["/no/such/program"])
    with open_remote_command(
        url, stdin=False, stdout=True, stderr=True, tty=False, protocol=protocol, deadline_seconds=SECONDS
    ) as session:
        status = session.finish(SECONDS).status
    assert status is not None
    assert not status.success
    assert status.exit_code is None


def test_input_comes_back_and_ends(pod: Pod, protocol: Protocol) -> None:
    data = os.urandom(3_000_000)
    with pod.exec(protocol, "cat; exit 5", stdin=True) as session:
        session.write(data, SECONDS)
        assert session.read_until(Stream.STDOUT, lambda seen: len(seen) == len(data), SECONDS) == data
        if protocol is Protocol.WEBSOCKET:
            with pytest.raises(HalfCloseUnsupported):
                session.close_stdin()
        else:
            session.close_stdin()
            status = session.finish(SECONDS).status
            assert status is not None
            assert status.exit_code == 5


def test_a_terminal_takes_its_size(pod: Pod, protocol: Protocol) -> None:
    script = "echo ready; until stty size 2>/dev/null | grep '45 123'; do sleep 0.05; done; read wait"
    with pod.exec(protocol, script, stdin=True, tty=True) as session:
        session.read_until(Stream.STDOUT, b"ready\r\n", SECONDS)
        session.resize(123, 45)
        session.read_until(Stream.STDOUT, b"45 123\r\n", SECONDS)
        session.write(b"\n")
        assert session.finish(SECONDS).stderr == b""


def test_much_output_is_whole(pod: Pod, protocol: Protocol) -> None:
    with pod.exec(protocol, "seq 1 500000") as session:
        finished = session.finish(SECONDS)
    assert finished.stdout == "".join(f"{number}\n" for number in range(1, 500_001)).encode()
    assert not finished.truncated


def test_a_ping_is_answered_while_the_command_is_silent(pod: Pod, protocol: Protocol) -> None:
    with pod.exec(protocol, "sleep 100") as session:
        assert session.ping(SECONDS) < SECONDS
        with pytest.raises(StreamTimeout, match="the end of the session"):
            session.finish(0.1)


def test_attach_talks_to_the_containers_own_process(pod: Pod, protocol: Protocol) -> None:
    # nothing is printed in its last moments, which the oldest runtime can lose
    container = pod.container(
        "while read line; do [ $line = last ] && exit; echo out $line; echo err $line >&2; done", stdin=True
    )
    with pod.attach(protocol, container) as session:
        session.write(b"first\n")
        assert session.read_until(Stream.STDOUT, b"\n", SECONDS) == b"out first\n"
        assert session.read_until(Stream.STDERR, b"\n", SECONDS) == b"err first\n"
        session.write(b"last\n")
        finished = session.finish(SECONDS)
    assert finished.stdout == b"out first\n"
    assert finished.status is not None
    assert finished.status.success


def test_attach_to_a_terminal(pod: Pod, protocol: Protocol) -> None:
    container = pod.container("read line; echo got $line; read wait", stdin=True, tty=True)
    with pod.attach(protocol, container, tty=True) as session:
        session.write(b"text\n")
        assert session.read_until(Stream.STDOUT, b"got text", SECONDS).startswith(b"text\r\n")
        session.write(b"\n")
        session.finish(SECONDS)


def test_ports_are_forwarded(served: Pod, protocol: Protocol) -> None:
    with open_port_forward(
        served.forward_url(7001, 7002), [7001, 7002], protocol=protocol, deadline_seconds=SECONDS
    ) as forward:
        echo, banner = forward.connect(7001), forward.connect(7002)
        echo.write(b"back and forth")
        assert echo.read_until(b"forth", SECONDS) == b"back and forth"
        assert banner.read_until(b"\n", SECONDS) == b"banner\n"


def test_many_connections_follow_each_other_over_spdy(served: Pod, protocol: Protocol) -> None:
    if protocol is Protocol.WEBSOCKET:
        pytest.skip("over WebSocket there is one connection per port and session")
    with open_port_forward(served.forward_url(), [], protocol=protocol, deadline_seconds=SECONDS) as forward:
        for number in range(20):
            connection = forward.connect(7001)
            connection.write(b"%d." % number)
            assert connection.read_until(b".", SECONDS) == b"%d." % number
            connection.close()


def test_a_port_where_nobody_listens_is_told_on_the_error_channel(served: Pod, protocol: Protocol) -> None:
    with open_port_forward(
        served.forward_url(9), [9], protocol=protocol, deadline_seconds=SECONDS
    ) as forward:
        forwarded = forward.connect(9).finish(SECONDS)
    assert forwarded.data == b""
    assert forwarded.error


def test_a_url_is_good_for_one_session(pod: Pod, protocol: Protocol) -> None:
    url = pod.exec_url(["true"])
    open_remote_command(
        url, stdin=False, stdout=True, stderr=True, tty=False, protocol=protocol, deadline_seconds=SECONDS
    ).close()
    with pytest.raises(UpgradeRefused) as caught:
        open_remote_command(
            url, stdin=False, stdout=True, stderr=True, tty=False, protocol=protocol, deadline_seconds=SECONDS
        )
    assert caught.value.status == 404


def test_the_probe_tells_which_subprotocols_there_are(pod: Pod, protocol: Protocol) -> None:
    if protocol is not Protocol.WEBSOCKET:
        pytest.skip("a probe for WebSocket")
    assert websocket_works(pod.exec_url(["true"])).works is True
    assert websocket_works(pod.exec_url(["true"]), subprotocol="v9.channel.k8s.io").works is False
