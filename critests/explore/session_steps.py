"""Steps that are more than a call: Exec and Attach, with the session at the URL that they return."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from critests.api import api_pb2 as cri
from critests.client.streaming.command_sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streaming_errors import StreamError, UpgradeRefused
from critests.client.streaming.streams import Protocol
from critests.explore.processes import WRITES, command_of, shell
from critests.explore.raw_calls import Calls
from critests.model import Step
from critests.model.container_rules import line_of, output_of
from critests.model.observations import NOT_SIGNALLED, CallResult
from critests.model.steps import INPUT, TERMINAL

SESSION_SECONDS: Final = 5.0
CLOSE_SECONDS = 0.2
FAILED = "SESSION_FAILED"
"""No gRPC code: the call returned a URL, and the session failed."""


def exec_session(calls: Calls, step: Step) -> CallResult:
    """Exec of a command whose output and exit code are specific to the container: with input, which sends it
    what to print, or with a terminal, on which it prints before it exits.
    """
    printed = output_of(calls.world, step)
    request = cri.ExecRequest(
        container_id=calls.id_of(step.on),
        cmd=shell(command_of(step, calls.world)),
        stdin=bool(step.by),
        stdout=True,
        stderr=step.by != TERMINAL,  # a terminal has one output
        tty=step.by == TERMINAL,
    )
    try:
        with _session(calls, step, request) as session:
            if step.by == TERMINAL:
                session.stdout_until(printed.strip().encode())
            if step.by:
                session.write(printed.encode())
            finished = session.finish()
    except StreamError as error:
        return CallResult(FAILED, details=str(error))
    status = finished.status
    if status is None or status.exit_code is None:
        return CallResult(FAILED, details=finished.failure)
    # a terminal's output was awaited above; the model does not judge its line ends and echo
    shown = printed if step.by == TERMINAL else finished.stdout.decode(errors="backslashreplace")
    return CallResult(exit_code=status.exit_code, output=shown)


def attach_session(calls: Calls, step: Step) -> CallResult:
    """Attach, make the process write a line, wait for it, and close the session. A line that was sent as
    input is searched in the log: the process may write it before the session's output is connected.
    """
    by_input = step.by == INPUT
    request = cri.AttachRequest(container_id=calls.id_of(step.on), stdin=by_input, stdout=True, stderr=True)
    line = line_of(calls.world, step.on)
    try:
        with _session(calls, step, request) as session:
            if by_input:
                before = calls.lines_in_log(step, line)
                session.write(f"{line}\n".encode())
                logged = calls.until(SESSION_SECONDS, lambda: calls.lines_in_log(step, line) > before)
                return CallResult(output=line) if logged else CallResult(FAILED, details="not in the log")
            if not calls.signal(step, WRITES):
                return CallResult(NOT_SIGNALLED)
            session.stdout_until(line.encode())
    except StreamError as error:
        return CallResult(FAILED, details=str(error))
    return CallResult(output=line)


@contextlib.contextmanager
def _session(calls: Calls, step: Step, request: Any) -> Iterator[RemoteCommand]:  # noqa: ANN401 - of either RPC
    seconds = SESSION_SECONDS * calls.connection.deadlines.scale

    def opened(protocol: Protocol) -> RemoteCommand:
        return open_remote_command(
            calls.call(step, request).url,
            stdin=request.stdin,
            stdout=request.stdout,
            stderr=request.stderr,
            tty=request.tty,
            protocol=protocol,
            deadline_seconds=seconds,
        )

    # a server must support one of the two; WebSocket always has a channel for input, and some servers end the
    # session when that closes
    first, second = Protocol.WEBSOCKET, Protocol.SPDY
    if step.rpc == "Attach":
        first, second = second, first
    try:
        session = opened(first)
    except UpgradeRefused:
        session = opened(second)
    try:
        yield session
    finally:
        session.close(CLOSE_SECONDS)
