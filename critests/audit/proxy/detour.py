"""A broken runtime that somebody else makes of the real one: a command that is given the endpoint and prints
another.
"""

import contextlib
import os
import select
import shlex
import subprocess
import time

from critests.audit.language.descriptors import FaultError
from critests.client.endpoint import Endpoint, EndpointError

START_SECONDS = 30.0
"""How long the command may take until it has printed where it listens."""
END_SECONDS = 5.0
"""How long it may take to end when it is asked to."""
LINE_LIMIT = 4096


class Detour:
    """A command that serves a runtime in front of another for as long as it runs.

    Args:
        command: as on a command line, without a shell; the real endpoint is its last argument. Its first line
            of output is the endpoint of the broken runtime.
        upstream: the real endpoint.
    """

    def __init__(self, command: str, upstream: Endpoint) -> None:
        self._command = command
        self._upstream = upstream
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Endpoint:
        """Start it; return where the broken runtime is.

        Raises:
            FaultError: it cannot be started, or did not say where it listens.
        """
        try:
            self._process = subprocess.Popen(
                [*shlex.split(self._command), self._upstream.text],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            msg = f"{self._command}: {error}"
            raise FaultError(msg) from error
        try:
            return Endpoint.parse(self._first_line())
        except EndpointError as error:
            self.close()
            msg = f"{self._command}: its first line is no endpoint: {error}"
            raise FaultError(msg) from error

    def _first_line(self) -> str:
        """Read it byte by byte, so that nothing behind it waits in a buffer of ours."""
        assert self._process is not None
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        line, deadline = bytearray(), time.monotonic() + START_SECONDS
        while len(line) < LINE_LIMIT:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                break
            read = os.read(out, 1)
            if read in {b"", b"\n"}:
                break
            line += read
        return line.decode(errors="replace").strip()

    def close(self) -> None:
        """End it."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
