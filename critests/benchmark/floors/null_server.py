"""A CRI server in a process of its own that does nothing, as fast as it can: what it takes to be asked is
what asking costs.

    python -m critests.benchmark.floors.null_server --socket PATH

It gives every call the same answer: an empty message, or what `NullServer.answer` prepared. It ends when its
standard input ends, so that it never outlives the process that started it, and takes its socket with it.
"""

import argparse
import base64
import gc
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final, Self

import critests
from critests.benchmark.floors.null_answers import canned_answer
from critests.benchmark.floors.null_connection import CannedAnswer, NullConnection
from critests.benchmark.measuring.client_process import EXPERIMENTS

_READY: Final = "ready"
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 5.0
_AWAKE_SECONDS: Final = 0.005


class NullServerFailed(Exception):
    """The server did not start; the text says what it said."""


class NullServer:
    """A running null server. Made by `start_null_server`; `stop`, or the end of a `with`, ends it.

    Attributes:
        socket: where it listens.
    """

    def __init__(self, process: "subprocess.Popen[str]", path: Path) -> None:
        self._process = process
        self.socket = path

    @property
    def endpoint(self) -> str:
        """The CRI endpoint, `unix:///…`."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def answer(self, rpc: str, *, entries: int = 1, payload: int = 0) -> None:
        """Answer every call from now on as an RPC is answered.

        Args:
            rpc: its name; a call of another one cannot read the answer.
            entries: how many things a list has.
            payload: bytes of standard output of an ExecSync.

        Raises:
            KeyError: there is no such RPC.
            NullServerFailed: the server has ended.
        """
        messages = canned_answer(rpc, entries=entries, payload=payload)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(
                json.dumps([base64.b64encode(message).decode() for message in messages]) + "\n"
            )
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise NullServerFailed("the null server has ended") from error
        if self._process.stdout.readline().strip() != _READY:
            raise NullServerFailed("the null server has ended")

    def stop(self) -> None:
        """End it and remove its socket. Calling it again does nothing."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.socket.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_null_server(directory: Path, *, awake: bool = False) -> NullServer:
    """Start a null server and wait until it listens.

    Args:
        directory: where its socket goes; short enough for the path of a unix socket (107 bytes).
        awake: whether it stays awake between calls that follow each other closely, so that nobody has to wait
            until it was woken. It then takes a processor of its own; with only one it sleeps all the same.

    Raises:
        NullServerFailed: it did not start.
    """
    path = directory / f"null-{secrets.token_hex(3)}.sock"
    command = [sys.executable, "-m", "critests.benchmark.floors.null_server", "--socket", str(path)]
    checkout = str(Path(critests.__file__).resolve().parents[1])
    process = subprocess.Popen(
        [*command, *(["--awake"] if awake else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **{name: value for name, value in os.environ.items() if name != EXPERIMENTS},
            "PYTHONPATH": os.pathsep.join(filter(None, (checkout, os.environ.get("PYTHONPATH")))),
        },
        start_new_session=True,  # Ctrl-C is for the process that will stop it
    )
    server = NullServer(process, path)
    late = threading.Timer(_START_SECONDS, process.kill)
    late.start()
    said = process.stdout.readline().strip() if process.stdout else ""
    late.cancel()
    if said != _READY:
        server.stop()
        ended = (
            f"it was not ready within {_START_SECONDS:g} s"
            if process.returncode == -signal.SIGKILL
            else f"it ended with {process.returncode}"
        )
        msg = f"the null server did not start: {said or ended}"
        raise NullServerFailed(msg)
    return server


def serve(listener: socket.socket, orders: int, *, awake: bool = False) -> None:
    """Answer every connection, in this thread, until a file descriptor has nothing more to read.

    Args:
        listener: bound and listening.
        orders: the file descriptor; each line is the next answer, a JSON list of messages in base64.
        awake: look again and again for a while after each call, instead of sleeping until the next.
    """
    listener.setblocking(False)
    answer, line = CannedAnswer(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(orders, selectors.EVENT_READ)
        connections: dict[int, NullConnection] = {}
        last = -_AWAKE_SECONDS
        while True:
            ready = selector.select(0 if awake and time.monotonic() - last < _AWAKE_SECONDS else None)
            if ready:
                last = time.monotonic()
            for key, events in ready:
                if key.fileobj is listener:
                    accepted, _ = listener.accept()
                    accepted.setblocking(False)
                    connections[accepted.fileno()] = NullConnection(accepted, answer)
                    selector.register(accepted, selectors.EVENT_READ)
                elif key.fd == orders:
                    content = os.read(orders, 1 << 20)
                    if not content:
                        return
                    line += content
                    if content.endswith(b"\n"):
                        answer.set([base64.b64decode(message) for message in json.loads(line)])
                        line.clear()
                        print(_READY, flush=True)
                else:
                    _serve_connection(selector, connections, key.fd, events)
            for number, connection in connections.items():
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.unsent else 0)
                if selector.get_key(number).events != wanted:
                    selector.modify(number, wanted)


def _serve_connection(
    selector: selectors.BaseSelector, connections: dict[int, NullConnection], number: int, events: int
) -> None:
    connection = connections[number]
    alive = (not events & selectors.EVENT_WRITE or connection.flush()) and (
        not events & selectors.EVENT_READ or connection.readable()
    )
    if not alive:
        del connections[number]
        selector.unregister(number)
        connection.socket.close()


def _end(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of a signal handler
    sys.exit(0)


def main() -> None:
    """Serve until SIGTERM or SIGINT, or until the standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m critests.benchmark.floors.null_server", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--socket", type=Path, required=True, help="where to listen")
    parser.add_argument(
        "--awake", action="store_true", help="do not sleep between calls that follow each other closely"
    )
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    gc.freeze()
    gc.set_threshold(100_000)  # a collection takes as long as many calls
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(str(chosen.socket))
        except OSError as error:
            sys.exit(f"cannot listen at {chosen.socket}: {error.strerror or error}")
        try:
            listener.listen(128)
            print(_READY, flush=True)
            serve(listener, sys.stdin.fileno(), awake=chosen.awake and len(os.sched_getaffinity(0)) > 1)
        finally:
            chosen.socket.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
