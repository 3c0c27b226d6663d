"""How the registry can be told to misbehave, and whom it asks for credentials: as data."""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class FaultKind(StrEnum):
    """What goes wrong."""

    # answered in place of the content
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    TOO_MANY_REQUESTS = "429"
    """With `Retry-After`, in seconds, if `seconds` is set."""
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    # the content is another
    WRONG_DIGEST = "wrong digest"
    """As many bytes as announced, and one of them is another than the digest says. A manifest is still valid
    JSON.
    """
    SHORT = "short"
    """Whole as an HTTP answer, but half of the content is missing."""
    MALFORMED_MANIFEST = "malformed manifest"
    """A manifest that is not JSON. For manifests alone, whatever the scope."""
    OLD_SCHEMA = "old schema"
    """A manifest of Docker's schema 1, of before there were digests of images. For manifests alone, too."""
    WRONG_MEDIA_TYPE = "wrong media type"
    """The content as it is, called text/html."""
    # the transport breaks
    TRUNCATED = "truncated"
    """The connection closes after half of what `Content-Length` announced."""
    RESET = "reset"
    """The connection is reset (RST) after half of the content."""
    STALL = "stall"
    """After half of the content nothing comes any more, until the client leaves, the fault is cleared or
    `seconds` are over.
    """
    # the content is right, the way to it is not the usual one
    DELAY = "delay"
    """The answer begins after `seconds`."""
    SLOW = "slow"
    """The content comes at `bytes_per_second`, or evenly over `seconds`."""
    NO_DIGEST_HEADER = "no digest header"
    """`Docker-Content-Digest` is missing, which registries are free to do."""
    CHUNKED = "chunked"
    """The content comes with chunked transfer encoding, without a length."""
    REDIRECT = "redirect"
    """307 to `location` (with `{path}` in it replaced by the request's path), or without one to the same
    content under another path.
    """


MANIFESTS_ALONE = frozenset({FaultKind.MALFORMED_MANIFEST, FaultKind.OLD_SCHEMA})
"""Faults of manifests, whatever their scope."""


@unique
class Scope(StrEnum):
    """Which requests a fault is for."""

    MANIFEST = "manifest"
    BLOB = "blob"
    CONFIG = "config"
    """Only blobs that are an image's configuration."""
    LAYER = "layer"
    """Only blobs that are a layer."""
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryFault:
    """One way in which a repository misbehaves."""

    kind: FaultKind
    scope: Scope = Scope.ANY
    method: str = ""
    """`GET` or `HEAD`; empty for both."""
    reference: str = ""
    """A tag or a digest; empty for all."""
    seconds: float = 0.0
    bytes_per_second: int = 0
    location: str = ""

    def __str__(self) -> str:
        return str(self.kind) if self.scope is Scope.ANY else f"{self.kind} ({self.scope})"

    def __post_init__(self) -> None:
        """Refuse a fault without a number that its kind needs.

        Raises:
            ValueError: it lacks one.
        """
        if self.kind is FaultKind.SLOW and self.bytes_per_second <= 0 and self.seconds <= 0:
            raise ValueError("a slow fault needs bytes_per_second or seconds")
        if self.kind is FaultKind.DELAY and self.seconds <= 0:
            raise ValueError("a delay needs seconds")


@unique
class Scheme(StrEnum):
    """How a repository asks for credentials."""

    BASIC = "basic"
    BEARER = "bearer"
    """By a token that the registry's own token endpoint hands out: RFC 6750, and the distribution project's
    token specification.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may read a repository."""

    scheme: Scheme = Scheme.BASIC
    username: str = ""
    """With the scheme bearer and no name, everybody is given a token (an anonymous pull from a registry with
    tokens).
    """
    password: str = ""
    identity_token: str = ""
    """Accepted by the token endpoint as a refresh token."""
    empty_parameter: bool = False
    """Whether the challenge has a parameter without a value before its last one, which quoted strings may
    be.
    """
    token_seconds: int = 300
    """How long a token is good for."""

    def __post_init__(self) -> None:
        """Refuse basic access without anybody to let in.

        Raises:
            ValueError: there is no name.
        """
        if self.scheme is Scheme.BASIC and not self.username:
            raise ValueError("basic access needs a username")


@dataclass(slots=True, kw_only=True)
class Request:
    """One request that a repository had."""

    method: str
    kind: str
    """`manifest`, `blob` or `tags`."""
    reference: str
    """The tag or digest asked for."""
    status: int = 0
    """0 as long as it is not answered."""
    authorization: str
    """The scheme of its Authorization header in lower case, empty without one. The credentials themselves are
    kept nowhere.
    """
    username: str
    """The name in it, where the scheme is basic."""
    fault: str
    """The kind of the fault that it met, or empty."""
