"""A scripted streaming server for one connection, which shares no code with the client."""

import base64
import contextlib
import hashlib
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import critests.client.streaming

DICTIONARY = base64.b64decode(
    (Path(critests.client.streaming.__file__).parent / "spdy3-dictionary.b64").read_bytes()
)
OPENING_SECONDS = 10


@dataclass
class Peer:
    """The server's end of one connection."""

    connection: socket.socket
    head: str = ""
    buffer: bytes = b""
    inflate: "zlib._Decompress" = field(default_factory=lambda: zlib.decompressobj(zdict=DICTIONARY))
    deflate: "zlib._Compress" = field(default_factory=lambda: zlib.compressobj(zdict=DICTIONARY))

    def exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            data = self.connection.recv(65536)
            if not data:
                raise EOFError(f"the client closed; {self.buffer!r} was left")
            self.buffer += data
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def read_head(self) -> str:
        while "\r\n\r\n" not in self.head:
            self.head += self.exactly(1).decode()
        return self.head

    def header(self, name: str) -> list[str]:
        return [
            line.split(": ", 1)[1]
            for line in self.head.split("\r\n")[1:]
            if line.lower().startswith(name.lower() + ":")
        ]

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    # -- WebSocket

    def accept_websocket(self, subprotocol: str = "v4.channel.k8s.io", extra: bytes = b"") -> None:
        self.read_head()
        key = self.header("Sec-WebSocket-Key")[0]
        accept = base64.b64encode(
            hashlib.sha1(
                (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode(), usedforsecurity=False
            ).digest()
        ).decode()
        chosen = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
        head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.send(f"{head}Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n".encode() + extra)

    def frame(self, payload: bytes, opcode: int = 2, *, fin: bool = True) -> None:
        self.send(websocket_frame(payload, opcode, fin=fin))

    def message(self) -> tuple[int, bytes]:
        first, second = self.exactly(2)
        assert second & 0x80, "a client must mask"
        size = second & 0x7F
        if size == 126:
            size = struct.unpack("!H", self.exactly(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self.exactly(8))[0]
        mask = self.exactly(4)
        return first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.exactly(size)))

    # -- SPDY

    def accept_spdy(self, subprotocol: str = "v4.channel.k8s.io") -> None:
        self.read_head()
        head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        self.send(f"{head}X-Stream-Protocol-Version: {subprotocol}\r\n\r\n".encode())

    def spdy(self) -> tuple[int, int, bytes]:
        """Return type (0 for data, whose body then begins with the stream), flags and body."""
        word, rest = struct.unpack("!II", self.exactly(8))
        body = self.exactly(rest & 0xFFFFFF)
        if word >> 31:
            assert word >> 16 == 0x8003
            return word & 0xFFFF, rest >> 24, body
        return 0, rest >> 24, struct.pack("!I", word) + body

    def take_stream(self) -> tuple[int, dict[str, str], int]:
        """Read a SYN_STREAM; return stream, headers and flags."""
        kind, flags, body = self.spdy()
        assert kind == 1
        assert body[4:8] == b"\0\0\0\0"
        plain, at, texts = self.inflate.decompress(body[10:]), 4, []
        for _ in range(2 * struct.unpack("!I", plain[:4])[0]):
            size = struct.unpack("!I", plain[at : at + 4])[0]
            texts.append(plain[at + 4 : at + 4 + size].decode())
            at += 4 + size
        assert at == len(plain)
        return struct.unpack("!I", body[:4])[0], dict(zip(texts[::2], texts[1::2], strict=True)), flags

    def reply(self, stream: int) -> None:
        block = self.deflate.compress(b"\0\0\0\0") + self.deflate.flush(zlib.Z_SYNC_FLUSH)
        self.control(2, struct.pack("!I", stream) + block)

    def control(self, kind: int, body: bytes, flags: int = 0) -> None:
        self.send(struct.pack("!HHI", 0x8003, kind, flags << 24 | len(body)) + body)

    def data(self, stream: int, payload: bytes, *, fin: bool = False) -> None:
        self.send(struct.pack("!II", stream, int(fin) << 24 | len(payload)) + payload)


def websocket_frame(payload: bytes, opcode: int = 2, *, fin: bool = True) -> bytes:
    first = bytes([(0x80 if fin else 0) | opcode])
    if len(payload) < 126:
        return first + bytes([len(payload)]) + payload
    if len(payload) < 65536:
        return first + b"\x7e" + struct.pack("!H", len(payload)) + payload
    return first + b"\x7f" + struct.pack("!Q", len(payload)) + payload


@contextlib.contextmanager
def serving(play: Callable[[Peer], object]) -> Iterator[str]:
    """Serve one connection with `play` and yield its URL; an exception of `play` is raised at the end."""
    failures: list[BaseException] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(OPENING_SECONDS)

        def serve() -> None:
            try:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(OPENING_SECONDS)
                    play(Peer(connection))
            except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
                failures.append(error)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/exec/token?x=1"
        thread.join(OPENING_SECONDS)
        assert not thread.is_alive(), "the fake server has not finished"
    if failures:
        raise failures[0]
