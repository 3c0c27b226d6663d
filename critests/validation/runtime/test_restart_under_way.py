"""RST: output, pulls and streams that are in progress during a restart of the daemon."""

import os
import secrets
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.node.cgroups import container_cgroup
from critests.testing import (
    Capability,
    Container,
    FaultKind,
    ImageName,
    OwnRuntime,
    RecordVariant,
    Registry,
    RegistryFault,
    Scope,
    Streams,
    blocked,
    disruptive,
    first_process,
    pulling,
    requirement,
    requires,
    slow,
)

pytestmark = disruptive

ENDS = [signal.SIGTERM, signal.SIGKILL]
ends_of_the_daemon = pytest.mark.parametrize("end", ENDS, ids=["in order", "killed"])
FOLDER = "/counted"
# prints before it writes: a number in the file has been printed
COUNT = f"i=0; while :; do i=$((i+1)); echo $i; echo $i > {FOLDER}/number; usleep 10000; done"
LINES_WITHOUT_A_DAEMON = 20  # 0.2 seconds of output at one line in 10 ms
PODS = 100  # a kubelet runs 110 by default
FEW_PODS = 10
END_SECONDS = 20.0
"""Well below the 90 seconds of systemd's default TimeoutStopSec."""


@pytest.fixture(autouse=True)
def _restartable(own_runtime: OwnRuntime) -> None:
    """End a test before its set-up if the daemon cannot be restarted."""
    assert own_runtime.daemon


@dataclass(frozen=True)
class Counting:
    """A container that prints the numbers from 1, and writes the last one into a file.

    Attributes:
        container: it.
        file: with the last number.
    """

    container: Container
    file: Path

    @property
    def number(self) -> int:
        """The last number that was printed; 0 while the file is being written."""
        return int(self.file.read_text(encoding="ascii") or 0)


@pytest.fixture
def counting(own_runtime: OwnRuntime, host_folder: Path) -> Counting:
    """A container that prints the numbers from 1 and continues without a daemon."""
    mount = cri.Mount(container_path=FOLDER, host_path=str(host_folder))
    container = own_runtime.containers.running(script=COUNT, mounts=[mount], wait_for_log="5")
    return Counting(container, host_folder / "number")


def logged_numbers_after_restart(
    own_runtime: OwnRuntime, counting: Counting, end: signal.Signals
) -> list[int]:
    """Restart the daemon while a container prints, and return the numbers in its log once the log has what
    was printed in between.
    """
    with own_runtime.down(end):
        begin = own_runtime.eventually("the number that was printed last", lambda: counting.number)
        last = str(
            own_runtime.eventually(
                "a process to continue printing without a daemon",
                lambda: counting.number,
                holds=lambda number: number >= begin + LINES_WITHOUT_A_DAEMON,
            )
        )
    lines = own_runtime.eventually(
        f"the line {last}, printed while there was no daemon, in the log",
        counting.container.log_lines,
        holds=lambda lines: last in lines,
    )
    return [int(line) for line in lines]


@requirement("RST-10/sigterm")
def test_no_output_is_lost_over_an_orderly_restart(own_runtime: OwnRuntime, counting: Counting) -> None:
    """The log of a container MUST have every line of its output exactly once over an orderly restart of the
    daemon.

    Source: ContainerConfig.log_path. Not stated by the CRI for a restart; lost lines cannot be recovered.
    """
    numbers = logged_numbers_after_restart(own_runtime, counting, signal.SIGTERM)

    assert numbers == list(range(1, len(numbers) + 1))


@requirement("RST-10/sigkill")
def test_output_continues_after_the_daemon_was_killed(
    own_runtime: OwnRuntime, counting: Counting, record_variant: RecordVariant
) -> None:
    """A container MUST keep running while the daemon is down, and its later output MUST reach the log; lines
    that were being copied when the daemon was killed MAY be lost or duplicated.

    Source: ContainerConfig.log_path. Not stated by the CRI for a restart.
    """
    numbers = logged_numbers_after_restart(own_runtime, counting, signal.SIGKILL)

    record_variant(
        "every line once" if numbers == list(range(1, len(numbers) + 1)) else "lines lost or twice"
    )
    assert counting.container.state() == cri.CONTAINER_RUNNING


