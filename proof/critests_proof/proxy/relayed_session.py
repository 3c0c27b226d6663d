"""One streaming session in the relay: applies a fault to the data of both sides."""

import re
import threading
import time
from collections.abc import Callable, Iterator

from critests_proof.language.faults import StreamFault, parse_time
from critests_proof.proxy.frames import CLOSE, RelayedFrame, RelayedFrames

STDIN, STDOUT, STDERR, STATUS, RESIZE = range(5)
SUCCESS = b'{"metadata":{},"status":"Success"}'
_PROTOCOL = re.compile(rb"(?i)((?:sec-websocket-protocol|x-stream-protocol-version):[ \t]*)([^\r\n]*)")


class Reset(Exception):  # the outcome of a fault, not an error of the relay
    """The fault breaks the connection to the client."""


class RelayedSession:
    """One session: forwards both directions, and counts the changes.

    Args:
        fault: the fault.
        rpc: `Exec`, `Attach` or `PortForward`; the channels of port-forward are the data (0) and its error
            text (1).
        hit: called for every change.

    Attributes:
        latest: when either side last sent something, on the monotonic clock.
    """

    def __init__(self, fault: StreamFault, rpc: str, hit: Callable[[], None]) -> None:
        self._action = fault.action
        self._argument = fault.argument
        self._forwards = rpc == "PortForward"
        self._output = (0,) if self._forwards else (STDOUT, STDERR)
        self._hit = hit
        self._up = RelayedFrames()
        self._down = RelayedFrames()
        self._websocket = False
        self._held: list[RelayedFrame] = []
        self._seen = 0
        self._opened: set[int] = set()
        self._wait = threading.Event()
        self.latest = time.monotonic()

    def handshake(self, head: bytes) -> bytes:
        """Return the runtime's response to the upgrade, for the client."""
        self._websocket = head.split(b" ", 2)[1:2] == [b"101"] and b"upgrade: websocket" in head.lower()
        if self._action == "wrong-protocol" and _PROTOCOL.search(head):
            self._hit()
            return _PROTOCOL.sub(rb"\g<1>" + self._argument.encode(), head)
        return head

    def up(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data for the runtime in place of the client's."""
        self.latest = time.monotonic()
        if not self._websocket:
            yield chunk
            return
        for frame in self._up.feed(chunk):
            lost = {"drop-stdin": STDIN, "drop-resize": RESIZE}.get(self._action)
            if frame.is_data and frame.channel == lost:
                self._hit()
            else:
                yield bytes(frame)

    def down(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data for the client in place of the runtime's.

        Raises:
            Reset: the fault breaks the connection to the client.
        """
        self.latest = time.monotonic()
        if not self._websocket:
            yield from self._plain(chunk)
            return
        for frame in self._down.feed(chunk):
            if not frame.is_data:
                yield from self._control(frame)
            elif frame.channel in self._output and not self._opening(frame):
                yield from map(bytes, self._data(frame))
            elif frame.channel == STATUS and not self._forwards:
                yield from map(bytes, self._status(frame))
            else:
                yield bytes(frame)

    def _opening(self, frame: RelayedFrame) -> bool:
        """Return whether this frame only opens its channel: empty, or the port of a port-forward."""
        first = frame.channel not in self._opened
        self._opened.add(frame.channel)
        return not frame.data or (self._forwards and first)

    def _plain(self, chunk: bytes) -> Iterator[bytes]:
        if self._action == "hold" and self._argument:
            self._hit()
            self._wait.wait(parse_time(self._argument))
        if self._action == "reset":
            self._before_reset(chunk)
        yield chunk

    def _before_reset(self, data: bytes) -> bytes:
        """Count output.

        Returns:
            The data, below the limit.

        Raises:
            Reset: the limit is reached.
        """
        self._seen += len(data)
        if self._seen >= int(self._argument):
            self._hit()
            raise Reset
        return data

    def _data(self, frame: RelayedFrame) -> Iterator[RelayedFrame]:
        match self._action:
            case "reset":
                self._before_reset(frame.data)
                yield frame
            case "hold" | "status-first" if not (self._action == "hold" and self._argument):
                self._hit()
                self._held.append(frame)
            case "hold":
                self._hit()
                self._wait.wait(parse_time(self._argument))
                yield frame
            case "truncate":
                yield from self._truncated(frame)
            case "corrupt":
                yield self._corrupted(frame)
            case _:
                changed = list(self._mapped(frame))
                if changed != [frame]:
                    self._hit()
                yield from changed

    def _mapped(self, frame: RelayedFrame) -> Iterator[RelayedFrame]:
        main = self._output[0]
        match self._action:
            case "swap-channels" if not self._forwards:
                yield frame.on(STDERR if frame.channel == STDOUT else STDOUT, frame.data)
            case "merge-stderr":
                yield frame.on(main, frame.data)
            case "drop-stdout" if frame.channel == main:
                return
            case "drop-stderr" if frame.channel == STDERR:
                return
            case "upper" if frame.channel == main:
                yield frame.on(main, frame.data.upper())
            case "duplicate":
                yield from (frame, frame)
            case _:
                yield frame

    def _truncated(self, frame: RelayedFrame) -> Iterator[RelayedFrame]:
        left = int(self._argument) - self._seen
        if frame.channel != self._output[0] or len(frame.data) <= left:
            self._seen += len(frame.data) if frame.channel == self._output[0] else 0
            yield frame
            return
        self._hit()
        self._seen = int(self._argument)
        if left > 0:
            yield frame.on(frame.channel, frame.data[:left])

    def _corrupted(self, frame: RelayedFrame) -> RelayedFrame:
        """Return the frame with the byte after the first N changed, if it holds that byte."""
        if frame.channel != self._output[0]:
            return frame
        place, self._seen = int(self._argument) - self._seen, self._seen + len(frame.data)
        if not 0 <= place < len(frame.data):
            return frame
        self._hit()
        changed = bytearray(frame.data)
        changed[place] ^= 0x01
        return frame.on(frame.channel, bytes(changed))

    def _status(self, frame: RelayedFrame) -> Iterator[RelayedFrame]:
        held, self._held = self._held, []
        if self._action == "status-first":
            yield from (frame, *held)
            return
        yield from held
        wanted = {
            "status": self._argument.encode(),
            "exit-code": self._argument.encode(),
            "status-success": SUCCESS,
        }.get(self._action)
        if self._action == "drop-status":
            self._hit()
        elif wanted is not None and wanted != frame.data:
            self._hit()
            yield frame.on(STATUS, wanted)
        else:
            yield frame

    def _control(self, frame: RelayedFrame) -> Iterator[bytes]:
        if frame.opcode == CLOSE:
            yield from map(bytes, self._held)
            self._held = []
            if self._action in {"no-close-frame", "no-close"}:
                self._hit()
                return
        yield bytes(frame)
