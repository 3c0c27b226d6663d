"""The faults that the registry can produce, and the credentials that it requires, as data."""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class FaultKind(StrEnum):
    """The kind of a fault."""

    # an error instead of the content
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    TOO_MANY_REQUESTS = "429"
    """With `Retry-After`, in seconds, if `seconds` is set."""
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    # wrong content
    WRONG_DIGEST = "wrong digest"
    """The announced size, but one byte does not match the digest. A manifest is still valid JSON."""
    SHORT = "short"
    """A complete HTTP response, but with half of the content."""
    MALFORMED_MANIFEST = "malformed manifest"
    """A manifest that is not JSON. Applies to manifests only, whatever the scope."""
    OLD_SCHEMA = "old schema"
    """A manifest of Docker's schema 1, which has no image digests. Applies to manifests only."""
    WRONG_MEDIA_TYPE = "wrong media type"
    """The right content with the media type text/html."""
    # the transport breaks
    TRUNCATED = "truncated"
    """The connection is closed after half of the announced `Content-Length`."""
    RESET = "reset"
    """The connection is reset (RST) after half of the content."""
    STALL = "stall"
    """After half of the content nothing is sent, until the client disconnects, the fault is cleared or
    `seconds` have passed.
    """
    # the right content, in an unusual way
    DELAY = "delay"
    """The response begins after `seconds`."""
    SLOW = "slow"
    """The content is sent at `bytes_per_second`, or evenly over `seconds`."""
    NO_DIGEST_HEADER = "no digest header"
    """`Docker-Content-Digest` is missing, which the specification allows."""
    NO_RANGES = "no ranges"
    """The whole content, also for a request for a part of it."""
    CHUNKED = "chunked"
    """The content is sent with chunked transfer encoding, without a length."""
    RESPONSE = "response"
    """`response`, whatever the content is."""
    REDIRECT = "redirect"
    """307 to `location` (with `{path}` replaced by the request's path), or without `location` to the same
    content under another path.
    """


MANIFESTS_ONLY = frozenset({FaultKind.MALFORMED_MANIFEST, FaultKind.OLD_SCHEMA})
"""Faults that apply to manifests only, whatever their scope."""


@unique
class Scope(StrEnum):
    """To which requests a fault applies."""

    MANIFEST = "manifest"
    BLOB = "blob"
    CONFIG = "config"
    """Only blobs that are an image's configuration."""
    LAYER = "layer"
    """Only blobs that are a layer."""
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryFault:
    """A fault of a repository."""

    kind: FaultKind
    scope: Scope = Scope.ANY
    method: str = ""
    """`GET` or `HEAD`; empty for both."""
    reference: str = ""
    """A tag or a digest; empty for all."""
    seconds: float = 0.0
    bytes_per_second: int = 0
    location: str = ""
    response: str = ""
    """A whole HTTP response as Latin-1, with `{path}` for the request's path; a HEAD gets its headers, and
    the connection is closed.
    """

    def __str__(self) -> str:
        return str(self.kind) if self.scope is Scope.ANY else f"{self.kind} ({self.scope})"

    def __post_init__(self) -> None:
        """Reject a fault without a number that its kind needs.

        Raises:
            ValueError: it lacks one.
        """
        if self.kind is FaultKind.SLOW and self.bytes_per_second <= 0 and self.seconds <= 0:
            raise ValueError("a slow fault needs bytes_per_second or seconds")
        if self.kind is FaultKind.DELAY and self.seconds <= 0:
            raise ValueError("a delay needs seconds")


@unique
class Scheme(StrEnum):
    """How a repository requires credentials."""

    BASIC = "basic"
    BEARER = "bearer"
    """With a token from the registry's own token endpoint: RFC 6750, and the distribution project's token
    specification.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may read a repository."""

    scheme: Scheme = Scheme.BASIC
    username: str = ""
    """With the scheme bearer and without a name, every client gets a token (an anonymous pull from a registry
    with tokens).
    """
    password: str = ""
    identity_token: str = ""
    """Accepted by the token endpoint as a refresh token."""
    empty_parameter: bool = False
    """Whether the challenge has an empty parameter before its last one; quoted strings may be empty."""
    token_seconds: int = 300
    """Lifetime of a token."""
    challenges: tuple[str, ...] = ()
    """Values of WWW-Authenticate, one for each header, in place of the usual challenge: with `{realm}`,
    `{service}`, `{scope}`, and `{error}` for an error parameter after a token that is not valid.
    """
    token_response: str = ""
    """A whole HTTP response of the token endpoint as Latin-1, with `{token}` for a valid token."""

    def __post_init__(self) -> None:
        """Reject basic access without a username.

        Raises:
            ValueError: there is no name.
        """
        if self.scheme is Scheme.BASIC and not self.username:
            raise ValueError("basic access needs a username")


@dataclass(slots=True, kw_only=True)
class Request:
    """One request to a repository."""

    method: str
    kind: str
    """`manifest`, `blob` or `tags`."""
    reference: str
    """The requested tag or digest."""
    status: int = 0
    """0 before the response."""
    authorization: str
    """The scheme of its Authorization header in lower case, empty without one. The credentials are not
    stored.
    """
    username: str
    """The username in the header, with the scheme basic."""
    fault: str
    """The kind of the fault that was applied, or empty."""
