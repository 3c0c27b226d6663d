"""STR: a streaming server with TLS."""

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from critests.api import api_pb2 as cri
from critests.node.starting.certificates import make_certificate
from critests.testing import (
    ConditionNotMet,
    OwnRuntime,
    RecordVariant,
    Runtime,
    RuntimeSetup,
    StreamingTls,
    Streams,
    disruptive,
    requirement,
    start_configured,
)
from critests.validation.openssl import needing_openssl

RELOAD_SECONDS = 5.0
"""For a daemon that watches the file of its certificate."""


@pytest.fixture
def tls_files(host_folder: Path) -> StreamingTls:
    """A self-signed certificate and its key."""
    files = StreamingTls(host_folder / "certificate.pem", host_folder / "key.pem")
    with needing_openssl():
        make_certificate(files)
    return files


@pytest.fixture
def tls_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, tls_files: StreamingTls
) -> Iterator[OwnRuntime]:
    """A runtime whose streaming server uses TLS."""
    with start_configured(request, runtime, RuntimeSetup(settings=(tls_files,))) as own:
        yield own


def certificate_of(url: str) -> str:
    """Return the certificate that the server of an https URL shows."""
    parts = urlsplit(url)
    assert parts.scheme == "https"
    return ssl.get_server_certificate((parts.hostname or "", parts.port or 0))


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

    assert certificate_of(url) == tls_files.certificate.read_text(encoding="ascii")
    with contextlib.closing(Streams(tls_runtime)) as streams:
        session = streams.open(lambda _: cri.ExecResponse(url=url), request)
        assert session.finish().stdout == b"hello\n"


@requirement("STR-25")
@disruptive
def test_when_a_replaced_certificate_is_served(
    tls_runtime: OwnRuntime, tls_files: StreamingTls, record_variant: RecordVariant
) -> None:
    """The streaming server MAY serve a certificate that was replaced without a restart of the daemon; it
    serves the previous one until then.

    Source: not stated by the CRI; certificates are renewed before they expire.
    """
    container = tls_runtime.container()
    request = cri.ExecRequest(container_id=container.id, cmd=["echo", "hello"], stdout=True, stderr=True)
    url = tls_runtime.stub.Exec(request).url
    previous = certificate_of(url)

    make_certificate(tls_files)

    new = tls_files.certificate.read_text(encoding="ascii")
    try:
        tls_runtime.eventually(
            "the new certificate", lambda: certificate_of(url), RELOAD_SECONDS, lambda shown: shown == new
        )
        record_variant("without a restart")
    except ConditionNotMet:
        record_variant("after a restart")
        assert certificate_of(url) == previous