@requirement("RST-09")
@ends_of_the_daemon
def test_pull_interrupted_by_a_restart_can_be_repeated(
    own_runtime: OwnRuntime, registry: Registry, end: signal.Signals
) -> None:
    """PullImage MUST succeed after a restart of the daemon has interrupted a pull of the same image, and
    containers MUST run from it.

    Source: PullImage. Not stated by the CRI for a restart; the kubelet pulls again.
    """
    minted = registry.mint()
    registry.fault(minted, RegistryFault(kind=FaultKind.STALL, scope=Scope.LAYER))
    own_runtime.images.PullImage.future(pulling(minted.reference))
    own_runtime.eventually(
        "a layer that is waited for", lambda: [each for each in registry.requests(minted) if each.fault]
    )
    own_runtime.restart(end)
    registry.clear_faults(minted)

    response = own_runtime.images.PullImage(pulling(minted.reference))

    config = own_runtime.containers.config(image=ImageName(response.image_ref, minted.reference))
    container = own_runtime.containers.attempt(config, in_sandbox=own_runtime.sandbox())
    assert container.state() == cri.CONTAINER_RUNNING


def code_at_end_of(stream: Iterator[object]) -> grpc.StatusCode:
    """Read a stream to its end, and return the code with which it ends."""
    try:
        for _ in stream:
            pass
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


@requirement("RST-16")
def test_lost_state_of_one_container_does_not_affect_others(own_runtime: OwnRuntime) -> None:
    """A daemon that finds the files of one container empty SHOULD start and list all others as before; it
    SHOULD NOT report that container as RUNNING if it had exited.

    Source: not stated by the CRI; files that are being written during a power failure can be empty.
    """
    pod = own_runtime.sandbox()
    healthy = own_runtime.container(pod)
    lost = own_runtime.containers.exited(in_sandbox=pod)
    files = own_runtime.daemon.files_of(lost.id)
    if not files:
        blocked("no file was found in which the daemon stores the state of a container")

    with own_runtime.down(signal.SIGKILL):
        # the daemon was killed, so that it did not write its files again at its end
        for file in files:
            file.write_bytes(b"")

    listed = own_runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    states = {entry.id: entry.state for entry in listed}
    assert states.get(healthy.id) == cri.CONTAINER_RUNNING
    assert states.get(lost.id, cri.CONTAINER_UNKNOWN) in {cri.CONTAINER_EXITED, cri.CONTAINER_UNKNOWN}


@requirement("RST-16")
def test_pod_without_a_stored_uid_is_not_listed_without_uid(own_runtime: OwnRuntime) -> None:
    """A daemon that finds no uid in its files of a pod SHOULD start and list all other pods, and SHOULD NOT
    list a pod without name, namespace or uid.

    Source: PodSandboxMetadata; a client identifies its pods by these alone.
    """
    healthy, damaged = own_runtime.sandbox(), own_runtime.sandbox()
    uid = damaged.config.metadata.uid.encode()
    records = [file for file in own_runtime.daemon.files_of(damaged.id) if uid in file.read_bytes()]
    if not records:
        blocked("no file was found in which the daemon stores the uid of a pod")

    with own_runtime.down(signal.SIGKILL):
        for file in records:
            file.write_bytes(file.read_bytes().replace(uid, b""))

    listed = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert {entry.id: entry.state for entry in listed}.get(healthy.id) == cri.SANDBOX_READY
    known = [(entry.metadata.name, entry.metadata.namespace, entry.metadata.uid) for entry in listed]
    assert [names for names in known if "" in names] == []


@dataclass(frozen=True)
class Moved:
    """A running container whose processes are in another cgroup of its pod; their own is gone.

    Attributes:
        container: it.
        process: its first process, as this machine numbers it.
    """

    container: Container
    process: int


@pytest.fixture
def moved(own_runtime: OwnRuntime) -> Iterator[Moved]:
    """A running container whose processes are in another cgroup, until the end of the test."""
    mark = f"moved-{secrets.token_hex(4)}"
    container = own_runtime.container(wait_for_log="ready", script=f"echo ready; sleep 3600; : {mark}")
    process = first_process(mark)
    others: list[Path] = []
    try:
        for folder in container_cgroup.folders_of_process(process):
            other = folder.with_name("moved")
            other.mkdir()
            others.append(other)
            # empty in a new cgroup of version 1, which takes no process then
            for name in ("cpuset.cpus", "cpuset.mems"):
                file = folder / name
                if file.exists() and (values := file.read_text(encoding="ascii").strip()):
                    (other / name).write_text(values, encoding="ascii")
            for pid in processes_in(folder):
                (other / "cgroup.procs").write_text(pid, encoding="ascii")
            folder.rmdir()
        yield Moved(container, process)
    finally:
        for other in others:
            for pid in processes_in(other):
                # with version 1 a process that was killed in one hierarchy is ending in the next
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            own_runtime.eventually(
                "the cgroup to be empty", partial(processes_in, other), holds=lambda left: not left
            )
            other.rmdir()


def processes_in(cgroup: Path) -> list[str]:
    """Return the processes in a cgroup."""
    return (cgroup / "cgroup.procs").read_text(encoding="ascii").split()


