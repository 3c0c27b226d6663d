"""EXS: the output of a command as ExecSync returns it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.run.context import tls_files
from critests.testing import (
    Container,
    Containers,
    OwnRuntime,
    RecordVariant,
    Runtime,
    disruptive,
    may_be_refused,
    requirement,
    slow,
)

LINE = b"0123456789abcdef\n"
"""Seventeen bytes, so that a missing block, whose size is a power of two, shifts the lines after it."""
EVERY_BYTE = bytes(range(256))
PRINTED_BYTES = 400 << 20
"""Far more than the memory of a daemon that holds several copies of sixteen mebibytes."""
AS_OCTAL = "".join(f"\\{byte:03o}" for byte in EVERY_BYTE)
OUTPUTS = {
    "nothing": ("true", b""),
    "every byte value": (f"printf '{AS_OCTAL}'", EVERY_BYTE),
    # as much as a pipe holds (pipe(7))
    "64 KiB": (f"yes {LINE.decode().strip()} | head -c 65536", (LINE * 4096)[:65536]),
}


@pytest.fixture
def large_connection(runtime: Runtime) -> Iterator[Connection]:
    """A connection that accepts larger responses than the kubelet does."""
    standard = runtime.connection
    opened = connect(
        standard.endpoint,
        tls=tls_files(runtime.context.settings),
        recorder=standard.recorder,
        hangs=standard.hangs,
        # more than the 20 MiB that the tests print, so that only the runtime can truncate
        receive_limit_bytes=64 << 20,
    )
    yield opened
    opened.close()


def numbered_script(number: int) -> str:
    """Return a script whose stdout, stderr and exit code are unique to a number."""
    return f"echo {number}; echo {-number} >&2; exit {number}"


def result_of_numbered(number: int) -> tuple[bytes, bytes, int]:
    """Return stdout, stderr and exit code of `numbered_script`."""
    return b"%d\n" % number, b"%d\n" % -number, number


def printing(size: int, descriptor: int = 1) -> str:
    """Return a script that prints so many bytes of repeated lines to a descriptor, and exits with 7."""
    # 7 is neither success nor the code of a shell or of a signal
    return f"yes {LINE.decode().strip()} | head -c {size} >&{descriptor}; exit 7"


DESCRIPTORS = {"stdout": 1, "stderr": 2}


def repeated_lines(size: int) -> bytes:
    """Return the output of `printing`."""
    return (LINE * (size // len(LINE) + 1))[:size]


def response_or_none(
    stub: Callable[..., cri.ExecSyncResponse], request: cri.ExecSyncRequest
) -> cri.ExecSyncResponse | None:
    """Return the response; None if the call failed because the response was too large."""
    try:
        return stub(request)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return None
        raise


@requirement("EXS-01/small")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_exec_sync_returns_the_exact_bytes(runtime: Runtime, running_container: Container, kind: str) -> None:
    """ExecSync MUST return the bytes that a command printed unchanged, for outputs of up to 64 KiB.

    Source: ExecSyncResponse.stdout.
    """
    text, printed = OUTPUTS[kind]

    response = runtime.stub.ExecSync(running_container.script_request(text))

    assert response.stdout == printed
    assert response.stderr == b""


@requirement("EXS-01/small")
def test_exec_sync_separates_stdout_and_stderr(runtime: Runtime, running_container: Container) -> None:
    """ExecSync MUST return the standard output and the standard error of a command separately.

    Source: ExecSyncResponse.stdout and stderr.
    """
    response = runtime.stub.ExecSync(
        running_container.script_request("echo to output; echo to error >&2; echo more output")
    )

    assert response.stdout == b"to output\nmore output\n"
    assert response.stderr == b"to error\n"


@requirement("EXS-01/large")
@pytest.mark.parametrize("stream", DESCRIPTORS)
def test_exec_sync_returns_large_output_whole(
    runtime: Runtime, running_container: Container, stream: str
) -> None:
    """ExecSync SHOULD return 8 MiB of standard output, and of standard error, whole.

    Source: ExecSyncResponse.stdout and stderr, which the CRI lets a runtime truncate at 16 MiB.
    """
    # half of the cap, so that no runtime may truncate
    script = printing(8 << 20, descriptor=DESCRIPTORS[stream])

    printed = getattr(runtime.stub.ExecSync(running_container.script_request(script)), stream)

    assert len(printed) == 8 << 20
    assert printed == repeated_lines(8 << 20)


@requirement("EXS-10/ends")
def test_exec_sync_returns_when_a_background_child_exits(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync of a command that leaves a child which holds the command's output open MUST return at the
    latest when that child exits.

    Source: ExecSync. The container continues to run.
    """
    call = runtime.timed(
        runtime.stub.ExecSync, running_container.script_request("sleep 1 & echo started", timeout=0)
    )

    assert call.response.stdout == b"started\n"
    assert call.response.exit_code == 0
    assert call.seconds < 1 + 3 * runtime.scale, (
        f"ExecSync returned after {call.seconds:.1f} s, the child after 1 s"
    )
    assert running_container.output("echo", "alive") == "alive"


