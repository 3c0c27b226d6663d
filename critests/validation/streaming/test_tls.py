"""STR: a streaming server with TLS."""

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    OwnRuntime,
    Runtime,
    RuntimeSetup,
    StreamingTls,
    Streams,
    disruptive,
    requirement,
    start_configured,
)
from critests.validation.openssl import openssl


@pytest.fixture
def tls_files(host_folder: Path) -> StreamingTls:
    """A self-signed certificate and its key."""
    files = StreamingTls(host_folder / "certificate.pem", host_folder / "key.pem")
    how = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=critests"
    # the address of the streaming server
    where = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(files.key)]
    where += ["-out", str(files.certificate)]
    openssl(*how.split(), *where)
    return files


@pytest.fixture
def tls_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, tls_files: StreamingTls
) -> Iterator[OwnRuntime]:
    """A runtime whose streaming server uses TLS."""
    with start_configured(request, runtime, RuntimeSetup(settings=(tls_files,))) as own:
        yield own


@requirement("STR-18")
@disruptive
def test_a_session_over_tls(tls_runtime: OwnRuntime, tls_files: StreamingTls) -> None:
    """The streaming server SHOULD use https URLs and the configured certificate if one is configured, and
    sessions SHOULD work.

    Source: ExecResponse.url; not stated by the CRI.
    """
    container = tls_runtime.container()
    request = cri.ExecRequest(container_id=container.id, cmd=["echo", "hello"], stdout=True, stderr=True)

    url = tls_runtime.stub.Exec(request).url

    parts = urlsplit(url)
    assert parts.scheme == "https"
    shown = ssl.get_server_certificate((parts.hostname or "", parts.port or 0))
    assert shown == tls_files.certificate.read_text(encoding="ascii")
    with contextlib.closing(Streams(tls_runtime)) as streams:
        session = streams.open(lambda _: cri.ExecResponse(url=url), request)
        assert session.finish().stdout == b"hello\n"
