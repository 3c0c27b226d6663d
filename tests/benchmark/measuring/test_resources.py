import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.accounting_cgroup import accounted, of_runtime
from critests.benchmark.measuring.resources import (
    CGROUP,
    PROCESSES,
    ProcessFootprint,
    ProcessUsage,
    Usage,
    footprints,
    gauges,
    snapshot,
)
from critests.benchmark.measuring.runtime_processes import (
    Role,
    RuntimeNotVisible,
    RuntimeProcess,
    listening_sockets,
    runtime_processes,
)
from critests.client.endpoint import Endpoint
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry

DAEMON, SHIM, CHILD, PAUSE = 10, 20, 11, 21
OPENS_AND_CLOSES = """
import os
print("busy", flush=True)
while True:
    for number in [os.dup(0) for _ in range(200)]:
        os.close(number)
"""
OPENS_ON_REQUEST = 'echo; read line; exec 9<"$0"; echo; read line'
BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def used(
    pid: int,
    role: Role,
    own: float,
    children: float = 0.0,
    *,
    parent: int = 1,
    written: int = 0,
    switches: dict[int, tuple[int, int]] | None = None,
    in_cgroup: bool = False,
) -> ProcessUsage:
    return ProcessUsage(
        RuntimeProcess(pid, 0, parent, role, "", own, children, False), in_cgroup, 0, written, switches or {}
    )


def usage(*processes: ProcessUsage, cgroup: float | None = None) -> Usage:
    return Usage({process.process.key: process for process in processes}, cgroup)


def test_usage_is_the_difference_of_snapshots() -> None:
    before = usage(used(DAEMON, Role.DAEMON, 5.0, 1.0, written=100), used(SHIM, Role.SHIM, 1.0))
    after = usage(used(DAEMON, Role.DAEMON, 6.0, 1.5, written=300), used(SHIM, Role.SHIM, 1.25))
    between = after.since(before)
    assert between.cpu_seconds == pytest.approx(1.75)
    assert between.daemon_cpu_seconds == pytest.approx(1.0)
    assert (between.write_bytes, between.source) == (200, PROCESSES)


def test_a_child_that_was_waited_for_is_counted_once() -> None:
    before = usage(
        used(DAEMON, Role.DAEMON, 5.0), used(CHILD, Role.DAEMON_HELPER, 2.0, parent=DAEMON, written=70)
    )
    after = usage(used(DAEMON, Role.DAEMON, 5.0, 2.5, written=90))
    assert after.since(before).cpu_seconds == pytest.approx(0.5)
    assert after.since(before).write_bytes == 20


def test_a_shim_that_ended_takes_nothing_away() -> None:
    before = usage(
        used(DAEMON, Role.DAEMON, 5.0), used(SHIM, Role.SHIM, 3.0), used(PAUSE, Role.PAUSE, 1.0, parent=SHIM)
    )
    between = usage(used(DAEMON, Role.DAEMON, 6.0)).since(before)
    assert between.cpu_seconds == pytest.approx(1.0)


def test_containers_do_not_count_and_a_reaped_one_only_since_the_snapshot() -> None:
    before = usage(
        used(DAEMON, Role.DAEMON, 5.0),
        used(SHIM, Role.SHIM, 1.0),
        used(PAUSE, Role.CONTAINER, 4.0, parent=SHIM),
    )
    alive = usage(
        used(DAEMON, Role.DAEMON, 5.0),
        used(SHIM, Role.SHIM, 1.0),
        used(PAUSE, Role.CONTAINER, 9.0, parent=SHIM),
    )
    reaped = usage(used(DAEMON, Role.DAEMON, 5.0), used(SHIM, Role.SHIM, 1.0, 4.5))
    assert alive.since(before).cpu_seconds == 0
    assert reaped.since(before).cpu_seconds == pytest.approx(0.5)


def test_processes_outside_the_cgroup_are_added() -> None:
    before = usage(used(DAEMON, Role.DAEMON, 5.0, in_cgroup=True), used(SHIM, Role.SHIM, 1.0), cgroup=50.0)
    after = usage(used(DAEMON, Role.DAEMON, 6.0, in_cgroup=True), used(SHIM, Role.SHIM, 1.5), cgroup=53.0)
    between = after.since(before)
    assert between.cpu_seconds == pytest.approx(3.5)
    assert between.daemon_cpu_seconds == pytest.approx(1.0)
    assert between.source == CGROUP
    assert usage(*after.processes.values()).since(before).cpu_seconds == pytest.approx(1.5)


def test_threads_that_end_take_their_switches_with_them() -> None:
    before = usage(used(DAEMON, Role.DAEMON, 0, switches={10: (100, 10), 12: (5000, 50)}))
    after = usage(used(DAEMON, Role.DAEMON, 0, switches={10: (130, 11), 13: (7, 0)}))
    between = after.since(before)
    assert (between.voluntary, between.involuntary) == (37, 1)


def test_a_process_and_its_children_are_a_runtime_too() -> None:
    before = snapshot(os.getpid())
    subprocess.run([sys.executable, "-c", BURN], check=True)
    child = subprocess.Popen(["sleep", "60"])
    try:
        found = {process.pid: process.role for process in runtime_processes(os.getpid())}
        assert found[os.getpid()] is Role.DAEMON
        assert found[child.pid] is Role.DAEMON_HELPER
        between = snapshot(os.getpid()).since(before)
        assert 0.25 < between.cpu_seconds < 10
        assert between.daemon_cpu_seconds < between.cpu_seconds
        held = footprints(os.getpid())
        assert held["daemon"].memory_bytes > 1_000_000
        assert held["daemon"].threads >= 2
        assert not any(held[part].memory_bytes for part in ("shims", "pauses", "containers"))
    finally:
        child.kill()
        child.wait()


