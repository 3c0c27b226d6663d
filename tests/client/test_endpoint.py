from pathlib import Path

import pytest

from critests.client.endpoint import Endpoint, EndpointMalformed, TlsFiles


@pytest.mark.parametrize(
    ("text", "shown", "target", "socket"),
    [
        ("unix:///run/x.sock", "unix:///run/x.sock", "unix:/run/x.sock", Path("/run/x.sock")),
        ("unix:/run/x.sock", "unix:///run/x.sock", "unix:/run/x.sock", Path("/run/x.sock")),
        ("/run/x.sock", "unix:///run/x.sock", "unix:/run/x.sock", Path("/run/x.sock")),
        (" /run/x.sock\n", "unix:///run/x.sock", "unix:/run/x.sock", Path("/run/x.sock")),
        ("tcp://127.0.0.1:3735", "tcp://127.0.0.1:3735", "dns:///127.0.0.1:3735", None),
        ("tcp:[::1]:3735", "tcp://[::1]:3735", "dns:///[::1]:3735", None),
    ],
)
def test_endpoint_is_parsed_in_each_form(text: str, shown: str, target: str, socket: Path | None) -> None:
    endpoint = Endpoint.parse(text)

    assert (endpoint.text, endpoint.target, endpoint.socket) == (shown, target, socket)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("npipe:////./pipe/containerd", "Windows"),
        ("unix:run/x.sock", "absolute"),
        ("tcp://localhost", "port"),
        ("tcp://localhost:99999", "port"),
        ("http://localhost:80", "not an endpoint"),
        ("containerd.sock", "not an endpoint"),
    ],
)
def test_malformed_endpoint_is_an_error(text: str, word: str) -> None:
    with pytest.raises(EndpointMalformed, match=word):
        Endpoint.parse(text)


def test_half_a_key_pair_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.touch()

    with pytest.raises(EndpointMalformed, match="belong together"):
        TlsFiles(certificate=file)
    with pytest.raises(EndpointMalformed, match="no such file"):
        TlsFiles(ca=tmp_path / "absent")
