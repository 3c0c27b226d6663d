"""LOG: ReopenContainerLog, which follows the rotation of a log, and earlier logs."""

import secrets
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle import container_log
from critests.testing import (
    Container,
    Containers,
    Runtime,
    Sandbox,
    lingering,
    may_be_refused,
    refused_with,
    requirement,
)

EARLIER = b"2026-01-02T03:04:05.123456789Z stdout F earlier\n"
STREAMS = {"two streams": {"stdout", "stderr"}, "terminal": {"stdout"}}


@pytest.fixture
def counting(containers: Containers) -> Container:
    """A container that prints a number every hundredth of a second, from 1 on; its log has some already."""
    return containers.running(
        script="i=0; while :; do i=$((i + 1)); echo $i; sleep 0.01; done", wait_for_log="5"
    )


def rotate(container: Container, number: int = 1) -> Path:
    """Rename a container's log, as the kubelet does to rotate it, and return the new path."""
    return container.log_path.rename(f"{container.log_path}.{number}")


def numbers(*paths: Path) -> list[int]:
    """Return the numbers in log files, read as one log.

    A line may begin in one file, with the tag P, and continue in the next.
    """
    records = [record for path in paths for record in container_log.read(path)]
    return [int(line) for line in container_log.lines(records)]


@requirement("LOG-17")
def test_an_earlier_log_is_appended_to(sandbox: Sandbox, containers: Containers) -> None:
    """The runtime SHOULD append to an existing log file and not truncate it.

    Source: ContainerConfig.log_path; not stated by the CRI, the kubelet retains earlier logs.
    """
    path = f"{secrets.token_hex(4)}.log"
    (sandbox.log_directory / path).write_bytes(EARLIER)

    container = containers.exited(script=lingering("echo said"), log_path=path)

    container.wait_for_log("said")
    assert container.log_path.read_bytes().startswith(EARLIER)
    assert container.log_lines() == ["earlier", "said"]


@requirement("LOG-17")
def test_the_next_attempt_has_its_own_log(containers: Containers) -> None:
    """The next attempt of a container SHOULD write to its own log file and not change the earlier one.

    Source: ContainerMetadata.attempt, ContainerConfig.log_path.
    """
    first = containers.exited(script=lingering("echo first attempt"))
    first.wait_for_log("first attempt")
    before = first.log_path.read_bytes()

    second = containers.exited(
        script=lingering("echo second attempt"), name=first.config.metadata.name, attempt=1
    )

    second.wait_for_log("second attempt")
    assert second.log_lines() == ["second attempt"]
    assert first.log_path.read_bytes() == before


@requirement("LOG-21")
def test_reopen_continues_in_a_new_file(runtime: Runtime, counting: Container) -> None:
    """ReopenContainerLog MUST continue the log in a new file at `log_path` after the old one was renamed,
    with no line lost or repeated.

    Source: ReopenContainerLog.
    """
    old = rotate(counting)

    runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=counting.id))

    runtime.eventually("lines in the new file", counting.log_lines, 10, lambda lines: len(lines) > 10)
    # no more lines while the test reads both files
    counting.kill()
    printed = numbers(old, counting.log_path)
    assert printed == list(range(1, len(printed) + 1))


@requirement("LOG-20")
def test_reopen_does_not_write_through_a_symbolic_link(
    runtime: Runtime, counting: Container, host_folder: Path
) -> None:
    """ReopenContainerLog SHOULD NOT write to the target of a symbolic link that has replaced the log: it may
    fail, or replace the link with a log file.

    Source: not stated by the CRI. A container that mounts its pod's log directory, as log collectors do, can
    create such a link, and would make the runtime write to any file of the node.
    """
    target = host_folder / "of-the-node"
    target.touch()
    old = rotate(counting)
    counting.log_path.symlink_to(target)

    with may_be_refused():
        runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=counting.id))

    size = old.stat().st_size
    runtime.eventually(
        "further lines",
        lambda: [old.stat().st_size - size, counting.log_path.stat().st_size],
        10,
        lambda grown: sum(grown) > 500,  # bytes: some ten lines
    )
    assert target.read_bytes() == b""


