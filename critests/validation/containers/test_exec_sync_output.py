"""EXS: what ExecSync returns of a command's output."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client import Connection, connect
from critests.fixtures.containers import Containers
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.run.context import tls_files
from critests.run.marks import disruptive, requirement, slow

LINE = b"0123456789abcdef\n"
"""Of seventeen bytes, so that a missing block, whose size is a power of two, shows."""
EVERY_BYTE = bytes(range(256))
PRINTED_BYTES = 400 << 20
"""Far more than what a daemon takes that holds sixteen mebibytes a few times."""
AS_OCTAL = "".join(f"\\{byte:03o}" for byte in EVERY_BYTE)
OUTPUTS = {
    "nothing": ("true", b""),
    "every byte there is": (f"printf '{AS_OCTAL}'", EVERY_BYTE),
    "64 KiB": (f"yes {LINE.decode().strip()} | head -c 65536", (LINE * 4096)[:65536]),
}


@pytest.fixture
def wide(runtime: Runtime) -> Iterator[Connection]:
    """A connection that takes larger answers than the kubelet does."""
    ordinary = runtime.connection
    opened = connect(
        ordinary.endpoint,
        tls=tls_files(runtime.context.settings),
        recorder=ordinary.recorder,
        hangs=ordinary.hangs,
        receive_limit_bytes=64 << 20,
    )
    yield opened
    opened.close()


def saying(number: int) -> str:
    """Return a script with an output and an exit code that no other number has."""
    return f"echo {number}; echo {-number} >&2; exit {number}"


def said(number: int) -> tuple[bytes, bytes, int]:
    """Return stdout, stderr and exit code of `saying`."""
    return b"%d\n" % number, b"%d\n" % -number, number


def printing(size: int, descriptor: int = 1) -> str:
    """Return the script that prints so many bytes of the repeated line to a descriptor, and ends with 7."""
    return f"yes {LINE.decode().strip()} | head -c {size} >&{descriptor}; exit 7"


DESCRIPTORS = {"stdout": 1, "stderr": 2}


def much(size: int) -> bytes:
    """Return what that script prints."""
    return (LINE * (size // len(LINE) + 1))[:size]


def answered(
    stub: Callable[..., cri.ExecSyncResponse], request: cri.ExecSyncRequest
) -> cri.ExecSyncResponse | None:
    """Return the answer; None where the call failed because the answer was too large."""
    try:
        return stub(request)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return None
        raise


@requirement("EXS-01/small")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_exec_sync_returns_the_exact_bytes(runtime: Runtime, running_container: Container, kind: str) -> None:
    """ExecSync MUST return the bytes that a command printed, each and unaltered, for outputs of up to 64 KiB.

    Source: ExecSyncResponse.stdout.
    """
    text, printed = OUTPUTS[kind]

    answer = runtime.stub.ExecSync(running_container.script_request(text))

    assert answer.stdout == printed
    assert answer.stderr == b""


@requirement("EXS-01/small")
def test_exec_sync_keeps_stdout_and_stderr_apart(runtime: Runtime, running_container: Container) -> None:
    """ExecSync MUST return what a command printed to its standard output and to its standard error apart from
    each other.

    Source: ExecSyncResponse.stdout and stderr.
    """
    answer = runtime.stub.ExecSync(
        running_container.script_request("echo to output; echo to error >&2; echo more output")
    )

    assert answer.stdout == b"to output\nmore output\n"
    assert answer.stderr == b"to error\n"


@requirement("EXS-01/large")
@pytest.mark.parametrize("stream", DESCRIPTORS)
def test_exec_sync_returns_large_output_whole(
    runtime: Runtime, running_container: Container, stream: str
) -> None:
    """ExecSync SHOULD return 8 MiB of output, and of error output, whole.

    Source: ExecSyncResponse.stdout and stderr, which the CRI lets a runtime cut at 16 MiB.
    """
    script = printing(8 << 20, descriptor=DESCRIPTORS[stream])

    printed = getattr(runtime.stub.ExecSync(running_container.script_request(script)), stream)

    assert len(printed) == 8 << 20
    assert printed == much(8 << 20)


@requirement("EXS-10/ends")
def test_exec_sync_ends_with_a_child_in_the_background(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync of a command that leaves a child behind which holds its output MUST return when that child
    ends at the latest.

    Source: ExecSync. The container and the runtime go on.
    """
    call = runtime.timed(
        runtime.stub.ExecSync, running_container.script_request("sleep 1 & echo begun", timeout=0)
    )

    assert call.response.stdout == b"begun\n"
    assert call.response.exit_code == 0
    assert call.seconds < 1 + 3 * runtime.scale, f"ended after {call.seconds:.1f} s, the child after 1 s"
    assert running_container.output("echo", "alive") == "alive"