@requirement("RST-01")
@requires(Capability.SAME_HOST)
def test_running_container_in_another_cgroup_is_not_exited_after_a_restart(
    own_runtime: OwnRuntime, moved: Moved
) -> None:
    """A container whose processes were moved to another cgroup, and whose own cgroup is gone, MUST NOT be
    EXITED after a restart of the daemon while its process runs.

    Source: CONTAINER_EXITED; the kubelet starts another instance for one that it takes for exited.
    Service managers and administrators of a node move processes.
    """
    own_runtime.restart(signal.SIGKILL)

    listed = own_runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    states = [cri.ContainerState.Name(each.state) for each in listed if each.id == moved.container.id]
    if Path(f"/proc/{moved.process}").exists():
        assert "CONTAINER_EXITED" not in states


@requirement("RST-17")
@slow
def test_daemon_lists_all_of_many_pods_after_a_restart(own_runtime: OwnRuntime) -> None:
    """A daemon with 100 pods SHOULD restart within 20 seconds and list all of them once Status reports that
    it is ready.

    Source: StatusResponse.status. Not stated by the CRI; the kubelet would create pods again that are not
    listed.
    """
    with ThreadPoolExecutor(8) as pool:
        pods = list(pool.map(lambda _: own_runtime.sandbox().id, range(PODS)))

    own_runtime.restart(signal.SIGKILL)

    listed = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    ready = {entry.id for entry in listed if entry.state == cri.SANDBOX_READY}
    assert len(ready.intersection(pods)) == PODS


@requirement("RST-17")
@requires(Capability.POD_NETWORK)
@slow
def test_pods_survive_several_restarts_in_a_row(own_runtime: OwnRuntime) -> None:
    """Pods SHOULD stay READY over several restarts in a row, between which others are created, and each
    SHOULD have an address of its own that is released when it is removed.

    Source: PodSandboxStatus. Not stated by the CRI for a restart; a daemon may be restarted by an upgrade or
    a failing probe.
    """
    with ThreadPoolExecutor(8) as pool:
        pods = list(pool.map(lambda _: own_runtime.sandbox(), range(FEW_PODS)))
        for end in (*ENDS, *ENDS):
            own_runtime.restart(end)
            pods += pool.map(lambda _: own_runtime.sandbox(), range(2))

    listed = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    ready = [entry.id for entry in listed if entry.state == cri.SANDBOX_READY]
    addresses = {pod.status().network.ip for pod in pods}
    for pod in pods:
        pod.discard()

    assert sorted(ready) == sorted(pod.id for pod in pods)
    assert len(addresses) == len(pods)
    assert addresses.isdisjoint(own_runtime.daemon.leases)


@requirement("RST-20")
def test_daemon_exits_on_sigterm_although_a_client_is_connected(own_runtime: OwnRuntime) -> None:
    """A daemon that gets SIGTERM SHOULD exit within 20 seconds although a session and a stream of events are
    open, with code 0 or by the signal and not by a crash, and its containers SHOULD keep running.

    Source: not stated by the CRI; service managers such as systemd kill a daemon that takes longer, and take
    any other exit for a failure.
    """
    container = own_runtime.container(own_runtime.sandbox())
    echo = cri.ExecRequest(container_id=container.id, cmd=["cat"], stdin=True, stdout=True)
    # open until the daemon ends it: the deadline comes later than the end that is expected
    own_runtime.stub.GetContainerEvents(cri.GetEventsRequest(), timeout=2 * END_SECONDS * own_runtime.scale)
    with closing(Streams(own_runtime)) as streams:
        session = streams.open(own_runtime.stub.Exec, echo)
        session.write(b"open\n")
        session.stdout_until(b"open\n")

        os.kill(own_runtime.daemon.pid, signal.SIGTERM)

        end = own_runtime.eventually(
            "the end of the daemon",
            lambda: own_runtime.daemon.exit_code,
            END_SECONDS,
            holds=lambda code: code is not None,
        )
    own_runtime.restart()
    # shells and many programs exit with 128 + the signal's number
    assert end in {0, -signal.SIGTERM, 128 + signal.SIGTERM}
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("RST-24")
@requires(Capability.EVENTS)
@ends_of_the_daemon
def test_stream_of_events_ends_with_the_daemon(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """A stream of GetContainerEvents that is open when the daemon exits SHOULD end for its client too.

    Source: GetContainerEvents; not stated by the CRI. A client whose stream stays open without events waits
    for ever.
    """
    # far longer than a restart takes
    events = own_runtime.stub.GetContainerEvents(cri.GetEventsRequest(), timeout=20 * own_runtime.scale)

    own_runtime.restart(end)

    assert code_at_end_of(events) is not grpc.StatusCode.DEADLINE_EXCEEDED, (
        "the stream stayed open without events"
    )
