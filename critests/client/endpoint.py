"""The endpoint of a runtime: the forms that a user may write, and what they mean for gRPC."""

from dataclasses import dataclass
from pathlib import Path

from critests.exit_codes import CannotTest, UsageError


class EndpointError(CannotTest):
    """An endpoint cannot be used; the message says why and what to do."""


class EndpointMalformed(EndpointError, UsageError):
    """The user's text is not an endpoint."""


@dataclass(frozen=True)
class TlsFiles:
    """Certificates for a `tcp:` endpoint.

    Attributes:
        ca: PEM file with the authority that signed the server's certificate; None trusts the system's.
        certificate: PEM file with the client's certificate, if the server requires one.
        key: PEM file with the key of `certificate`.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def wanted(self) -> bool:
        """Whether the user named any file, which turns TLS on."""
        return bool(self.ca or self.certificate or self.key)

    def __post_init__(self) -> None:
        """Reject half a key pair and files that cannot be read.

        Raises:
            EndpointMalformed: with the option that is missing or the file that does not exist.
        """
        if bool(self.certificate) != bool(self.key):
            msg = "--tls-cert and --tls-key belong together: give both or neither"
            raise EndpointMalformed(msg)
        for option, file in (
            ("--tls-ca", self.ca),
            ("--tls-cert", self.certificate),
            ("--tls-key", self.key),
        ):
            if file is not None and not file.is_file():
                msg = f"{option} {file}: no such file"
                raise EndpointMalformed(msg)


@dataclass(frozen=True)
class Endpoint:
    """A parsed endpoint.

    Attributes:
        text: for messages, always with a scheme.
        target: for gRPC.
        socket: path of the unix socket; None for `tcp:`.
    """

    text: str
    target: str
    socket: Path | None

    @classmethod
    def parse(cls, text: str) -> "Endpoint":
        """Parse an endpoint in any of the forms that crictl accepts.

        Args:
            text: `unix:///run/x.sock`, `unix:/run/x.sock`, `/run/x.sock`, `tcp://host:port` or
                `tcp:host:port`.

        Raises:
            EndpointMalformed: the form is unknown, or belongs to another operating system.
        """
        text = text.strip()
        scheme, colon, rest = text.partition(":")
        if not text:
            msg = "the endpoint is empty: give for example unix:///run/containerd/containerd.sock"
            raise EndpointMalformed(msg)
        if text.startswith("/"):
            return cls(f"unix://{text}", f"unix:{text}", Path(text))
        if scheme == "npipe":
            msg = (
                f"{text}: named pipes belong to Windows nodes, and this suite runs on Linux; give a unix: or"
                " tcp: endpoint"
            )
            raise EndpointMalformed(msg)
        if colon and scheme == "unix":
            path = rest.removeprefix("//")
            if not path.startswith("/"):
                msg = (
                    f"{text}: the path of a unix socket must be absolute, as in"
                    " unix:///run/containerd/containerd.sock"
                )
                raise EndpointMalformed(msg)
            return cls(f"unix://{path}", f"unix:{path}", Path(path))
        if colon and scheme == "tcp":
            address = rest.removeprefix("//").rstrip("/")
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
                msg = f"{text}: a tcp endpoint needs a host and a port, as in tcp://127.0.0.1:3735"
                raise EndpointMalformed(msg)
            return cls(f"tcp://{address}", f"dns:///{address}", None)
        msg = f"{text}: not an endpoint; give unix:///path/to.sock, /path/to.sock or tcp://host:port"
        raise EndpointMalformed(msg)
