import contextlib
import ipaddress
import os
import signal
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.images.registry import RegistryServer
from critests.node.cleanup import runtime_removal
from critests.node.cleanup.runtime_objects import objects_of
from critests.node.run_state import locks, run_directories
from critests.node.run_state.footprint import MARK, Footprint
from critests.node.run_state.locks import ProcessIdentity
from critests.node.starting import readiness, throwaway
from critests.node.starting.daemon_process import complaint_about
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.throwaway import RuntimeStartFailed, ThrowawayRuntime
from critests.runtimes.runtime_settings import DualStack
from tests.node.footprints import footprint_in
from tests.node.test_leaves_nothing import BINARIES, EVERY_CONTAINERD
from tests.node.waiting_process import waiting_process


@pytest.fixture
def directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_directories, "RUNS", tmp_path / "run")
    monkeypatch.setattr(run_directories, "FILES", tmp_path / "lib")
    return tmp_path


def footprint_with(directory: Path, *, name: str = "a1b2c3") -> Footprint:
    """Return the record of a runtime of this process with its directories."""
    state, root = (directory / f"{top}/1-abc/node/containerd-{name}" for top in ("run", "lib"))
    for each in (state, root):
        each.mkdir(parents=True)
    owner = ProcessIdentity.of(os.getpid())
    return footprint_in(directory, token=name, state=state, root=root, owner=owner, binaries=("containerd",))


def test_footprint_is_read_as_it_was_written(directories: Path) -> None:
    footprint = footprint_with(directories)
    footprint.write()
    assert Footprint.read(footprint.state) == footprint
    assert len(footprint.bridge) <= 15


def test_objects_of_a_runtime_are_those_in_its_directories(directories: Path) -> None:
    footprint, other = footprint_with(directories), footprint_with(directories, name="0717e2")
    before = objects_of(footprint)
    bundle = footprint.state / "task/k8s.io/one"
    bundle.mkdir(parents=True)
    (footprint.root / "snapshots/7/fs/below").mkdir(parents=True)
    (other.root / "snapshots").mkdir()

    assert objects_of(footprint) - before == {
        f"directory {path}"
        for path in (
            bundle.parent.parent,
            bundle.parent,
            bundle,
            footprint.root / "snapshots",
            footprint.root / "snapshots/7",
            footprint.root / "snapshots/7/fs",
        )
    }


def test_processes_of_a_runtime_are_objects_of_it(directories: Path) -> None:
    footprint = footprint_with(directories)

    with waiting_process("daemon", env={MARK: str(footprint.state)}) as process:
        found = objects_of(footprint)

    assert f"process {process.pid}" in found
    assert f"process {process.pid}" not in objects_of(footprint)


def test_footprint_of_another_format_is_rejected(directories: Path) -> None:
    footprint = footprint_with(directories)
    (footprint.state / run_directories.RECORD_FILE).write_text('{"state": "/etc"}')
    with pytest.raises(ValueError, match="not the record of a private runtime"):
        Footprint.read(footprint.state)


def test_reaper_removes_dead_runtimes_and_no_live_ones(directories: Path) -> None:
    dead, live = footprint_with(directories, name="dead00"), footprint_with(directories, name="11fe00")
    for footprint in (dead, live):
        footprint.write()
        (footprint.root / "layer").mkdir()
    (dead.state / run_directories.LOCK_FILE).touch()
    with live.lock:
        reaped = runtime_removal.reap_dead_runs()
    assert [(entry.run_id, entry.name, entry.left) for entry in reaped] == [("1-abc", dead.name, "")]
    assert not dead.state.exists()
    assert not dead.root.exists()
    assert (live.root / "layer").is_dir()
    assert (live.state / run_directories.RECORD_FILE).is_file()


def test_reaper_removes_empty_parent_directories(directories: Path) -> None:
    footprint_with(directories).write()
    assert len(runtime_removal.reap_dead_runs()) == 1
    assert list(directories.iterdir()) == [directories / "lib"] or not list(directories.iterdir())
    assert runtime_removal.reap_dead_runs() == []


def test_reaper_removes_files_whose_footprint_was_lost_in_a_reboot(directories: Path) -> None:
    root = directories / "lib/1-abc/node/containerd-000000/layers"
    root.mkdir(parents=True)
    assert [entry.name for entry in runtime_removal.reap_dead_runs()] == ["containerd-000000"]
    assert not (directories / "lib/1-abc").exists()


def test_forget_dead_run_removes_only_directories_of_dead_runs(directories: Path) -> None:
    for name in ("lib/1-abc/logs", "run/1-abc", "lib/2-abc"):
        (directories / name).mkdir(parents=True)
    with locks.RunHold("1-abc"):
        assert not runtime_removal.forget_dead_run("1-abc")
        assert (directories / "lib/1-abc/logs").is_dir()
    assert runtime_removal.forget_dead_run("1-abc")
    assert [path.name for path in (directories / "lib").iterdir()] == ["2-abc"]


@pytest.mark.parametrize("run_id", ["", "..", ".", "1/2", "/etc"])
def test_forget_dead_run_rejects_an_invalid_run_id(run_id: str) -> None:
    with pytest.raises(ValueError, match="is not the id of a run"):
        runtime_removal.forget_dead_run(run_id)


def test_reaper_reports_a_malformed_footprint_and_removes_nothing(directories: Path) -> None:
    footprint = footprint_with(directories)
    (footprint.state / run_directories.RECORD_FILE).write_text("[]")
    (reaped,) = [entry for entry in runtime_removal.reap_dead_runs() if entry.left]
    assert "not the record" in reaped.left
    assert footprint.state.exists()


