"""A connection to a runtime: both services, on one socket or on two, and error messages if it cannot be
used.
"""

from dataclasses import dataclass, field

import grpc

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.client.call_recording import Recorder, RecordingChannel
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, EndpointError, TlsFiles
from critests.client.failures import code_of
from critests.client.hangs import Hangs
from critests.client.socket_check import GREETING_SECONDS, check_listening

RECEIVE_LIMIT_BYTES = 16 * 1024 * 1024
"""The kubelet's limit, and so the largest response that a runtime can rely on."""
KUBELET_API_VERSION = "0.1.0"


@dataclass(frozen=True)
class Connection:
    """An open connection.

    Attributes:
        endpoint: of the runtime service.
        image_endpoint: of the image service; often the same.
        runtime: raw stub of RuntimeService, with recording and deadlines.
        images: raw stub of ImageService, with recording and deadlines.
        channel: the recorded channel of `runtime`, for methods that are in no stub.
        recorder: stores every call.
        deadlines: the deadline of every call.
        hangs: which of its RPCs hang.
    """

    endpoint: Endpoint
    image_endpoint: Endpoint
    runtime: cri_grpc.RuntimeServiceStub = field(repr=False)
    images: cri_grpc.ImageServiceStub = field(repr=False)
    channel: grpc.Channel = field(repr=False)
    image_channel: grpc.Channel = field(repr=False)
    recorder: Recorder = field(repr=False)
    deadlines: Deadlines = field(repr=False)
    hangs: Hangs = field(repr=False)

    def close(self) -> None:
        """Close both channels."""
        self.channel.close()
        if self.image_channel is not self.channel:
            self.image_channel.close()

    def greet(self, seconds: float | None = None) -> cri.VersionResponse:
        """Call Version; a failure becomes a message that says what to do.

        Args:
            seconds: to wait for a connection, and then for the response; 5 by default, scaled for the
                response.

        Raises:
            EndpointError: nothing listens, access is denied, it is not CRI v1, or it does not respond.
        """
        check_listening(self.endpoint, seconds or GREETING_SECONDS)
        if self.image_endpoint != self.endpoint:
            check_listening(self.image_endpoint, seconds or GREETING_SECONDS)
        waited = seconds or GREETING_SECONDS * self.deadlines.scale
        try:
            return self.runtime.Version(
                cri.VersionRequest(version=KUBELET_API_VERSION),
                timeout=waited,
            )
        except grpc.RpcError as error:
            raise EndpointError(_why_no_greeting(self.endpoint, error, waited)) from error


def connect(
    endpoint: Endpoint,
    image_endpoint: Endpoint | None = None,
    *,
    tls: TlsFiles | None = None,
    deadlines: Deadlines | None = None,
    recorder: Recorder | None = None,
    receive_limit_bytes: int = RECEIVE_LIMIT_BYTES,
    read_only: bool = False,
    hangs: Hangs | None = None,
) -> Connection:
    """Open a connection; nothing is sent before the first call, so use `greet` to check it.

    Args:
        endpoint: of the runtime service.
        image_endpoint: of the image service; the same by default.
        tls: certificates for `tcp:` endpoints.
        deadlines: of every call without a timeout of its own.
        recorder: stores the calls; a new one by default.
        receive_limit_bytes: the largest response that is accepted.
        read_only: refuse to send any call that may change something, with `CallNotAllowed`.
        hangs: what is known already of the RPCs of the same runtime; its deadlines are used then.
    """
    recorder = recorder or Recorder()
    hangs = hangs or Hangs(deadlines)
    image_endpoint = image_endpoint or endpoint
    channel = RecordingChannel(
        open_channel(endpoint, tls, receive_limit_bytes),
        recorder,
        hangs,
        read_only=read_only,
        endpoint=endpoint.text,
    )
    image_channel = channel
    if image_endpoint != endpoint:
        bare = open_channel(image_endpoint, tls, receive_limit_bytes)
        image_channel = RecordingChannel(bare, recorder, hangs, read_only=read_only, endpoint=endpoint.text)
    return Connection(
        endpoint,
        image_endpoint,
        cri_grpc.RuntimeServiceStub(channel),
        cri_grpc.ImageServiceStub(image_channel),
        channel,
        image_channel,
        recorder,
        hangs.deadlines,
        hangs,
    )


def open_channel(
    endpoint: Endpoint, tls: TlsFiles | None = None, receive_limit_bytes: int = RECEIVE_LIMIT_BYTES
) -> grpc.Channel:
    """Open a gRPC channel without recording and deadlines; nothing is sent before the first call.

    Args:
        endpoint: to connect to.
        tls: certificates for `tcp:` endpoints.
        receive_limit_bytes: the largest response that is accepted.
    """
    options = [
        ("grpc.max_receive_message_length", receive_limit_bytes),
        ("grpc.max_send_message_length", receive_limit_bytes),
        # a private pool: otherwise two channels to one socket share a connection, and fail together
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),  # a test must get each failure
        # the defaults, 1 s and 120 s, would delay the first call after a restart of the daemon
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.max_reconnect_backoff_ms", 500),
        # HTTP proxies from the environment are not meant for a node's own runtime
        ("grpc.enable_http_proxy", 0),
    ]
    if endpoint.socket is not None:
        # runtimes reject the path of the socket as :authority, which is gRPC's default for unix sockets
        return grpc.insecure_channel(endpoint.target, [*options, ("grpc.default_authority", "localhost")])
    if tls is None or not tls.wanted:
        return grpc.insecure_channel(endpoint.target, options)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=tls.ca.read_bytes() if tls.ca else None,
        private_key=tls.key.read_bytes() if tls.key else None,
        certificate_chain=tls.certificate.read_bytes() if tls.certificate else None,
    )
    return grpc.secure_channel(endpoint.target, credentials, options)


def _why_no_greeting(endpoint: Endpoint, error: grpc.RpcError, waited: float) -> str:
    code, details = code_of(error)
    if code == "DEADLINE_EXCEEDED":
        return (
            f"{endpoint.text}: the connection was accepted, but Version got no response within {waited:g} s"
        )
    if code == "UNIMPLEMENTED":
        return (
            f"{endpoint.text}: a gRPC server, but without CRI v1 (runtime.v1.RuntimeService); too old, or its"
            " CRI plugin is disabled"
        )
    if code == "UNAVAILABLE":
        return (
            f"{endpoint.text}: no CRI runtime responds; what listens does not speak gRPC, or closed the"
            f" connection ({details[:200]})"
        )
    return f"{endpoint.text}: Version failed with {code} ({details[:200]})"
