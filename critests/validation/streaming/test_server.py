"""STR: the streaming server: its URLs, what it negotiates and what it rejects."""

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.command_sessions import open_remote_command
from critests.testing import (
    NO_SUCH_ID,
    V4,
    Capability,
    Container,
    Protocol,
    RecordVariant,
    Runtime,
    Streams,
    UpgradeRefused,
    requirement,
    requires,
    unsupported,
)

RejectedUpgrade = Callable[..., UpgradeRefused]
UrlOf = Callable[..., str]

WEBSOCKET_PROTOCOLS = {
    "v4": (V4,),
    "v4 in base64": ("v4.base64.channel.k8s.io",),
    "unversioned": ("channel.k8s.io",),
    "unversioned in base64": ("base64.channel.k8s.io",),
    "no sub-protocol": (),
}
STREAM_SETS = {
    "output only": {"stdout": True},
    "errors only": {"stderr": True},
    "input, output and errors": {"stdin": True, "stdout": True, "stderr": True},
    "a terminal": {"stdin": True, "stdout": True, "tty": True},
}
TERMINAL_AND_ERRORS = {"tty": True, "stdout": True, "stderr": True}
MIN_TOKEN_CHARACTERS = 6
"""36 bits at 6 bits a character: too many tokens to try in the minute for which one is valid."""


def asking(rpc: str, container_id: str, *command: str, **flags: bool) -> cri.ExecRequest | cri.AttachRequest:
    """Return the request of Exec or Attach for a session."""
    if rpc == "Exec":
        return cri.ExecRequest(container_id=container_id, cmd=command or ("true",), **flags)
    return cri.AttachRequest(container_id=container_id, **flags)


@pytest.fixture
def url_of(runtime: Runtime, running_container: Container) -> UrlOf:
    """Get the URL of a session in a running container from Exec, Attach or PortForward."""
    container = running_container

    def ask(rpc: str) -> str:
        request: object = cri.PortForwardRequest(pod_sandbox_id=container.sandbox.id, port=[80])
        if rpc != "PortForward":
            request = asking(rpc, container.id, stdout=True, stderr=True)
        url: str = getattr(runtime.stub, rpc)(request).url
        return url

    return ask


@pytest.fixture
def rejected_upgrade(streams: Streams) -> RejectedUpgrade:
    """Request an upgrade to SPDY that the server must reject, and return its rejection."""

    def ask(url: str, subprotocols: tuple[str, ...] = (V4,)) -> UpgradeRefused:
        try:
            session = open_remote_command(
                url,
                stdin=False,
                stdout=True,
                stderr=True,
                tty=False,
                protocol=Protocol.SPDY,
                subprotocols=subprotocols,
                deadline_seconds=streams.patience,
            )
        except UpgradeRefused as error:
            return error
        session.abort()
        msg = (
            "the server accepted an upgrade that it must reject, with the sub-protocol"
            f" {session.subprotocol or 'none'}"
        )
        raise AssertionError(msg)

    return ask


@requirement("STR-01")
@pytest.mark.parametrize("rpc", ["Exec", "Attach", "PortForward"])
def test_url_of_a_session_is_complete_and_reachable(url_of: UrlOf, streams: Streams, rpc: str) -> None:
    """Exec, Attach and PortForward MUST return a URL with scheme, host, port and path, whose server accepts
    connections from this node.

    Source: ExecResponse.url, AttachResponse.url, PortForwardResponse.url.
    """
    url = url_of(rpc)

    parts = urlsplit(url)
    assert parts.scheme in {"http", "https"}, url
    assert parts.hostname, url
    assert parts.port, url
    assert parts.path.strip("/"), url
    with socket.socket(socket.AF_INET6 if ":" in parts.hostname else socket.AF_INET) as connection:
        connection.settimeout(streams.patience)
        assert connection.connect_ex((parts.hostname, parts.port)) == 0, f"nothing listens at {url}"


