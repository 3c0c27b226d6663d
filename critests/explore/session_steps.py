"""Steps that are more than a call: Exec and Attach, with the session at the URL that they give."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from critests.api import api_pb2 as cri
from critests.client.streaming.command_sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streaming_errors import StreamError, UpgradeRefused
from critests.client.streaming.streams import Protocol
from critests.explore.processes import SPEAKS, command_of, shell
from critests.explore.raw_calls import Calls
from critests.model import Step
from critests.model.container_rules import printed_by, said_by
from critests.model.observations import NOT_TOLD, CallResult
from critests.model.steps import INPUT, TERMINAL

SESSION_SECONDS: Final = 5.0
GOODBYE_SECONDS = 0.2
FAILED = "SESSION_FAILED"
"""No code of gRPC: the call gave a URL, and the session failed."""


def exec_session(calls: Calls, step: Step) -> CallResult:
    """Exec of a command whose output and exit code are the container's own: with input, where it is told what
    to print, or with a terminal, on which it has printed before it ends.
    """
    printed = printed_by(calls.world, step)
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
    # what came on a terminal was waited for; how its lines end, and what it echoes, is no matter of states
    shown = printed if step.by == TERMINAL else finished.stdout.decode(errors="backslashreplace")
    return CallResult(exit_code=status.exit_code, output=shown)


def attach_session(calls: Calls, step: Step) -> CallResult:
    """Attach, tell the process to write a line, wait until that comes, and leave. What it is told by input is
    looked for in its log: it may write before the output of the session is connected.
    """
    by_input = step.by == INPUT
    request = cri.AttachRequest(container_id=calls.id_of(step.on), stdin=by_input, stdout=True, stderr=True)
    wanted = said_by(calls.world, step.on)
    try:
        with _session(calls, step, request) as session:
            if by_input:
                before = calls.lines_in_log(step, wanted)
                session.write(f"{wanted}\n".encode())
                came = calls.until(SESSION_SECONDS, lambda: calls.lines_in_log(step, wanted) > before)
                return CallResult(output=wanted) if came else CallResult(FAILED, details="not in the log")
            if not calls.signal(step, SPEAKS):
                return CallResult(NOT_TOLD)
            session.stdout_until(wanted.encode())
    except StreamError as error:
        return CallResult(FAILED, details=str(error))
    return CallResult(output=wanted)


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

    # a server has to speak one of the two; over WebSocket there is a channel for input whether a client has
    # any or not, and to some servers its end is that of the session
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
        session.close(GOODBYE_SECONDS)