@slow
@requirement("EXS-10/bounded")
def test_exec_sync_waits_for_a_child_no_longer_than_its_timeout(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync SHOULD NOT wait beyond its time-out for a child that the command left behind.

    Source: ExecSyncRequest.timeout.
    """
    # the child lives longer than the time-out and the margin below together
    begin = time.perf_counter()
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.ExecSync(
            running_container.script_request(f"sleep {6 * runtime.scale:g} & echo begun", timeout=1)
        )
    seconds = time.perf_counter() - begin

    assert seconds < 1 + 3 * runtime.scale, f"ended after {seconds:.1f} s, with a time-out of 1 s"
    assert running_container.output("echo", "alive") == "alive"


@requirement("EXS-11")
def test_output_of_a_child_in_the_background(
    runtime: Runtime, running_container: Container, observe: Observe
) -> None:
    """What a child in the background prints after the command has ended MAY be part of the output.

    Source: ExecSyncResponse.stdout; the CRI does not say.
    """
    answer = runtime.stub.ExecSync(running_container.script_request("(sleep 0.3; echo late) & echo early"))

    assert answer.stdout in {b"early\n", b"early\nlate\n"}
    observe("is included" if b"late" in answer.stdout else "is left out")


@requirement("EXS-12/survives")
def test_exec_sync_survives_too_much_output(
    runtime: Runtime, wide: Connection, running_container: Container
) -> None:
    """ExecSync of a command that prints more than 16 MiB MUST fail with ResourceExhausted, or return the
    beginning and the exit code.

    Source: ExecSyncResponse.stdout.
    """
    answer = answered(wide.runtime.ExecSync, running_container.script_request(printing(20 << 20), timeout=40))

    if answer is not None:
        assert much(20 << 20).startswith(answer.stdout), (
            "what was returned is not the beginning of the output"
        )
        assert answer.stdout
        assert answer.exit_code == 7
    assert runtime.stub.ExecSync(running_container.script_request("echo alive")).stdout == b"alive\n"


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param("stdout", marks=requirement("EXS-12/cap")),
        pytest.param("stderr", marks=requirement("EXS-13")),
    ],
)
def test_exec_sync_cuts_output_at_16_mib(wide: Connection, running_container: Container, stream: str) -> None:
    """ExecSync SHOULD return no more than 16 MiB of what a command printed to its standard output, and to its
    standard error.

    Source: ExecSyncResponse.stdout and stderr.
    """
    script = printing(20 << 20, descriptor=DESCRIPTORS[stream])

    answer = answered(wide.runtime.ExecSync, running_container.script_request(script, timeout=40))

    if answer is not None:
        assert 0 < len(getattr(answer, stream)) <= 16 << 20


@requirement("EXS-14")
def test_an_answer_that_is_too_large_costs_only_its_call(
    runtime: Runtime, running_container: Container
) -> None:
    """An ExecSync whose answer is larger than the client takes SHOULD fail alone: the connection goes on.

    Source: the kubelet's limit of 16 MiB for one message.
    """
    both = f"({printing(16 << 20)}); {printing(16 << 20, descriptor=2)}"

    answer = answered(runtime.stub.ExecSync, running_container.script_request(both, timeout=40))

    if answer is not None:
        assert answer.exit_code == 7
    assert runtime.stub.ExecSync(running_container.script_request("echo alive")).stdout == b"alive\n"


@requirement("EXS-19/works")
def test_exec_sync_works_in_a_container_with_a_terminal(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container with a terminal MUST return what the command printed, and its exit code.

    Source: ExecSync. Whether the command has a terminal too is left open.
    """
    container = containers.running(tty=True)

    answer = runtime.stub.ExecSync(container.script_request("echo printed; exit 5"))

    assert answer.stdout.split() == [b"printed"]
    assert answer.exit_code == 5


@requirement("EXS-19/no-terminal")
def test_exec_sync_in_a_container_with_a_terminal_has_none(runtime: Runtime, containers: Containers) -> None:
    """ExecSync in a container with a terminal SHOULD return the bytes as printed, both streams apart, from a
    command that has no terminal.

    Source: ExecSyncRequest, which cannot ask for one; ExecSyncResponse.stdout and stderr. Not stated by the
    CRI; ContainerConfig.tty is about the container's own process.
    """
    container = containers.running(tty=True)

    answer = runtime.stub.ExecSync(
        container.script_request("test -t 1 && echo terminal; printf 'one\\ntwo\\n'; echo error >&2")
    )

    assert answer.stdout == b"one\ntwo\n"
    assert answer.stderr == b"error\n"


@requirement("EXS-20")
def test_commands_at_the_same_time_are_not_mixed_up(runtime: Runtime, running_container: Container) -> None:
    """Commands that run at the same time in one container MUST all succeed, each with its own output and exit
    code.

    Source: ExecSync.
    """
    calls = [
        runtime.stub.ExecSync.future(running_container.script_request(saying(n))) for n in range(16)
    ]  # more than probes need

    answers = [call.result() for call in calls]

    assert [(answer.stdout, answer.stderr, answer.exit_code) for answer in answers] == [
        said(n) for n in range(16)
    ]


@requirement("EXS-20")
@slow
@disruptive
def test_fifty_commands_at_the_same_time_all_succeed(own_runtime: OwnRuntime) -> None:
    """Fifty commands that run at the same time in one container MUST all succeed, each with its own output
    and exit code.

    Source: ExecSync.
    """
    # a runtime of its own: as many have been seen to stall a pod for good, its removal included
    container = own_runtime.container()
    # together; on a busy machine with two cores it was four seconds
    seconds = 15 * own_runtime.scale

    calls = [
        own_runtime.stub.ExecSync.future(container.script_request(saying(n)), timeout=seconds)
        for n in range(50)
    ]

    codes = Counter(call.code().name for call in calls)
    assert codes == {"OK": 50}
    answers = [call.result() for call in calls]
    assert [(answer.stdout, answer.stderr, answer.exit_code) for answer in answers] == [
        said(n) for n in range(50)
    ]


@requirement("EXS-12/memory")
@disruptive
def test_too_much_output_is_not_held_in_memory(own_runtime: OwnRuntime) -> None:
    """While a command prints hundreds of megabytes, the daemon's memory SHOULD NOT grow by as much.

    Source: ExecSyncResponse.stdout, which is cut. Not stated by the CRI; any container could end the daemon.
    """
    container = own_runtime.container()

    with may_be_refused(grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNKNOWN):
        own_runtime.stub.ExecSync(container.script_request(printing(PRINTED_BYTES), timeout=60), timeout=90)

    assert own_runtime.most_memory < PRINTED_BYTES