@requirement("STR-02")
def test_url_of_a_session_is_accepted_once(
    streams: Streams, rejected_upgrade: RejectedUpgrade, url_of: UrlOf
) -> None:
    """The streaming server SHOULD accept a URL once only: a second use gets HTTP 404.

    Source: ExecResponse.url; not stated by the CRI, otherwise a leaked URL would give access.
    """
    url = url_of("Exec")
    request = cri.ExecRequest(stdout=True, stderr=True)
    streams.open(lambda _: cri.ExecResponse(url=url), request, protocol=Protocol.SPDY)  # the first use

    second = rejected_upgrade(url)

    assert second.status == 404


@requirement("STR-02")
def test_token_that_was_never_issued_is_not_found(url_of: UrlOf, rejected_upgrade: RejectedUpgrade) -> None:
    """The streaming server SHOULD respond with HTTP 404 to a URL with a token that it has never issued.

    Source: ExecResponse.url.
    """
    parts = urlsplit(url_of("Exec"))
    stem, _, token = parts.path.rpartition("/")
    # only characters of real tokens, so that the server cannot reject the form of the token
    forged = f"{stem}/{token[::-1].swapcase()}x"

    response = rejected_upgrade(urlunsplit(parts._replace(path=forged)))

    assert response.status == 404


@requirement("STR-02")
def test_tokens_of_sessions_are_long_and_all_different(url_of: UrlOf) -> None:
    """The streaming server SHOULD use tokens that are all different and too long to be guessed.

    Source: ExecResponse.url.
    """
    tokens = [urlsplit(url_of("Exec")).path.rpartition("/")[2] for _ in range(20)]

    assert len(set(tokens)) == len(tokens)
    assert min(map(len, tokens)) >= MIN_TOKEN_CHARACTERS


@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({}, marks=requirement("STR-04/error"), id="no stream"),
        pytest.param(TERMINAL_AND_ERRORS, marks=requirement("STR-05/error"), id="a terminal and errors"),
    ],
)
def test_session_with_invalid_streams_is_refused(
    runtime: Runtime, running_container: Container, rpc: str, flags: dict[str, bool]
) -> None:
    """Exec and Attach MUST fail if none of stdin, stdout and stderr is requested, and if a terminal and
    stderr are, as a terminal has only one output.

    Source: ExecRequest and AttachRequest: one of the three must be true; stderr.
    """
    runtime.refusal(getattr(runtime.stub, rpc), asking(rpc, running_container.id, **flags))


@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({}, marks=requirement("STR-04/code"), id="no stream"),
        pytest.param(TERMINAL_AND_ERRORS, marks=requirement("STR-05/code"), id="a terminal and errors"),
    ],
)
def test_code_for_a_session_with_invalid_streams(
    runtime: Runtime, running_container: Container, rpc: str, flags: dict[str, bool]
) -> None:
    """Exec and Attach SHOULD fail with InvalidArgument without any stream, and with a terminal and stderr.

    Source: ExecRequest, AttachRequest, the gRPC status codes.
    """
    code = runtime.refusal(getattr(runtime.stub, rpc), asking(rpc, running_container.id, **flags))

    assert code is grpc.StatusCode.INVALID_ARGUMENT


@requirement("STR-06/error")
@pytest.mark.parametrize("container_id", ["", NO_SUCH_ID], ids=["no id", "an unknown id"])
@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
def test_session_in_an_unknown_container_is_refused(runtime: Runtime, rpc: str, container_id: str) -> None:
    """Exec and Attach MUST fail for an unknown or empty container id.

    Source: ExecRequest.container_id, AttachRequest.container_id.
    """
    runtime.refusal(getattr(runtime.stub, rpc), asking(rpc, container_id, stdout=True, stderr=True))