@requirement("LOG-22")
def test_reopen_creates_a_log_that_was_deleted(runtime: Runtime, counting: Container) -> None:
    """ReopenContainerLog MUST continue the log in a new file at `log_path` after the old one was deleted.

    Source: ReopenContainerLog.
    """
    counting.log_path.unlink()

    runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=counting.id))

    runtime.eventually("lines in the new file", counting.log_lines, 10, lambda lines: len(lines) > 10)
    counting.kill()
    printed = numbers(counting.log_path)
    assert printed == list(range(printed[0], printed[0] + len(printed)))


@requirement("LOG-23")
def test_repeated_reopen_loses_nothing(runtime: Runtime, containers: Containers) -> None:
    """ReopenContainerLog MUST NOT lose, repeat or reorder lines when it is called repeatedly for a busy
    container.

    Source: ReopenContainerLog; the log format lets a runtime split a line, also between two files.
    """
    # bursts of a thousand numbers with pauses, so that rotations fall within bursts and between them
    # 2,000 bursts at most, in case the file /rotated never appears
    burst = "seq $((i * 1000 + 1)) $((i * 1000 + 1000)); i=$((i + 1))"
    bursts = f"i=0; while [ ! -e /rotated ] && [ $i -lt 2000 ]; do {burst}; sleep 0.02; done"
    container = containers.running(script=f"{bursts}; echo 0", wait_for_log="5")
    files: list[Path] = []

    for number in range(1, 11):
        files.append(rotate(container, number))
        runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    container.output("touch", "/rotated")
    container.exited()
    container.wait_for_log("0")
    printed = numbers(*files, container.log_path)
    # the last burst is complete
    assert max(printed) % 1000 == 0
    assert printed == [*range(1, max(printed) + 1), 0]


@requirement("LOG-24")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_reopen_of_a_container_that_does_not_run_creates_a_file_or_fails(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """ReopenContainerLog of a container that does not run MUST either create the file and succeed, or fail
    and create none.

    Source: ReopenContainerLog, which the CRI allows to fail for such a container.
    """
    container = containers.in_state(state)
    # a container that was never started may have no log yet
    container.log_path.unlink(missing_ok=True)

    try:
        runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))
        succeeded = True
    except grpc.RpcError as error:
        refused_with(error)
        succeeded = False

    assert container.log_path.exists() == succeeded


@requirement("LOG-26")
def test_reopen_does_not_wait_for_a_stop(runtime: Runtime, containers: Containers) -> None:
    """ReopenContainerLog SHOULD NOT wait for a StopContainer call during its grace period.

    Source: ReopenContainerLog, StopContainerRequest.timeout.
    """
    container = containers.running(
        # handles SIGTERM without exiting, so that StopContainer waits
        script="trap 'echo stopping' TERM; while :; do echo line; sleep 0.05; done",
        wait_for_log="line",
    )
    stop = runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=30))
    container.wait_for_log("stopping")
    rotate(container)

    call = runtime.timed(
        runtime.stub.ReopenContainerLog, cri.ReopenContainerLogRequest(container_id=container.id)
    )

    assert not stop.done()
    # far less than the grace period of 30 seconds
    assert call.seconds < 5 * runtime.scale
    container.wait_for_log("line", 5)
    container.kill()
    stop.result()


@requirement("LOG-27")
@pytest.mark.parametrize("kind", STREAMS)
def test_reopen_redirects_all_streams(runtime: Runtime, containers: Containers, kind: str) -> None:
    """ReopenContainerLog MUST redirect all output of a container to the new file: both streams, or the output
    of its terminal.

    Source: ReopenContainerLog, ContainerConfig.tty.
    """
    script = "while :; do echo output; echo error >&2; sleep 0.02; done"
    container = containers.running(script=script, tty=kind == "terminal")
    container.wait_for_lines(5)
    old = rotate(container)

    runtime.stub.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container.id))

    runtime.eventually("a line in the new file", container.log_lines, 10, bool)
    # from the first line in the new file on, none may come to the old one
    size = old.stat().st_size
    runtime.eventually("lines in the new file", container.log_lines, 10, lambda lines: len(lines) > 9)
    assert {line.rstrip("\r") for line in container.log_lines()} == {"output", "error"}
    assert {record.stream for record in container.log()} == STREAMS[kind]
    assert old.stat().st_size == size, "the old file grew after the log was reopened"
