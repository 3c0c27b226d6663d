"""HTTP responses of a registry with unusual status, headers and framing.

Sources: OCI Distribution Specification 1.1; RFC 9110 (HTTP semantics), RFC 9112 (HTTP/1.1).
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Final

from critests.documents.document_fields import ESCAPE, Expected
from critests.documents.variants import Variant

ACCEPTED, EITHER = Expected.ACCEPTED, Expected.EITHER
Headers = Sequence[tuple[str, str]]
STATUSES: Final = (
    *("099 x", "201 Created", "202 Accepted", "203 Non-Authoritative", "204 No Content", "205 Reset Content"),
    *("206 Partial Content", "207 Multi-Status", "300 Multiple Choices", "304 Not Modified", "305 Use Proxy"),
    *(
        "400 Bad Request",
        "402 Payment Required",
        "404 Not Found",
        "405 Method Not Allowed",
        "406 Not Acceptable",
    ),
    *("408 Request Timeout", "409 Conflict", "410 Gone", "411 Length Required", "412 Precondition Failed"),
    *("413 Content Too Large", "416 Range Not Satisfiable", "418 I'm a teapot", "421 Misdirected Request"),
    # without 429: a client may wait for more than a minute, and try again
    *("426 Upgrade Required", "431 Too Large", "451 Unavailable", "499 x", "500 x"),
    *("501 Not Implemented", "502 Bad Gateway", "503 Service Unavailable", "504 Timeout", "505 x", "511 x"),
    *("599 x", "600 x", "999 x", "0 x", "-1 x", "2000 x", "x x", ""),
)
LOCATIONS: Final = {
    "leads to the content": "/redirected{path}",
    "leads to itself": "{path}",
    "is empty": "",
    "has no host": "http:///v2/",
    "is of another scheme": "ftp://127.0.0.1/x",
    "is a file": "file:///etc/hostname",
    "is a socket": f"unix:///run/{ESCAPE}",
    "has a closed port": "http://127.0.0.1:1/x",
    "has an invalid port": "http://127.0.0.1:99999/x",
    "has credentials": "http://user:password@127.0.0.1:1/x",
    "is no URL": "http://[::1/%zz",
    "is long": "/" + "x" * (1 << 16),
    "has a line break in it": "/a%0d%0ab",
    "leads upwards": f"/../../../../{ESCAPE}",
}
ERRORS: Final = {
    "is not JSON": b"<html>",
    "is empty": b"",
    "is null": b"null",
    "is a list": b"[]",
    "has no errors": b"{}",
    "has null for errors": b'{"errors": null}',
    "has an object for errors": b'{"errors": {}}',
    "has texts for errors": b'{"errors": ["x"]}',
    "has null in errors": b'{"errors": [null]}',
    "has a number for a code": b'{"errors": [{"code": 7, "message": 7}]}',
    "has an unknown code": b'{"errors": [{"code": "CRITESTS", "message": "x", "detail": {"a": [1]}}]}',
    "has no message": b'{"errors": [{"code": "DENIED"}]}',
    "has a control character": b'{"errors": [{"code": "DENIED", "message": "\\u001b[31m\\u0000\\n"}]}',
    "is not UTF-8": b'{"errors": [{"code": "DENIED", "message": "\xff\xfe"}]}',
    "has many errors": json.dumps({"errors": [{"code": "DENIED", "message": "x"}] * 10_000}).encode(),
    "has a long message": json.dumps({"errors": [{"code": "DENIED", "message": "x" * (8 << 20)}]}).encode(),
    "is deeply nested": b'{"errors": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
}


def response(
    headers: Headers, body: bytes, status: str = "200 OK", version: str = "HTTP/1.1", end: str = "\r\n"
) -> bytes:
    """Return a response as it is sent."""
    lines = [f"{version} {status}".rstrip(), *(f"{name}: {value}" for name, value in headers), "", ""]
    return end.join(lines).encode("latin-1") + body


def response_variants(body: bytes, media_type: str, digest: str) -> Iterator[Variant]:
    """Yield responses with a manifest or blob.

    Args:
        body: the content.
        media_type: of its header.
        digest: of the content.
    """
    length = str(len(body))
    usual = [("Content-Type", media_type), ("Content-Length", length), ("Docker-Content-Digest", digest)]
    yield from _statuses(usual, body)
    yield from _headers(usual, body)
    yield from _framing(usual, body)
    for change, text in ERRORS.items():
        for status in ("404 Not Found", "403 Forbidden"):
            headers = [("Content-Type", "application/json"), ("Content-Length", str(len(text)))]
            yield Variant(f"error {status[:3]}", change, response(headers, text, status))


def _statuses(usual: Headers, body: bytes) -> Iterator[Variant]:
    for status in STATUSES:
        yield Variant("status", f"is {status!r}", response(usual, body, status))
    for status in ("301 x", "302 x", "303 x", "307 x", "308 x"):
        empty = ("Content-Length", "0")
        yield Variant("Location", f"is absent with {status[:3]}", response([empty], b"", status))
        for change, location in LOCATIONS.items():
            headers = [("Location", location), empty]
            yield Variant("Location", f"{change} with {status[:3]}", response(headers, b"", status))
    for version in ("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/9.9", "ICY", "http/1.1", ""):
        expected = ACCEPTED if version == "HTTP/1.0" else EITHER
        yield Variant("version", f"is {version!r}", response(usual, body, version=version), expected)
    # RFC 9110, section 15.2: a client must be able to parse interim responses
    for interim in ("100 Continue", "103 Early Hints"):
        first = response([], b"", interim)
        yield Variant("status", f"is {interim} before 200", first + response(usual, body), ACCEPTED)
    many = response([], b"", "103 Early Hints") * 1000
    yield Variant("status", "is 103 a thousand times", many + response(usual, body))
    for value in ("x", "-1", "0", "Thu, 01 Jan 1970 00:00:00 GMT", ""):
        headers = [("Retry-After", value), ("Content-Length", "0")]
        yield Variant("Retry-After", f"is {value!r}", response(headers, b"", "503 Service Unavailable"))


def _headers(usual: Headers, body: bytes) -> Iterator[Variant]:
    def without(name: str) -> Headers:
        return [(key, value) for key, value in usual if key != name]

    def replaced(name: str, value: str) -> bytes:
        return response([*without(name), (name, value)], body)

    digest = dict(usual)["Docker-Content-Digest"]
    # the specification says SHOULD
    yield Variant(
        "Docker-Content-Digest", "is absent", response(without("Docker-Content-Digest"), body), ACCEPTED
    )
    for change, value in {
        "is empty": "",
        "is another": f"sha256:{'5' * 64}",
        "is no digest": "x",
        "is too short": digest[:-1],
        "is in upper case": digest.upper(),
        "is of an unknown algorithm": f"critests:{digest[7:]}",
        "leads upwards": f"sha256:../../../../{ESCAPE}",
        "is long": "sha256:" + "5" * (1 << 16),
    }.items():
        yield Variant("Docker-Content-Digest", change, replaced("Docker-Content-Digest", value))
    yield Variant(
        "Docker-Content-Digest",
        "is there twice",
        response([*usual, ("Docker-Content-Digest", f"sha256:{'5' * 64}")], body),
    )
    yield Variant("Content-Type", "is absent", response(without("Content-Type"), body))
    for value in ("", "x", "text/html", "application/json", "application/octet-stream", "/", "x" * (1 << 16)):
        shown = repr(value) if len(value) < 60 else "long"
        yield Variant("Content-Type", f"is {shown}", replaced("Content-Type", value))
    media_type = dict(usual)["Content-Type"]
    yield Variant("Content-Type", "has a parameter", replaced("Content-Type", f"{media_type}; charset=utf-8"))
    yield Variant("Content-Type", "is in upper case", replaced("Content-Type", media_type.upper()))
    lower = [(name.lower(), value) for name, value in usual]
    yield Variant("headers", "are in lower case", response(lower, body), ACCEPTED)
    yield Variant(
        "headers",
        "have no space",
        response(usual, body).replace(b": ", b":", 3),
        ACCEPTED,
    )
    for change, extra in {
        "have an unknown one": [("X-Critests", "x")],
        "have a warning": [("Warning", '299 - "this image is old"')],
        "have a cookie": [("Set-Cookie", "a=b; Path=/; HttpOnly")],
        "have an entity tag": [("ETag", f'"{digest}"')],
        "have an empty one": [("X-Critests", "")],
    }.items():
        yield Variant("headers", change, response([*usual, *extra], body), ACCEPTED)
    for change, extra in {
        "have an invalid warning": [("Warning", "x" * 4096)],
        "have many warnings": [("Warning", '299 - "x"')] * 1000,
        "have a long one": [("X-Critests", "x" * (1 << 16))],
        "have a very long one": [("X-Critests", "x" * (4 << 20))],
        "have many": [(f"X-Critests-{number}", "x") for number in range(10_000)],
        "have a NUL": [("X-Critests", "a\0b")],
        "have no name": [("", "x")],
        "have a space in a name": [("X Critests", "x")],
        "have a continued line": [("X-Critests", "a\r\n b")],
        "have bytes above 127": [("X-Critests", "\xff\xfe")],
        "have a range": [("Content-Range", f"bytes 0-1/{len(body)}")],
        "have an invalid range": [("Content-Range", "x")],
        "have an upgrade": [("Upgrade", "h2c"), ("Connection", "Upgrade")],
        "have a link": [("Link", '</v2/?n=1>; rel="next"')],
        "have another host for HTTPS": [("Strict-Transport-Security", "max-age=99999999")],
        "have an alternative service": [("Alt-Svc", 'h3=":1"')],
        "have a filter": [("OCI-Filters-Applied", "x")],
        "have a subject": [("OCI-Subject", f"sha256:{'5' * 64}")],
        "have an encoding that the body has not": [("Content-Encoding", "gzip")],
        "have an unknown encoding": [("Content-Encoding", "critests")],
    }.items():
        yield Variant("headers", change, response([*usual, *extra], body))
    packed = gzip.compress(body)
    encoded = [*without("Content-Length"), ("Content-Encoding", "gzip"), ("Content-Length", str(len(packed)))]
    yield Variant("headers", "have the encoding of the body", response(encoded, packed))
    no_colon = response(usual, body).replace(b"\r\n", b"\r\nX-Critests\r\n", 1)
    yield Variant("headers", "have no colon", no_colon)
    yield Variant("headers", "end with line feeds", response(usual, body, end="\n"))


def _framing(usual: Headers, body: bytes) -> Iterator[Variant]:
    rest = [(name, value) for name, value in usual if name != "Content-Length"]
    length = len(body)
    # RFC 9112, section 6.3: then the body ends with the connection
    closed = [*rest, ("Connection", "close")]
    yield Variant("Content-Length", "is absent", response(closed, body), ACCEPTED)
    for value in (
        *("", "x", "-1", "0", "1", "1.5", "0x10", f"+{length}", f" {length}", str(length - 1)),
        *(str(length + 1), str(1 << 40), "9223372036854775807", "99999999999999999999"),
    ):
        yield Variant("Content-Length", f"is {value!r}", response([*rest, ("Content-Length", value)], body))
    yield Variant(
        "Content-Length",
        "is too small by half",
        response([*rest, ("Content-Length", str(length // 2))], body),
    )
    other = ("Content-Length", str(length + 5))
    yield Variant("Content-Length", "is there twice", response([*usual, other], body))
    chunked = [*rest, ("Transfer-Encoding", "chunked")]
    size = f"{length:x}".encode()
    # RFC 9112, section 7.1: extensions are ignored, trailers may be discarded
    for change, text in {
        "has one chunk": size + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "has a chunk for each byte": b"".join(b"1\r\n%c\r\n" % byte for byte in body[:2000])
        + (b"%x\r\n%b\r\n" % (length - 2000, body[2000:]) if length > 2000 else b"")
        + b"0\r\n\r\n",
        "has an extension": size + b';a=b;c="d"\r\n' + body + b"\r\n0\r\n\r\n",
        "has a trailer": size + b"\r\n" + body + b"\r\n0\r\nX-Critests: x\r\n\r\n",
        "has a size in upper case": size.upper() + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "has a size with zeros": b"000" + size + b"\r\n" + body + b"\r\n000\r\n\r\n",
    }.items():
        yield Variant("chunks", change, response(chunked, text), ACCEPTED)
    for change, text in {
        "have no end": size + b"\r\n" + body + b"\r\n",
        "have no line break after the content": size + b"\r\n" + body + b"0\r\n\r\n",
        "have a negative size": b"-1\r\n" + body,
        "have a huge size": b"ffffffffffffffff\r\n" + body,
        "have a larger size than 64 bits": b"f" * 40 + b"\r\n" + body,
        "have no size": b"\r\n" + body,
        "have a size in words": b"critests\r\n" + body,
        "have a long extension": size + b";" + b"x" * (1 << 20) + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "have many trailers": size + b"\r\n" + body + b"\r\n0\r\n" + b"X-A: x\r\n" * 10_000 + b"\r\n",
        "are missing": body,
    }.items():
        yield Variant("chunks", change, response(chunked, text))
    both = [*usual, ("Transfer-Encoding", "chunked")]
    one = size + b"\r\n" + body + b"\r\n0\r\n\r\n"
    yield Variant("Transfer-Encoding", "is there with a length", response(both, one))
    for value in ("gzip", "gzip, chunked", "identity", "critests", "chunked, chunked"):
        yield Variant(
            "Transfer-Encoding", f"is {value!r}", response([*rest, ("Transfer-Encoding", value)], one)
        )
    for change, text in {
        "is nothing": b"",
        "is only a line break": b"\r\n",
        "is no HTTP": b"critests\r\n\r\n",
        "is TLS": b"\x16\x03\x01\x00\x05hello",
        "is HTTP/2": b"\0\0\0\4\0\0\0\0\0",
        "has no end of its headers": response(usual, b"")[:-2],
        "is without a reason": response(usual, body).replace(b" OK", b"", 1),
        "has two more responses": response(usual, body) * 3,
        "is a status line without an end": b"HTTP/1.1 200 " + b"x" * (4 << 20),
    }.items():
        yield Variant("response", change, text)