@requirement("STR-06/form")
@pytest.mark.parametrize("container_id", ["", NO_SUCH_ID], ids=["no id", "an unknown id"])
@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
def test_code_for_a_session_in_an_unknown_container(
    runtime: Runtime, record_variant: RecordVariant, rpc: str, container_id: str
) -> None:
    """Exec and Attach MAY fail with any code for an unknown or empty container id; NotFound is expected.

    Source: ExecRequest.container_id, AttachRequest.container_id; the CRI names no code.
    """
    code = runtime.refusal(getattr(runtime.stub, rpc), asking(rpc, container_id, stdout=True, stderr=True))

    record_variant(f"{rpc} fails with {code.name}")


@requirement("STR-07")
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_session_over_spdy(
    runtime: Runtime, running_container: Container, streams: Streams, method: str
) -> None:
    """The streaming server MUST upgrade to SPDY/3.1 with POST and with GET, and the session MUST work.

    Source: ExecResponse.url; the upgrade that the kubelet makes.
    """
    request = asking("Exec", running_container.id, "echo", "hello", stdout=True, stderr=True)

    session = streams.open(runtime.stub.Exec, request, protocol=Protocol.SPDY, method=method)

    finished = session.finish()
    assert finished.stdout == b"hello\n"
    assert finished.failure == ""


@requirement("STR-08/v4")
def test_server_chooses_v4_if_the_client_prefers_it(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """The streaming server MUST choose v4.channel.k8s.io if a client lists it first, before older ones.

    Source: the header X-Stream-Protocol-Version.
    """
    request = asking("Exec", running_container.id, "true", stdout=True, stderr=True)

    session = streams.open(
        runtime.stub.Exec,
        request,
        protocol=Protocol.SPDY,
        subprotocols=(V4, "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"),
    )

    assert session.subprotocol == V4


@requirement("STR-08/order")
@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(("v2.channel.k8s.io", V4), "v2.channel.k8s.io"), (("v99.channel.k8s.io", V4, "v2.channel.k8s.io"), V4)],
    ids=["an old one first", "an unknown one first"],
)
def test_server_chooses_the_first_protocol_that_it_knows(
    runtime: Runtime, running_container: Container, streams: Streams, offered: tuple[str, ...], chosen: str
) -> None:
    """The streaming server SHOULD choose the first of the client's sub-protocols that it knows.

    Source: the header X-Stream-Protocol-Version.
    """
    request = asking("Exec", running_container.id, "true", stdout=True, stderr=True)

    session = streams.open(runtime.stub.Exec, request, protocol=Protocol.SPDY, subprotocols=offered)

    assert session.subprotocol == chosen


@requirement("STR-09")
def test_server_lists_its_protocols_if_it_knows_none_of_the_clients(
    url_of: UrlOf, rejected_upgrade: RejectedUpgrade
) -> None:
    """The streaming server SHOULD respond with HTTP 403 and the list of its sub-protocols if it knows none of
    the client's.

    Source: the headers X-Stream-Protocol-Version and X-Accepted-Stream-Protocol-Versions.
    """
    response = rejected_upgrade(url_of("Exec"), ("v99.channel.k8s.io",))

    assert response.status == 403
    assert V4 in response.headers.get("x-accepted-stream-protocol-versions", "")


