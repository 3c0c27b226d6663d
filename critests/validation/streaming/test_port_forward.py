"""PFW: connections to ports of a pod in a streaming session; STR where it concerns PortForward only."""

import contextlib
import select
import socket
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NO_SUCH_ID,
    Capability,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    SessionEnded,
    StreamRefused,
    Streams,
    UpgradeRefused,
    blocked,
    refused_with,
    requirement,
    requires,
    with_user_namespace,
)
from critests.validation.streaming.serving import Serve

Ending = Callable[[cri.PortForwardRequest], str]

# each test has ports of its own: most share one sandbox, and with it one network namespace
LARGE_BYTES = 4 << 20
MORE_THAN_READ = bytes(64 << 10)
"""If a process exits before it has read all data in a socket, the kernel resets the connection."""
RESETS = 8  # several at once, as daemons handle the ends of connections concurrently


@pytest.fixture
def ending(streams: Streams) -> Ending:
    """Try to forward a port, and return in words where it failed; empty if it did not fail."""

    def forward(request: cri.PortForwardRequest) -> str:
        try:
            session = streams.forward(request)
            connection = session.connect(request.port[0])
            connection.write(b"hello\n", streams.patience)
            end = connection.finish()
        except grpc.RpcError as error:
            return f"the call fails with {refused_with(error).name}"
        except UpgradeRefused as error:
            return f"the upgrade is refused with HTTP {error.status}"
        except StreamRefused:
            return "the stream is refused"
        except SessionEnded:
            return "the session ends"
        assert end.data == b"", "data arrived"
        return "the stream for errors says so" if end.error else ""

    return forward


def localhost_is_ipv6() -> bool:
    """Return whether the name localhost has an IPv6 address on this machine."""
    with contextlib.suppress(socket.gaierror):
        return bool(socket.getaddrinfo("localhost", None, socket.AF_INET6))
    return False


@requirement("STR-06/error")
@pytest.mark.parametrize("sandbox_id", ["", NO_SUCH_ID], ids=["no id", "an unknown id"])
def test_port_forward_to_an_unknown_sandbox_fails(ending: Ending, sandbox_id: str) -> None:
    """PortForward for an unknown or empty sandbox id MUST fail, at the latest on the error stream.

    Source: PortForwardRequest.pod_sandbox_id.
    """
    assert ending(cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=[80])) != ""


@requirement("STR-06/form")
@pytest.mark.parametrize("sandbox_id", ["", NO_SUCH_ID], ids=["no id", "an unknown id"])
def test_where_port_forward_to_an_unknown_sandbox_fails(
    ending: Ending, record_variant: RecordVariant, sandbox_id: str
) -> None:
    """PortForward for an unknown or empty sandbox id MAY fail at the call, at the upgrade or on the error
    stream.

    Source: PortForwardRequest.pod_sandbox_id; the CRI names neither code nor place.
    """
    record_variant(ending(cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=[80])) or "it does not fail")


@requirement("PFW-01")
def test_port_forward_transfers_bytes_in_both_directions(
    sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """PortForward MUST carry the client's bytes to the server in the pod, and the server's bytes back.

    Source: PortForward; the sub-protocol portforward.k8s.io.
    """
    serve(7001)
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7001]))
    connection = session.connect(7001)

    connection.write(bytes(range(256)))

    assert connection.read_until(lambda seen: len(seen) >= 256) == bytes(range(256))
    assert connection.received().error == b""


@requirement("PFW-02")
def test_port_forward_of_concurrent_connections(sandbox: Sandbox, serve: Serve, streams: Streams) -> None:
    """PortForward MUST carry several independent connections in one session at once, and further ones after
    these have ended.

    Source: PortForward; the header requestID.
    """
    serve(7002)
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7002]))
    connections = [session.connect(7002) for _ in range(5)]

    for number, connection in enumerate(connections):
        connection.write(b"connection %d\n" % number)

    echoes = [connection.read_until(b"\n") for connection in connections]
    assert echoes == [b"connection %d\n" % number for number in range(5)]
    for connection in connections:
        connection.close()
    later = session.connect(7002)
    later.write(b"later\n")
    assert later.read_until(b"\n") == b"later\n"


@requirement("PFW-03")
def test_port_forward_of_several_ports(sandbox: Sandbox, serve: Serve, streams: Streams) -> None:
    """PortForward MUST reach each of several ports in one session.

    Source: PortForwardRequest.port.
    """
    ports = [7003, 7013]
    for port in ports:
        serve(port, "nc", "-ll", "-p", str(port), "-e", "echo", f"this is {port}")
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=ports))

    answers = [session.connect(port).read_until(b"\n") for port in ports]

    assert answers == [b"this is 7003\n", b"this is 7013\n"]


