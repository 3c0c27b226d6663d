"""The registry's API for runtimes: pulls as in the OCI distribution specification, and tokens.

Sources: OCI Distribution Specification 1.1 (endpoints, error codes, headers); the distribution project's
"Token Authentication Specification" and "Oauth2 Token Authentication" for `/token`.
"""

import base64
import binascii
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from critests.images.admin import RegistryContents, administer
from critests.images.http_response import ResponseWriter
from critests.images.registry_client import ADMIN_PREFIX
from critests.images.registry_faults import Access, FaultKind, RegistryFault, Request, Scheme
from critests.images.repositories import REPOSITORY_NAME, TAG, UnknownRepositoryError

_ROUTE = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[^/]+)")
_DIGEST = re.compile(r"[a-z0-9+._-]+:[a-zA-Z0-9=_-]+")
_LONGEST_BODY = 16 << 20
FAULT_MESSAGE = "this registry was configured to return this error"
"""The message of all errors that are faults."""
_ERRORS = {
    FaultKind.UNAUTHORIZED: (HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED"),
    FaultKind.FORBIDDEN: (HTTPStatus.FORBIDDEN, "DENIED"),
    FaultKind.TOO_MANY_REQUESTS: (HTTPStatus.TOO_MANY_REQUESTS, "TOOMANYREQUESTS"),
    FaultKind.SERVER_ERROR: (HTTPStatus.INTERNAL_SERVER_ERROR, "UNKNOWN"),
    FaultKind.UNAVAILABLE: (HTTPStatus.SERVICE_UNAVAILABLE, "UNAVAILABLE"),
}
_UNKNOWN = {"manifest": "MANIFEST_UNKNOWN", "blob": "BLOB_UNKNOWN", "tags": "NAME_UNKNOWN"}


@dataclass(frozen=True, slots=True)
class _Credentials:
    """The credentials in an Authorization header; the secrets are not stored elsewhere."""

    scheme: str = ""
    username: str = ""
    secret: str = ""

    @classmethod
    def of(cls, header: str) -> "_Credentials":
        scheme, _, value = header.partition(" ")
        if scheme.lower() != "basic":
            return cls(scheme.lower(), "", value.strip())
        try:
            username, _, password = base64.b64decode(value).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return cls("basic")
        return cls("basic", username, password)


Headers = Mapping[str, str | Sequence[str]]
"""Headers of a response by name; several values are sent as several headers."""
_TLS_HANDSHAKE = b"\x16"
"""The first byte of a TLS connection, RFC 8446 section 5.1: the content type of a handshake."""


@dataclass(frozen=True, slots=True)
class _Rejection:
    """A response without content. Without a code it is a redirection instead of an error."""

    status: HTTPStatus
    code: str
    message: str
    headers: Headers = field(default_factory=dict)


class DistributionHandler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "critests-registry"
    sys_version = ""
    wbufsize = -1  # headers and a small body are sent in one packet
    disable_nagle_algorithm = True
    _request: Request | None = None
    """The recorded request that has no response yet."""

    @property
    def contents(self) -> RegistryContents:
        """The content of the registry."""
        # set by the server's constructor
        return cast("Any", self.server).contents  # type: ignore[no-any-return]  # see above

    def handle(self) -> None:
        """Handle the requests of the connection; a TLS handshake gets a plain HTTP error.

        Clients try HTTPS first and switch to plain HTTP after such a response; the base class would parse the
        first bytes of TLS as a request line, and its response would depend on those bytes.
        """
        # a buffered reader, but not in the stubs
        if self.rfile.peek(1)[:1] == _TLS_HANDSHAKE:  # type: ignore[attr-defined]  # see above
            self.wfile.write(
                b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nthis registry speaks plain HTTP\n"
            )
            self.wfile.flush()
            return
        super().handle()

    def do_GET(self) -> None:
        """Handle a GET or a HEAD."""
        self._read()

    do_HEAD = do_GET  # noqa: N815 - the name is the base class's

    def do_POST(self) -> None:
        """Handle a POST: the operations of `admin.py`, and the token endpoint's second form. Registry content
        cannot be written.
        """
        length = int(self.headers.get("Content-Length") or 0)
        if length > _LONGEST_BODY:
            self.close_connection = True
            self._error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "SIZE_INVALID", "the body is too large")
            return
        body = self.rfile.read(length)
        path = urlsplit(self.path).path
        if path.startswith(ADMIN_PREFIX):
            status, result = administer(
                self.contents, path.removeprefix(ADMIN_PREFIX), self.headers.get("X-Critests-Token", ""), body
            )
            self._json(status, result)
        elif path == "/token":
            self._token(
                {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
            )
        else:
            self._read_only()

    def do_PUT(self) -> None:
        """Reject: the registry is read-only."""
        self._read_only()

    do_PATCH = do_DELETE = do_PUT  # noqa: N815 - the names are the base class's

    def send_response(self, code: int, message: str | None = None) -> None:
        """Begin a response, and record its status."""
        if self._request:
            self._request.status = int(code)
            self._request = None
        super().send_response(code, message)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the base class's
        """Print nothing; requests are recorded by repository."""

    def _read_only(self) -> None:
        self.close_connection = True  # the rest of the body is not read
        self._error(HTTPStatus.METHOD_NOT_ALLOWED, "UNSUPPORTED", "this registry can only be pulled from")

    def _read(self) -> None:
        url = urlsplit(self.path)
        path = (
            url.path.replace("/redirected/v2/", "/v2/", 1)
            if url.path.startswith("/redirected/v2/")
            else url.path
        )
        match = _ROUTE.fullmatch(path)
        if path in {"/v2/", "/v2"}:
            self._base()
        elif path == "/token":
            self._token({name: values[-1] for name, values in parse_qs(url.query).items()})
        elif path == ADMIN_PREFIX:
            self._json(HTTPStatus.OK, self.contents.greeting())
        elif match is None:
            self._error(HTTPStatus.NOT_FOUND, "NAME_UNKNOWN", f"there is nothing at {url.path}")
        else:
            self._pull(
                match["name"],
                match["kind"].removesuffix("s") if match["kind"] != "tags" else "tags",
                match["reference"],
            )

    def _pull(self, name: str, kind: str, reference: str) -> None:
        """Handle a request for a manifest, a blob or the tags of a repository, and record it."""
        credentials = _Credentials.of(self.headers.get("Authorization", ""))
        repositories = self.contents.repositories
        redirected = self.path.startswith("/redirected/")
        fault = None if redirected else repositories.meet_fault(name, self.command, kind, reference)
        self._request = Request(
            method=self.command,
            kind=kind,
            reference=reference,
            authorization=credentials.scheme,
            username=credentials.username,
            fault=str(fault.kind) if fault else "",
        )
        repositories.record(name, self._request)
        rejection = self._rejection(name, kind, reference, credentials, fault)
        if fault and fault.kind is FaultKind.RESPONSE:
            self._send_raw(fault.response.replace("{path}", self.path))
        elif rejection:
            self._reject(rejection)
        elif kind == "tags":
            self._json(HTTPStatus.OK, {"name": name, "tags": repositories.tags(name)})
        elif blob := repositories.find(name, kind, reference):

            def goes_on() -> bool:
                return self.contents.serving and (fault is None or repositories.has_fault(name, fault))

            ResponseWriter(self, blob, kind, fault, goes_on).send(self.headers.get("Range", ""))
        else:
            self._error(
                HTTPStatus.NOT_FOUND, _UNKNOWN[kind], f"the repository {name} has no {kind} {reference}"
            )

    def _rejection(
        self, name: str, kind: str, reference: str, credentials: _Credentials, fault: RegistryFault | None
    ) -> _Rejection | None:
        """Return the response instead of any content, or None if the content may be looked up."""
        repositories = self.contents.repositories
        access = repositories.access(name)
        if problem := _problem_of_names(name, kind, reference):
            return _Rejection(HTTPStatus.BAD_REQUEST, *problem)
        if access and not self._may_read(name, access, credentials):
            challenge = {"WWW-Authenticate": self._challenges(access, name)}
            return _Rejection(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "credentials are needed", challenge)
        if fault and fault.kind in _ERRORS:
            status, code = _ERRORS[fault.kind]
            headers: dict[str, str | Sequence[str]] = (
                {"WWW-Authenticate": self._challenge(Scheme.BASIC, name)}
                if status is HTTPStatus.UNAUTHORIZED
                else {}
            )
            if fault.seconds:
                headers["Retry-After"] = str(int(fault.seconds))
            return _Rejection(status, code, FAULT_MESSAGE, headers)
        if fault and fault.kind is FaultKind.REDIRECT:
            location = (
                fault.location.replace("{path}", self.path) if fault.location else f"/redirected{self.path}"
            )
            return _Rejection(HTTPStatus.TEMPORARY_REDIRECT, "", "", {"Location": location})
        if not repositories.knows(name):
            return _Rejection(HTTPStatus.NOT_FOUND, "NAME_UNKNOWN", f"there is no repository {name}")
        return None

    def _reject(self, rejection: _Rejection) -> None:
        if rejection.code:
            self._error(rejection.status, rejection.code, rejection.message, rejection.headers)
        else:
            self._json(rejection.status, {}, rejection.headers)

    def _may_read(self, name: str, access: Access, credentials: _Credentials) -> bool:
        if access.scheme is Scheme.BASIC:
            return (credentials.scheme, credentials.username, credentials.secret) == (
                "basic",
                access.username,
                access.password,
            )
        return credentials.scheme == "bearer" and self.contents.repositories.holds_token(
            name, credentials.secret
        )

    def _challenges(self, access: Access, name: str) -> Sequence[str]:
        """Return the values of WWW-Authenticate for a repository; without a name for all of them."""
        if not access.challenges:
            return [self._challenge(access.scheme, name)]
        values = {
            "{realm}": f"http://{self.contents.address}/token",
            "{service}": self.contents.address,
            "{scope}": f"repository:{name}:pull",
            "{error}": ',error="invalid_token"' if self.headers.get("Authorization") else "",
        }
        challenges = list(access.challenges)
        for placeholder, value in values.items():
            challenges = [challenge.replace(placeholder, value) for challenge in challenges]
        return challenges

    def _challenge(self, scheme: Scheme, name: str) -> str:
        if scheme is Scheme.BASIC:
            return 'Basic realm="critests"'
        scope = f',scope="repository:{name}:pull"' if name else ""
        access = self.contents.repositories.access(name) if name else None
        # first, so that a client that stops reading there lacks the parameters that it needs
        empty = 'error_description="",' if access and access.empty_parameter else ""
        realm = f'realm="http://{self.contents.address}/token",service="{self.contents.address}"'
        return f"Bearer {empty}{realm}{scope}"

    def _base(self) -> None:
        """Handle a request for `/v2/`. Some clients (containers/image) learn the scheme only here, some
        (Docker Engine) only if credentials are required here; others never call it.
        """
        accesses = self.contents.repositories.accesses()
        if not accesses or self.headers.get("Authorization"):
            self._json(HTTPStatus.OK, {})
        else:
            # a test with unusual challenges is the only one that requires credentials
            name, access = min(accesses, key=lambda each: (not each[1].challenges, each[1].scheme))
            challenge = {"WWW-Authenticate": self._challenges(access, name if access.challenges else "")}
            self._error(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "credentials are needed", challenge)

    def _token(self, parameters: Mapping[str, str]) -> None:
        """Return a token: to the user of the repository, or to every client if it has none.

        A repository that is open to all has tokens as well: a client that learned at `/v2/` that others need
        one may ask for it.
        """
        parts = parameters.get("scope", "").split(":")
        name = parts[1] if len(parts) == 3 and parts[0] == "repository" else ""
        access = self.contents.repositories.access(name) or Access(scheme=Scheme.BEARER)
        if access.scheme is not Scheme.BEARER:
            self._error(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "there is no token for this scope")
            return
        credentials = _Credentials.of(self.headers.get("Authorization", ""))
        if parameters.get("grant_type") == "refresh_token":
            good = bool(access.identity_token) and parameters.get("refresh_token") == access.identity_token
        elif parameters.get("grant_type") == "password":
            good = (parameters.get("username"), parameters.get("password")) == (
                access.username,
                access.password,
            )
        else:
            good = (credentials.username, credentials.secret) == (access.username, access.password)
        if not good and access.username:
            self._error(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "these credentials are wrong")
            return
        try:
            token, seconds = self.contents.repositories.new_token(name)
        except UnknownRepositoryError as error:
            self._error(HTTPStatus.NOT_FOUND, "NAME_UNKNOWN", str(error))
            return
        if access.token_response:
            self._send_raw(access.token_response.replace("{token}", token))
            return
        issued = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._json(
            HTTPStatus.OK, {"token": token, "access_token": token, "expires_in": seconds, "issued_at": issued}
        )

    def _send_raw(self, response: str) -> None:
        """Send a whole response, and close the connection."""
        raw = response.encode("latin-1")
        if self.command == "HEAD":
            head, end, rest = raw.partition(b"\r\n\r\n")
            raw = head + end
            # interim responses have headers only
            while head.startswith(b"HTTP/1.1 10"):
                head, end, rest = rest.partition(b"\r\n\r\n")
                raw += head + end
        self.close_connection = True
        self.wfile.write(raw)

    def _error(self, status: HTTPStatus, code: str, message: str, headers: Headers | None = None) -> None:
        self._json(status, {"errors": [{"code": code, "message": message}]}, headers)

    def _json(self, status: HTTPStatus, value: object, headers: Headers | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Distribution-API-Version", "registry/2.0")
        for name, content in (headers or {}).items():
            for each in [content] if isinstance(content, str) else content:
                self.send_header(name, each)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _problem_of_names(name: str, kind: str, reference: str) -> tuple[str, str] | None:
    """Return the code and the message for a malformed name, tag or digest."""
    if not REPOSITORY_NAME.fullmatch(name):
        return "NAME_INVALID", "this is no name for a repository"
    if kind == "blob" and not _DIGEST.fullmatch(reference):
        return "DIGEST_INVALID", "this is no digest"
    if kind == "manifest" and not (TAG.fullmatch(reference) or _DIGEST.fullmatch(reference)):
        return "MANIFEST_INVALID", "this is neither a tag nor a digest"
    if kind == "tags" and reference != "list":
        return "UNSUPPORTED", "there is only tags/list"
    return None