def test_a_runtime_that_has_exited_is_an_error() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for look in (snapshot, footprints, gauges):
        with pytest.raises(RuntimeNotVisible, match="has exited"):
            look(gone.pid)


def test_descriptors_that_are_closed_during_the_scan_are_ignored(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path)
        listening.listen()
        busy = subprocess.Popen(
            [sys.executable, "-c", OPENS_AND_CLOSES], pass_fds=[listening.fileno()], stdout=subprocess.PIPE
        )
    with busy:
        try:
            assert busy.stdout is not None
            assert busy.stdout.readline() == b"busy\n"
            for _ in range(100):
                assert path in listening_sockets(busy.pid)
        finally:
            busy.kill()


def test_gauges_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(100_000))
    seen = gauges(os.getpid(), [tmp_path])
    assert seen["disk_bytes"] >= 100_000
    assert seen["threads"] >= 1
    assert seen["mounts"] == 0
    assert gauges(os.getpid())["mounts"] >= 1
    assert seen["pss_bytes"] > 1_000_000


def test_a_file_that_is_opened_is_one_more(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    # not this process: what tests before have left may close files of it at any time
    with subprocess.Popen(
        ["/bin/sh", "-c", OPENS_ON_REQUEST, tmp_path / "file"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as opening:
        assert opening.stdin is not None
        assert opening.stdout is not None
        opening.stdout.readline()
        before = gauges(opening.pid)["fds"]
        opening.stdin.write(b"\n")
        opening.stdin.flush()
        opening.stdout.readline()
        assert gauges(opening.pid)["fds"] == before + 1


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def runtime() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry() as (started, _):
        yield started


@pytest.fixture
def connection(runtime: ThrowawayRuntime) -> Iterator[PlainConnection]:
    opened = plain_stubs(Endpoint.parse(runtime.endpoint))
    yield opened
    opened.close()


class Pods:
    def __init__(self, connection: PlainConnection, logs: Path) -> None:
        run = RunIdentity.new()
        self.cgroups = CgroupParents(run, CgroupDriver.CGROUPFS)
        self.builder = RequestBuilder(run, logs, self.cgroups)
        self.connection = connection

    def run(self) -> str:
        request = cri.RunPodSandboxRequest(config=self.builder.sandbox())
        return self.connection.runtime.RunPodSandbox(request, timeout=60).pod_sandbox_id

    def remove(self, identity: str) -> None:
        self.connection.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=identity), timeout=60)
        self.connection.runtime.RemovePodSandbox(
            cri.RemovePodSandboxRequest(pod_sandbox_id=identity), timeout=60
        )


@pytest.fixture
def pods(connection: PlainConnection, tmp_path: Path) -> Iterator[Pods]:
    made = Pods(connection, tmp_path)
    yield made
    made.cgroups.remove()


@pytest.mark.runtime
@needs_root
def test_the_footprint_is_split_by_part(runtime: ThrowawayRuntime, pods: Pods) -> None:
    assert runtime.endpoint.removeprefix("unix://") in listening_sockets(runtime.pid)
    before, identities = footprints(runtime.pid), [pods.run(), pods.run()]
    try:
        held = {part: holding.memory_bytes for part, holding in footprints(runtime.pid).items()}
        assert before["shims"] == before["pauses"] == ProcessFootprint(0, 0, 0)
        assert held["shims"] > 2_000_000
        assert 0 == held["containers"] < held["pauses"] < held["shims"]
        assert held["daemon"] > 10_000_000
        assert gauges(runtime.pid)["shims"] == 2
    finally:
        for identity in identities:
            pods.remove(identity)
    assert gauges(runtime.pid)["shims"] == 0


@pytest.mark.runtime
@needs_root
def test_a_pods_life_costs_the_runtime_something_by_either_account(
    runtime: ThrowawayRuntime, pods: Pods
) -> None:
    assert of_runtime(runtime.pid, {runtime.pid}) is None
    before = snapshot(runtime.pid)
    pods.remove(pods.run())
    by_processes = snapshot(runtime.pid).since(before)
    with accounted(runtime.pid, pods.builder.run.id) as cgroup:
        assert cgroup is not None
        before = snapshot(runtime.pid)
        pods.remove(pods.run())
        by_cgroup = snapshot(runtime.pid).since(before)
    assert (by_processes.source, by_cgroup.source) == (PROCESSES, CGROUP)
    # the shim of a pod that is removed goes with what it has used, and with the OCI runtime's processes that
    # it waited for
    assert 0 < by_processes.cpu_seconds < by_cgroup.cpu_seconds < 5
    assert by_cgroup.voluntary > 0
    assert by_cgroup.write_bytes > 0
    assert not cgroup.exists()


@pytest.mark.runtime
@needs_root
def test_gauges_come_back_when_a_pod_is_removed(runtime: ThrowawayRuntime, pods: Pods) -> None:
    def look() -> dict[str, float]:
        return gauges(runtime.pid, directories=[runtime.state, runtime.root])

    pods.remove(pods.run())
    before = look()
    identity = pods.run()
    during = look()
    pods.remove(identity)
    deadline = time.monotonic() + 5
    while (after := look())["mounts"] > before["mounts"] and time.monotonic() < deadline:
        time.sleep(0.05)
    for name in ("shims", "mounts", "netns"):
        assert during[name] > before[name]
        assert after[name] == before[name]
    assert before["disk_bytes"] > 10_000