@slow
@requirement("EXS-10/bounded")
def test_exec_sync_waits_for_a_child_no_longer_than_its_timeout(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync SHOULD NOT wait beyond its timeout for a child that the command left.

    Source: ExecSyncRequest.timeout.
    """
    # the child runs longer than the timeout and the margin below together
    begin = time.perf_counter()
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.ExecSync(
            running_container.script_request(f"sleep {6 * runtime.scale:g} & echo started", timeout=1)
        )
    seconds = time.perf_counter() - begin

    assert seconds < 1 + 3 * runtime.scale, f"ExecSync returned after {seconds:.1f} s, with a timeout of 1 s"
    assert running_container.output("echo", "alive") == "alive"


@requirement("EXS-11")
def test_output_of_a_child_in_the_background(
    runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """ExecSync MAY return what a child in the background prints after the command has exited.

    Source: ExecSyncResponse.stdout; not stated by the CRI.
    """
    # the shell exits at once; its child prints 0.3 s later to the same pipe
    response = runtime.stub.ExecSync(running_container.script_request("(sleep 0.3; echo late) & echo early"))

    assert response.stdout in {b"early\n", b"early\nlate\n"}
    record_variant("is included" if b"late" in response.stdout else "is left out")


@requirement("EXS-12/survives")
def test_exec_sync_survives_too_much_output(
    runtime: Runtime, large_connection: Connection, running_container: Container
) -> None:
    """ExecSync of a command that prints more than 16 MiB MUST fail with ResourceExhausted, or return the
    beginning of the output and the exit code.

    Source: ExecSyncResponse.stdout.
    """
    # 20 MiB: more than the 16 MiB at which the CRI lets a runtime truncate
    response = response_or_none(
        large_connection.runtime.ExecSync, running_container.script_request(printing(20 << 20), timeout=40)
    )

    if response is not None:
        assert repeated_lines(20 << 20).startswith(response.stdout), (
            "ExecSync did not return the beginning of the output"
        )
        assert response.stdout
        assert response.exit_code == 7
    assert runtime.stub.ExecSync(running_container.script_request("echo alive")).stdout == b"alive\n"


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param("stdout", marks=requirement("EXS-12/cap")),
        pytest.param("stderr", marks=requirement("EXS-13")),
    ],
)
def test_exec_sync_truncates_output_at_16_mib(
    large_connection: Connection, running_container: Container, stream: str
) -> None:
    """ExecSync SHOULD return no more than 16 MiB of the standard output, and of the standard error, of a
    command.

    Source: ExecSyncResponse.stdout and stderr.
    """
    script = printing(20 << 20, descriptor=DESCRIPTORS[stream])

    response = response_or_none(
        large_connection.runtime.ExecSync, running_container.script_request(script, timeout=40)
    )

    if response is not None:
        assert 0 < len(getattr(response, stream)) <= 16 << 20


@requirement("EXS-14")
def test_a_response_that_is_too_large_fails_only_its_call(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync with a response larger than the client accepts SHOULD fail without effect on other calls of
    the connection.

    Source: the kubelet's limit of 16 MiB for one message.
    """
    # each stream is within its cap; together they exceed the 16 MiB of a message
    both = f"({printing(16 << 20)}); {printing(16 << 20, descriptor=2)}"

    response = response_or_none(runtime.stub.ExecSync, running_container.script_request(both, timeout=40))

    if response is not None:
        assert response.exit_code == 7
    assert runtime.stub.ExecSync(running_container.script_request("echo alive")).stdout == b"alive\n"


@requirement("EXS-19/works")
def test_exec_sync_works_in_a_container_with_a_terminal(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container with a terminal MUST return the output of the command and its exit code.

    Source: ExecSync. The command may have a terminal too or not.
    """
    container = containers.running(tty=True)

    response = runtime.stub.ExecSync(container.script_request("echo printed; exit 5"))

    # a terminal ends lines with a carriage return and a newline
    assert response.stdout.split() == [b"printed"]
    assert response.exit_code == 5


@requirement("EXS-19/no-terminal")
def test_exec_sync_in_a_container_with_a_terminal_has_none(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container with a terminal SHOULD run the command without a terminal, and return both
    streams separately and unchanged.

    Source: ExecSyncRequest, which has no field for a terminal; ExecSyncResponse.stdout and stderr. Not stated
    by the CRI; ContainerConfig.tty is for the container's own process.
    """
    container = containers.running(tty=True)

    response = runtime.stub.ExecSync(
        container.script_request("test -t 1 && echo terminal; printf 'one\\ntwo\\n'; echo error >&2")
    )

    assert response.stdout == b"one\ntwo\n"
    assert response.stderr == b"error\n"


@requirement("EXS-20")
def test_commands_at_the_same_time_are_not_mixed_up(runtime: Runtime, running_container: Container) -> None:
    """ExecSync calls at the same time in one container MUST all succeed, each with its own output and exit
    code.

    Source: ExecSync.
    """
    calls = [
        runtime.stub.ExecSync.future(running_container.script_request(numbered_script(n))) for n in range(16)
    ]  # more than probes need

    responses = [call.result() for call in calls]

    assert [(response.stdout, response.stderr, response.exit_code) for response in responses] == [
        result_of_numbered(n) for n in range(16)
    ]


@requirement("EXS-20")
@slow
@disruptive
def test_fifty_commands_at_the_same_time_all_succeed(own_runtime: OwnRuntime) -> None:
    """ExecSync calls of fifty commands at the same time in one container MUST all succeed, each with its own
    output and exit code.

    Source: ExecSync.
    """
    # on its own runtime: fifty calls made some runtimes hang for good in this pod, also in its removal
    container = own_runtime.container()
    # for all fifty, which took four seconds on a busy machine with two cores
    seconds = 15 * own_runtime.scale

    calls = [
        own_runtime.stub.ExecSync.future(container.script_request(numbered_script(n)), timeout=seconds)
        for n in range(50)
    ]

    codes = Counter(call.code().name for call in calls)
    assert codes == {"OK": 50}
    responses = [call.result() for call in calls]
    assert [(response.stdout, response.stderr, response.exit_code) for response in responses] == [
        result_of_numbered(n) for n in range(50)
    ]


@requirement("EXS-12/memory")
@disruptive
def test_too_much_output_is_not_held_in_memory(own_runtime: OwnRuntime) -> None:
    """ExecSync SHOULD NOT hold hundreds of megabytes of a command's output in the daemon's memory.

    Source: ExecSyncResponse.stdout, which is truncated. Not stated by the CRI; any container could otherwise
    exhaust the daemon's memory.
    """
    container = own_runtime.container()

    # the deadline of the call is later than the timeout of the command, which the runtime itself must enforce
    with may_be_refused(grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNKNOWN):
        own_runtime.stub.ExecSync(container.script_request(printing(PRINTED_BYTES), timeout=60), timeout=90)

    # the peak since the start of the daemon, so the test needs a daemon of its own
    assert own_runtime.most_memory < PRINTED_BYTES
