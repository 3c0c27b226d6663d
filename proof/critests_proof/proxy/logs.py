"""A fault in container logs: the runtime writes to another file, and a follower copies the changed log.

CreateContainer gets the path of a hidden file next to the client's; responses have the client's path again.
What the runtime has written before its response is in the client's file before the client gets the response,
so that a fault in one property of the log does not break the others.
"""

import contextlib
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from google.protobuf.message import Message

from critests_proof.language.faults import LogFault
from critests_proof.language.log_changes import LOG_CHANGES, LogLine, LogState

POLL_SECONDS = 0.02
_HONEST = "audit-honest"
_numbers = itertools.count(1)


class _Follower:
    """Writes one container's log with the fault applied."""

    def __init__(self, fault: LogFault, honest: Path, expected: Path, hit: Callable[[], None]) -> None:
        self.honest = honest
        self.expected = expected
        self._fault = fault
        self._change = LOG_CHANGES[fault.action].change
        self._hit = hit
        self._state = LogState()
        self._source: IO[bytes] | None = None
        self._target: IO[bytes] | None = None
        self._rest = b""
        self._due: deque[tuple[float, bytes]] = deque()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="audit-log")
        self._thread.start()

    def _follow(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.drain()

    def drain(self) -> None:
        """Copy what the runtime has written so far."""
        with self._lock:
            if self._source is None and not self._open():
                return
            assert self._source is not None
            # checked before the end of the file: a runtime that replaces the file has finished the old one
            follows = self._follow_up(self._source)
            self._read(self._source)
            if follows:
                self._source.close()
                self._source = follows
                self._read(follows)
            wait = self._fault.argument if self._fault.action == "late" else 0
            while self._due and self._due[0][0] + wait <= time.monotonic():
                self._write(self._due.popleft()[1])
            if self._target:
                self._target.flush()

    def _read(self, source: IO[bytes]) -> None:
        while chunk := source.read(1 << 16):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for raw in lines:
                self._due.append((time.monotonic(), raw))
                if self._fault.action == "late":
                    # a test may notice the missing line and end before the delay
                    self._hit()

    def _follow_up(self, source: IO[bytes]) -> IO[bytes] | None:
        """Return the new file if the runtime has replaced its log, as CRI-O does when it reopens one; else
        None.
        """
        try:
            if os.path.samestat(self.honest.stat(), os.fstat(source.fileno())):
                return None
            return self.honest.open("rb")
        except FileNotFoundError:
            return None

    def _open(self) -> bool:
        try:
            self._source = self.honest.open("rb")
        except FileNotFoundError:
            return False
        if self._fault.action == "no-file":
            self._hit()
            return True
        self._target = self._open_target(empty=self._fault.action == "truncate-on-start")
        self.expected.chmod(
            0o666 if self._fault.action == "world-writable" else self.honest.stat().st_mode & 0o777
        )
        if self._fault.action == "world-writable":
            self._hit()
        return True

    def _open_target(self, *, empty: bool) -> IO[bytes]:
        if empty and self.expected.exists() and self.expected.stat().st_size:
            self._hit()
        self.expected.parent.mkdir(parents=True, exist_ok=True)
        return self.expected.open("wb" if empty else "ab")

    def _write(self, raw: bytes) -> None:
        line = LogLine.parse(raw)
        honest = raw + b"\n"
        self._state.lines += 1
        broken = (
            b"".join(map(bytes, self._change(line, self._fault.argument, self._state))) if line else honest
        )
        if broken != honest:
            self._hit()
        if self._target:
            self._target.write(broken)

    def reopen(self) -> None:
        """Reopen the log as ReopenContainerLog requires: continue in the file with that name, unless it is a
        link.
        """
        self.drain()
        with self._lock:
            link = self.expected.is_symlink()
            ignored = self._fault.action == "ignore-reopen"
            follows = self._fault.action == "follow-links"
            if ignored or (follows and link):
                self._hit()
            if self._target and not ignored and (follows or not link):
                self._target.close()
                self._target = self._open_target(empty=self._fault.action == "truncate-on-reopen")

    def removed(self) -> None:
        """Remove the hidden file, and the log if the fault says so, after the removal of the container."""
        self.close()
        if self._fault.action == "remove-with-container" and self.expected.exists():
            self._hit()
            self.expected.unlink()

    def close(self) -> None:
        """Copy the rest, and stop following."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join(5)
        self.drain()
        with self._lock:
            for file in (self._source, self._target):
                if file:
                    file.close()
            self._source = self._target = None
        self.honest.unlink(missing_ok=True)


class LogEffect:
    """A fault in the logs of all containers that are created while it is set."""

    rpcs = frozenset(
        {
            "CreateContainer",
            "StartContainer",
            "StopContainer",
            "RemoveContainer",
            "RemovePodSandbox",
            "StopPodSandbox",
            "ReopenContainerLog",
            "ContainerStatus",
            "PodSandboxStatus",
            "ListContainers",
            "ExecSync",
            "GetContainerEvents",
        }
    )

    def __init__(self, fault: LogFault, hit: Callable[[], None]) -> None:
        self._fault = fault
        self._hit = hit
        self._lock = threading.Lock()
        self._asked: dict[str, _Follower] = {}
        self._followers: dict[str, tuple[str, _Follower]] = {}

    def on_request(self, rpc: str, request: Any) -> bool:  # noqa: ANN401  # the request of whichever RPC
        """Redirect the log to the hidden file."""
        if (
            rpc != "CreateContainer"
            or not request.config.log_path
            or not request.sandbox_config.log_directory
        ):
            return False
        wanted = PurePosixPath(request.config.log_path)
        request.config.log_path = str(wanted.with_name(f".{_HONEST}-{next(_numbers)}-{wanted.name}"))
        directory = Path(request.sandbox_config.log_directory)
        follower = _Follower(self._fault, directory / request.config.log_path, directory / wanted, self._hit)
        with self._lock:
            failed = self._asked.pop(str(follower.expected), None)
            self._asked[str(follower.expected)] = follower
        if failed:
            failed.close()
        return True

    def on_response(self, rpc: str, request: Any, response: Any) -> bool:  # noqa: ANN401  # of whichever RPC
        """Update the client's files, and put their paths into the response."""
        if rpc == "CreateContainer":
            expected = str(Path(request.sandbox_config.log_directory) / request.config.log_path)
            with self._lock:
                follower = self._asked.pop(expected, None)
                if follower:
                    self._followers[response.container_id] = (request.pod_sandbox_id, follower)
        with self._lock:
            followers = dict(self._followers)
        for _, follower in followers.values():
            follower.drain()
        if rpc == "ReopenContainerLog" and request.container_id in followers:
            followers[request.container_id][1].reopen()
        elif rpc == "RemoveContainer":
            self._forget(request.container_id)
        elif rpc == "RemovePodSandbox":
            for container_id, (sandbox_id, _) in followers.items():
                if sandbox_id == request.pod_sandbox_id:
                    self._forget(container_id)
        return _rename(
            response, {str(follower.honest): str(follower.expected) for _, follower in followers.values()}
        )

    def _forget(self, container_id: str) -> None:
        with self._lock:
            _, follower = self._followers.pop(container_id, ("", None))
        if follower:
            follower.removed()

    def close(self) -> None:
        """Stop following all logs; the written files remain."""
        with self._lock:
            followers = [*self._asked.values(), *(follower for _, follower in self._followers.values())]
            self._asked.clear()
            self._followers.clear()
        for follower in followers:
            with contextlib.suppress(OSError):
                follower.close()


def _statuses(response: Message) -> Iterator[Any]:
    for name in ("status", "containers_statuses"):
        held: Any = getattr(response, name, ())
        yield from [held] if isinstance(held, Message) else held


def _rename(response: Message, names: dict[str, str]) -> bool:
    """Replace the runtime's log paths by the client's in every container status of a response."""
    changed = False
    for status in _statuses(response):
        wanted = names.get(getattr(status, "log_path", ""))
        if wanted:
            status.log_path = wanted
            changed = True
    return changed