@requirement("STR-10")
@pytest.mark.parametrize("flags", STREAM_SETS.values(), ids=STREAM_SETS)
def test_command_starts_when_its_streams_are_open(
    runtime: Runtime, running_container: Container, streams: Streams, flags: dict[str, bool]
) -> None:
    """Exec over SPDY MUST run the command once these streams are open: the error stream, one for each flag of
    the request, and resize for a terminal.

    Source: ExecRequest.stdin, stdout, stderr and tty; the header streamType.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["/bin/sh", "-c", "echo ran > /ran-here"], **flags
    )

    session = streams.open(runtime.stub.Exec, request, protocol=Protocol.SPDY)

    finished = session.finish()
    assert finished.failure == ""
    assert running_container.output("cat", "/ran-here") == "ran"


@requires(Capability.EXEC_WEBSOCKET)
@requirement("STR-12")
@pytest.mark.parametrize("subprotocols", WEBSOCKET_PROTOCOLS.values(), ids=WEBSOCKET_PROTOCOLS)
def test_session_over_websocket(
    runtime: Runtime, running_container: Container, streams: Streams, subprotocols: tuple[str, ...]
) -> None:
    """A streaming server that supports WebSocket MUST accept the sub-protocol v4, plain and in base64; it MAY
    accept unversioned ones, and none.

    Source: RFC 6455, Sec-WebSocket-Protocol; the sub-protocols of Kubernetes' remote commands.
    """
    request = asking("Exec", running_container.id, "echo", "hello", stdout=True, stderr=True)

    try:
        session = streams.open(runtime.stub.Exec, request, subprotocols=subprotocols)
    except UpgradeRefused as error:
        if "".join(subprotocols).startswith("v4."):
            raise
        unsupported(f"sub-protocols before v4: the server returns HTTP {error.status}")

    assert session.subprotocol == "".join(subprotocols)
    assert session.finish().stdout == b"hello\n"


@requires(Capability.EXEC_WEBSOCKET)
@requirement("STR-13")
def test_numbers_of_websocket_channels(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """Exec over WebSocket MUST use channel 0 for stdin, 1 for stdout, 2 for stderr and 3 for the status.

    Source: the sub-protocol v4.channel.k8s.io.
    """
    script = "read word; echo output of $word; echo errors of $word >&2"
    request = asking(
        "Exec", running_container.id, "/bin/sh", "-c", script, stdin=True, stdout=True, stderr=True
    )
    session = streams.open(runtime.stub.Exec, request)

    session.send_raw(0, b"them\n")  # by number, as the number of the channel is under test

    arrived: dict[int, bytes] = {}
    for frame in session.finish().frames:
        arrived[frame.channel] = arrived.get(frame.channel, b"") + frame.payload
    assert arrived.get(1) == b"output of them\n"
    assert arrived.get(2) == b"errors of them\n"
    assert b'"Success"' in arrived.get(3, b"")


@requirement("STR-17")
@pytest.mark.parametrize(
    "protocol", [pytest.param(Protocol.WEBSOCKET, marks=requires(Capability.EXEC_WEBSOCKET)), Protocol.SPDY]
)
def test_server_responds_to_pings(
    runtime: Runtime, running_container: Container, streams: Streams, protocol: Protocol
) -> None:
    """The streaming server SHOULD respond to pings of the session's protocol while the command is quiet, and
    the session SHOULD continue.

    Source: RFC 6455, section 5.5.2; SPDY/3.1, PING.
    """
    request = asking("Exec", running_container.id, "cat", stdin=True, stdout=True, stderr=True)
    session = streams.open(runtime.stub.Exec, request, protocol=protocol)

    session.ping(streams.patience)

    session.write(b"after the ping\n")
    assert session.stdout_until(b"\n") == b"after the ping\n"


@requirement("STR-19")
@pytest.mark.parametrize("rpc", ["Exec", "Attach", "PortForward"])
def test_streaming_server_listens_on_loopback(url_of: UrlOf, rpc: str) -> None:
    """The streaming server SHOULD listen on loopback, as the URL alone gives access.

    Source: ExecResponse.url; not stated by the CRI, every runtime does so by default.
    """
    host = urlsplit(url_of(rpc)).hostname or ""

    assert host == "localhost" or ipaddress.ip_address(host).is_loopback


@requirement("STR-21")
def test_spdy_without_a_protocol_version_is_a_bad_request(
    url_of: UrlOf, rejected_upgrade: RejectedUpgrade
) -> None:
    """The streaming server SHOULD respond with HTTP 400 to an upgrade to SPDY without a sub-protocol.

    Source: the header X-Stream-Protocol-Version.
    """
    response = rejected_upgrade(url_of("Exec"), ())

    assert response.status == 400