def test_complaint_about_a_handler_is_the_warning_in_the_daemons_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        'level=info msg="handler other"\nlevel=warning msg="other dropped"\n'
        'level=warning msg="no apparmor"\nlevel=info msg="up, without other"\n'
    )

    assert complaint_about(log, "other") == 'level=warning msg="other dropped"'
    assert complaint_about(log, "runc") == complaint_about(tmp_path / "none", "runc") == ""


def test_restart_has_the_timeout_and_the_limits_of_the_start(
    directories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[float] = []

    def ready(_: Path, *, until: float, **__: object) -> cri.VersionResponse:
        timeouts.append(until - time.monotonic())
        return cri.VersionResponse()

    monkeypatch.setattr(readiness, "wait_until_listening", lambda *_, **__: None)
    monkeypatch.setattr(readiness, "wait_until_ready", ready)
    monkeypatch.setattr(throwaway, "start_watcher", lambda _: None)
    process: Any = SimpleNamespace(pid=1, end=lambda _: None, command=SimpleNamespace(socket=Path("socket")))
    footprint = footprint_with(directories)
    runtime = ThrowawayRuntime(footprint, process, lambda _: [process], directories / "log", footprint.lock)

    runtime.start_daemon(network=False, seconds=300.0)
    started = list[int]()
    runtime.after_start = started.append
    runtime.restart()

    assert started == [1]
    assert timeouts == [pytest.approx(300.0, abs=10.0)] * 2


@pytest.fixture(params=EVERY_CONTAINERD)
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[throwaway.ThrowawayRuntime]:
    run_id = f"{os.getpid()}-abcdef"
    pause = "127.0.0.1:5010/critests/pause:1"
    with start_throwaway(
        run_id=run_id,
        binary=request.param,
        log_file=tmp_path / "log",
        extra_settings=[DualStack()],
        pause_image=pause,
    ) as runtime:
        yield runtime
    assert not locks.run_is_live(run_id)
    assert not run_directories.run_dir(run_id).exists()
    assert (tmp_path / "log").stat().st_size > 0


@pytest.mark.runtime
def test_restarted_runtime_has_the_same_endpoint(runtime: throwaway.ThrowawayRuntime) -> None:
    path = Path(runtime.endpoint.removeprefix("unix://"))
    first = runtime.pid
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert runtime.runtime_name == "containerd"
    assert runtime.version in runtime.version_line
    assert runtime.handlers[0] == ""
    assert len(runtime.subnets) == 2
    assert locks.run_is_live(f"{os.getpid()}-abcdef")

    runtime.restart(signal.SIGKILL)

    assert runtime.pid != first
    runtime.kill()
    with pytest.raises(ProcessLookupError):
        _ = runtime.pid

    runtime.start_again()

    assert runtime.pid != first
    assert runtime.pid in runtime.processes
    assert os.getpid() not in runtime.processes


@pytest.mark.runtime
def test_reboot_removes_the_daemons_files_below_run(
    runtime: throwaway.ThrowawayRuntime,
) -> None:
    first = runtime.pid
    daemon_folder, configured = runtime.state / "of the daemon", runtime.conflist.read_text(encoding="utf-8")
    (daemon_folder / "file").mkdir(parents=True)
    persistent = runtime.root / "root" / "persistent"
    persistent.touch()

    runtime.reboot()

    assert runtime.pid != first
    assert not daemon_folder.exists()
    assert persistent.exists()
    assert runtime.conflist.read_text(encoding="utf-8") == configured


@pytest.mark.runtime
@pytest.mark.parametrize("binary", EVERY_CONTAINERD)
def test_concurrent_runtimes_share_a_registry_and_no_subnet(binary: Path) -> None:
    with RegistryServer() as registry, contextlib.ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        registry.client().mint_pause()
        pause = f"{registry.address}/critests/pause:1"

        def start(number: int) -> throwaway.ThrowawayRuntime:
            run_id = f"{os.getpid()}-{number}"
            return start_throwaway(
                run_id=run_id, binary=binary, pause_image=pause, registry_addresses=[registry.address]
            )

        runtimes = [stack.enter_context(runtime) for runtime in pool.map(start, range(3))]
        addresses = list(pool.map(run_pod, runtimes))

        assert len({runtime.subnets for runtime in runtimes}) == 3
        for runtime, address in zip(runtimes, addresses, strict=True):
            assert ipaddress.ip_address(address) in ipaddress.ip_network(runtime.subnets[0])


def run_pod(runtime: throwaway.ThrowawayRuntime) -> str:
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="pod", uid="1", namespace="critests"),
        linux=cri.LinuxPodSandboxConfig(),
    )
    with grpc.insecure_channel(runtime.endpoint) as channel:
        stub = cri_grpc.RuntimeServiceStub(channel)
        pod = stub.RunPodSandbox(cri.RunPodSandboxRequest(config=config), timeout=30).pod_sandbox_id
        return stub.PodSandboxStatus(
            cri.PodSandboxStatusRequest(pod_sandbox_id=pod), timeout=10
        ).status.network.ip


@pytest.mark.runtime
def test_start_with_an_unwritable_log_fails_and_leaves_nothing(tmp_path: Path) -> None:
    if not BINARIES:
        pytest.skip("needs root and a containerd")
    run_id = f"{os.getpid()}-fedcba"
    with pytest.raises(RuntimeStartFailed, match=r"did not start: .*Is a directory"):
        start_throwaway(run_id=run_id, binary=BINARIES[0], pause_image="x", log_file=tmp_path)
    with pytest.raises(RuntimeStartFailed, match="files of containerd cannot be written"):
        start_throwaway(run_id=run_id, binary=BINARIES[0], pause_image="x", root=Path("/proc/nowhere"))
    assert not run_directories.run_dir(run_id).exists()
