import socket

from critests.client.streaming.probe import websocket_works
from tests.client.streaming.fake_server import Peer, serving


def test_an_upgrade_with_the_subprotocol_is_found() -> None:
    with serving(lambda peer: peer.accept_websocket()) as url:
        finding = websocket_works(url)
    assert (finding.works, finding.evidence) == (
        True,
        "the server switched to WebSocket with v4.channel.k8s.io",
    )


def test_another_subprotocol_is_not_enough() -> None:
    with serving(lambda peer: peer.accept_websocket("")) as url:
        finding = websocket_works(url)
    assert (finding.works, finding.evidence) == (
        False,
        "v4.channel.k8s.io was offered, the server chose none",
    )


def test_a_refusal_is_quoted() -> None:
    def play(peer: Peer) -> None:
        peer.read_head()
        peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno\xff!")

    with serving(play) as url:
        finding = websocket_works(url, subprotocol="v5.channel.k8s.io")
    assert finding.works is False
    assert finding.evidence == "v5.channel.k8s.io was refused with HTTP 403: no\N{REPLACEMENT CHARACTER}!"


def test_who_cannot_be_asked_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert websocket_works(f"http://127.0.0.1:{port}/exec/x").works is None