@requirement("PFW-04")
def test_port_forward_reaches_a_server_on_loopback(sandbox: Sandbox, serve: Serve, streams: Streams) -> None:
    """PortForward MUST reach a server that listens on the pod's 127.0.0.1 only.

    Source: PortForward, which connects inside the pod's network.
    """
    server = serve(7004, "httpd", "-f", "-p", "127.0.0.1:7004", "-h", "/home")
    assert server.exec("sh", "-c", "echo the page > /home/served").exit_code == 0
    connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7004])).connect(7004)

    connection.write(b"GET /served HTTP/1.0\r\n\r\n")

    assert connection.read_until(b"the page\n").startswith(b"HTTP/1.")


@requires(Capability.IPV6)
@requirement("PFW-05")
def test_port_forward_reaches_a_server_on_ipv6_loopback(
    sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """PortForward SHOULD reach a server that listens on the pod's ::1 only.

    Source: PortForward, which connects inside the pod's network. Not stated by the CRI for IPv6; `localhost`
    means both addresses.
    """
    server = serve(7005, "httpd", "-f", "-p", "[::1]:7005", "-h", "/home")
    assert server.exec("sh", "-c", "echo the page > /home/served").exit_code == 0
    connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7005])).connect(7005)

    connection.write(b"GET /served HTTP/1.0\r\n\r\n")

    try:
        page = connection.read_until(b"the page\n")
    except SessionEnded:
        if not localhost_is_ipv6():
            blocked("the name localhost has no IPv6 address on this machine, and the runtime may resolve it")
        raise
    assert page.startswith(b"HTTP/1.")


@requires(Capability.SAME_HOST)
@requirement("PFW-06")
def test_port_forward_to_a_pod_on_the_nodes_network(sandboxes: Sandboxes, streams: Streams) -> None:
    """PortForward to a pod on the node's network MUST reach the port of the node.

    Source: PortForward, NamespaceMode.NODE.
    """
    pod = sandboxes.ready(namespaces=cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD))
    # port 0: the kernel chooses a free one
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=pod.id, port=[port])).connect(port)

        connection.write(b"hello\n")

        assert select.select([listener], [], [], streams.patience)[0], (
            "no connection arrived at the node's port"
        )
        with listener.accept()[0] as accepted:
            # all 6 bytes, even if they arrive in pieces
            assert accepted.recv(6, socket.MSG_WAITALL) == b"hello\n"
            accepted.sendall(b"welcome\n")
            assert connection.read_until(b"\n") == b"welcome\n"


@requirement("PFW-07")
def test_port_forward_reports_that_nothing_listens(sandbox: Sandbox, serve: Serve, streams: Streams) -> None:
    """PortForward MUST report on the error stream that nothing listens at a port, and the session MUST
    continue for other ports.

    Source: PortForward; the sub-protocol portforward.k8s.io.
    """
    serve(7007)
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7999, 7007]))

    # nothing listens there
    refused = session.connect(7999)

    assert refused.read_error_until(lambda seen: len(seen) > 0)
    refused.close()
    other = session.connect(7007)
    other.write(b"hello\n")
    assert other.read_until(b"\n") == b"hello\n"


@requirement("PFW-08")
def test_form_of_a_response_after_the_client_has_closed_its_side(
    sandbox: Sandbox, serve: Serve, streams: Streams, record_variant: RecordVariant
) -> None:
    """PortForward MAY send or lose what the server in the pod writes a moment after the client has closed its
    side; the connection MUST end.

    Source: PortForward; the half-close of a SPDY stream, which the CRI does not define.
    """
    late = 'read line; usleep 300000; echo "late $line"'
    # the client has closed its side long before the server writes
    serve(7008, "nc", "-ll", "-p", "7008", "-e", "/bin/sh", "-c", late)
    connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7008])).connect(7008)

    connection.write(b"answer\n")
    connection.close_write()

    came = b"late answer" in connection.finish().data
    record_variant(f"what is sent 0.3 s after the end of the question {'comes' if came else 'is lost'}")


@requirement("PFW-09")
def test_port_forward_transfers_large_data(sandbox: Sandbox, serve: Serve, streams: Streams) -> None:
    """PortForward MUST transfer megabytes completely and in order.

    Source: PortForward.
    """
    serve(7009)
    # ascending numbers: lost or exchanged pieces show
    sent = b"".join(number.to_bytes(4, "big") for number in range(LARGE_BYTES // 4))
    connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7009])).connect(7009)

    connection.write(sent, 3 * streams.patience)

    connection.read_until(lambda seen: len(seen) >= LARGE_BYTES, 3 * streams.patience)
    assert connection.received().data == sent


