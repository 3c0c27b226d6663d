"""EXS: processes, open files and state files that many commands leave on the node."""

import os
import secrets
from collections.abc import Callable

import psutil
import pytest

from critests.api import api_pb2 as cri
from critests.testing import Container, OwnRuntime, blocked, disruptive, requirement, slow

CountResources = Callable[[], dict[str, int]]


@pytest.fixture
def token() -> str:
    """A word in the command line of the container's process, to identify it on the host."""
    return f"critests-{secrets.token_hex(8)}"


@pytest.fixture
def container(own_runtime: OwnRuntime, token: str) -> Container:
    """A container on the test's own runtime."""
    # waits for the trap: by then its first process is the shell with the word, no longer the OCI runtime
    return own_runtime.container(first=f": {token}", on_term="exit 0")


@pytest.fixture
def count_resources(own_runtime: OwnRuntime, container: Container, token: str) -> CountResources:
    """Counts the processes and files of the daemon and of the container's parent process."""
    first = next(
        (
            process
            for process in psutil.process_iter(["cmdline"])
            if token in " ".join(process.info["cmdline"] or ())
        ),
        None,
    )
    # the shim or monitor by which the runtime holds the container
    parent = first.parent() if first and container.id else None
    if parent is None or own_runtime.context.daemon_pid is None:
        blocked("the test cannot see the processes of the daemon and of the container")
    daemon = psutil.Process(own_runtime.context.daemon_pid)
    state = own_runtime.throwaway.state if own_runtime.throwaway else None

    def count() -> dict[str, int]:
        return {
            "open files of the daemon": daemon.num_fds(),
            "open files of the parent process": parent.num_fds(),
            "processes": len({*daemon.children(recursive=True), *parent.children(recursive=True)}),
            # only of a runtime that the suite has started: other pods change the directories of another one
            "state files": sum(len(files) for _, _, files in os.walk(state)) if state else 0,
        }

    return count


def run_commands(own_runtime: OwnRuntime, container: Container, batches: int) -> None:
    """Run batches of ten commands at a time; all must succeed."""
    request = cri.ExecSyncRequest(container_id=container.id, cmd=["true"], timeout=10)
    for _ in range(batches):
        calls = [own_runtime.stub.ExecSync.future(request) for _ in range(10)]
        assert [call.result().exit_code for call in calls] == [0] * 10


@requirement("EXS-21")
@slow
@disruptive
def test_many_commands_leave_nothing_behind(
    own_runtime: OwnRuntime, container: Container, count_resources: CountResources
) -> None:
    """ExecSync SHOULD leave no more processes, open files and state files after many commands than before.

    Source: ExecSync; not stated by the CRI, probes run commands as long as a pod runs.
    """
    run_commands(own_runtime, container, 2)  # by then the daemon has opened what it opens only once
    before = count_resources()

    run_commands(own_runtime, container, 10)

    # a leak adds one for each of 100 commands; other activity of the daemon adds less than a fifth of that
    def leftovers() -> dict[str, int]:
        return {
            what: more for what, number in count_resources().items() if (more := number - before[what]) > 20
        }

    own_runtime.eventually("what 100 commands leave behind to go", leftovers, 5, lambda more: not more)