@requirement("PFW-10")
@pytest.mark.parametrize("port", [0, 65536 + 7010], ids=["0", "above 65535"])
def test_port_forward_to_an_invalid_port_fails(
    sandbox: Sandbox, serve: Serve, ending: Ending, port: int
) -> None:
    """PortForward MUST reject ports below 1 and above 65535: at the call, at the upgrade or in the stream.

    Source: PortForwardRequest.port.
    """
    # the port that a server reaches if it cuts the number to 16 bits
    serve(7010)

    assert ending(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[port])) != ""


@requirement("PFW-11")
def test_port_forward_reaches_a_port_that_the_request_does_not_name(
    sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """PortForward SHOULD reach the port that a stream names if the request names no port.

    Source: PortForwardRequest.port. Not stated by the CRI; over SPDY, clients name the port in the session.
    """
    serve(7011, "nc", "-ll", "-p", "7011", "-e", "echo", "welcome")

    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id))

    assert session.connect(7011).read_until(b"\n") == b"welcome\n"


@requirement("PFW-13/fails")
def test_port_forward_to_a_stopped_sandbox_fails(
    runtime: Runtime, own_sandbox: Sandbox, serve: Serve, ending: Ending
) -> None:
    """PortForward to a stopped sandbox MUST fail, at the call, at the upgrade or on the error stream.

    Source: PortForwardRequest.pod_sandbox_id, StopPodSandbox.
    """
    serve(7015, in_sandbox=own_sandbox)
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert ending(cri.PortForwardRequest(pod_sandbox_id=own_sandbox.id, port=[7015])) != ""


@requirement("PFW-13/form")
def test_where_port_forward_to_a_stopped_sandbox_fails(
    runtime: Runtime, own_sandbox: Sandbox, ending: Ending, record_variant: RecordVariant
) -> None:
    """PortForward to a stopped sandbox MAY fail at the call, at the upgrade or on the error stream.

    Source: PortForwardRequest.pod_sandbox_id; the CRI names neither code nor place.
    """
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    record_variant(
        ending(cri.PortForwardRequest(pod_sandbox_id=own_sandbox.id, port=[80])) or "it does not fail"
    )


@requirement("PFW-15")
@requires(Capability.USER_NAMESPACES)
def test_port_forward_to_a_pod_with_a_user_namespace(
    sandboxes: Sandboxes, serve: Serve, streams: Streams
) -> None:
    """PortForward to a pod with a user namespace SHOULD work as for any other pod.

    Source: PortForward, NamespaceOption.userns_options.
    """
    pod = sandboxes.ready(namespaces=with_user_namespace())
    serve(7016, in_sandbox=pod)
    connection = streams.forward(cri.PortForwardRequest(pod_sandbox_id=pod.id, port=[7016])).connect(7016)

    connection.write(b"hello\n")

    assert connection.read_until(b"\n") == b"hello\n"


@requirement("PFW-14")
def test_port_forward_does_not_delay_removal(
    runtime: Runtime, own_sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """StopPodSandbox and RemovePodSandbox MUST NOT wait for a forwarded connection, and the connection MUST
    end.

    Source: StopPodSandbox, RemovePodSandbox, PortForward.
    """
    serve(7014, in_sandbox=own_sandbox)
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=own_sandbox.id, port=[7014]))
    connection = session.connect(7014)
    connection.write(b"hello\n")
    connection.read_until(b"\n")

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert connection.finish().data == b"hello\n"


@requirement("PFW-17/others")
def test_port_forward_continues_after_reset_connections(
    sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """PortForward SHOULD end only a connection that the server in the pod resets: the session's other
    connections and later ones continue.

    Source: PortForward; the sub-protocol portforward.k8s.io.
    """
    serve(7017)
    # exits after 0.1 s without reading anything
    serve(7018, "nc", "-ll", "-p", "7018", "-e", "usleep", "100000")
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7017, 7018]))
    lasting = session.connect(7017)
    reset = [session.connect(7018) for _ in range(RESETS)]

    for connection in reset:
        connection.write(MORE_THAN_READ)
    for connection in reset:
        connection.finish()

    lasting.write(b"still there\n")
    assert lasting.read_until(b"\n") == b"still there\n"
    later = session.connect(7017)
    later.write(b"later\n")
    assert later.read_until(b"\n") == b"later\n"


@requirement("PFW-17/silent")
def test_reset_by_the_server_is_not_reported_as_an_error(
    sandbox: Sandbox, serve: Serve, streams: Streams
) -> None:
    """PortForward SHOULD pass on that the server in the pod resets a connection, without reporting it on the
    error stream.

    Source: the sub-protocol portforward.k8s.io. Not stated by the CRI; kubectl ends the whole session at any
    error.
    """
    # the server reads one byte, so it exits after the data has arrived, of which most is left
    serve(7019, "nc", "-ll", "-p", "7019", "-e", "dd", "bs=1", "count=1")
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[7019]))
    connection = session.connect(7019)

    connection.write(MORE_THAN_READ)

    assert connection.finish().error == b""
