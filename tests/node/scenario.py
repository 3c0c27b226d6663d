"""A program that does one thing with a private runtime, and prints what is left of it.

    python -m tests.node.scenario CASE BINARY

It runs in its own process, network and mount namespaces with empty /run, /tmp and /var/lib, so that a test
can assert that nothing is left. Cgroups are shared with the machine: only those that may belong to the case
count.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import grpc

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc
from critests.images.registry import RegistryServer
from critests.lifecycle.run_label import RunIdentity
from critests.node.cleanup.leftovers import unmount_below
from critests.node.cleanup.runtime_removal import reap_dead_runs
from critests.node.host.binaries import find_program
from critests.node.run_state.locks import RunHold
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.throwaway import RuntimeStartFailed, ThrowawayRuntime
from critests.node.wrappers.actions import Delay, Record
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from tests.node.machine_snapshot import MachineChange, MachineSnapshot, difference

PORT = 5010
PAUSE = f"127.0.0.1:{PORT}/critests/pause:1"
RUN = os.environ.setdefault("SCENARIO_RUN", f"{int(time.time())}-{secrets.token_hex(3)}")
"""The run id, the same in the processes that a case starts."""
TRAP = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.2; done"]
OWN_PROCESSES = cri.NamespaceOption(pid=cri.CONTAINER)
"""For pods without a sandbox process, whose oom_score_adj root cannot lower on every machine."""
SECONDS = 20.0
SETTLE_SECONDS = 2.0
IDS = Path("/tmp/ids")
"""The ids of all created runtimes, pods and containers."""


def start(binary: str, *, wrapped: bool = False) -> ThrowawayRuntime:
    runtime = start_throwaway(
        Path(binary).name,
        run_id=RUN,
        pause_image=PAUSE,
        registry_addresses=[PAUSE.partition("/")[0]],
        binary=Path(binary),
        extra_handlers={"second": find_program("runc")},
        wrapped=WrappedPrograms(oci=wrapped, cni=wrapped),
    )
    remember(runtime.cgroup_parent.strip("/"))
    return runtime


def remember(*ids: str) -> None:
    with IDS.open("a", encoding="ascii") as file:
        file.writelines(f"{one}\n" for one in ids)


def run_pods(runtime: ThrowawayRuntime, parent: str = "") -> list[str]:
    """Run a pod with a host port and a container with each handler, the first below a cgroup; return the
    addresses of the pods.
    """
    addresses = []
    with RegistryServer(PORT) as registry, grpc.insecure_channel(runtime.endpoint) as channel:
        registry.client().mint_pause()
        plain = registry.client().mint("plain", f"critests/{RUN}/plain").reference
        images, pods = cri_grpc.ImageServiceStub(channel), cri_grpc.RuntimeServiceStub(channel)
        image = cri.ImageSpec(image=plain, user_specified_image=plain)
        images.PullImage(cri.PullImageRequest(image=image), timeout=SECONDS)
        for number, handler in enumerate(runtime.handlers):
            config = cri.PodSandboxConfig(
                metadata=cri.PodSandboxMetadata(
                    name=f"pod{number}", uid=f"uid{number}", namespace="critests"
                ),
                log_directory=f"/tmp/logs{number}",
                port_mappings=[cri.PortMapping(host_port=18080 + number, container_port=80)],
                linux=cri.LinuxPodSandboxConfig(
                    cgroup_parent=runtime.cgroup_parent if number else parent,
                    security_context=cri.LinuxSandboxSecurityContext(namespace_options=OWN_PROCESSES),
                ),
            )
            pod = pods.RunPodSandbox(
                cri.RunPodSandboxRequest(config=config, runtime_handler=handler), timeout=SECONDS
            ).pod_sandbox_id
            container = pods.CreateContainer(
                cri.CreateContainerRequest(
                    pod_sandbox_id=pod,
                    sandbox_config=config,
                    config=cri.ContainerConfig(
                        metadata=cri.ContainerMetadata(name="one"),
                        image=image,
                        command=TRAP,
                        log_path="one.log",
                        linux=cri.LinuxContainerConfig(
                            security_context=cri.LinuxContainerSecurityContext(
                                namespace_options=OWN_PROCESSES
                            )
                        ),
                    ),
                ),
                timeout=SECONDS,
            ).container_id
            pods.StartContainer(cri.StartContainerRequest(container_id=container), timeout=SECONDS)
            remember(pod, container)
            addresses.append(
                pods.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod)).status.network.ip
            )
    return addresses


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {SECONDS} s for {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def harness(binary: str, case: str = "owner") -> Iterator[subprocess.Popen[str]]:
    """Start another process that owns a runtime with pods; yields when they run."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.node.scenario", case, binary], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield process
    finally:
        process.kill()
        process.wait()


def interrupt(number: int, _frame: FrameType | None) -> None:
    """End this process like Ctrl-C."""
    raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")


def own(binary: str, parent: str = "") -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    with start(binary) as runtime:
        run_pods(runtime, parent)
        print("ready", flush=True)
        while True:
            time.sleep(0.1)


def own_with_pod_cgroups(binary: str) -> None:
    """Own pods with cgroup parents, which only a killed run leaves behind."""
    own(binary, f"/critests/{RUN}/pod1")


def control(binary: str) -> None:
    """Hold the run's lock and a file of a test, as the controller of a run does, and own its runtime."""
    folder = RunIdentity(RUN).data_directory
    folder.mkdir(parents=True)
    (folder / "file").touch()
    with RunHold(RUN):
        own_with_pod_cgroups(binary)


def by_stop(binary: str) -> None:
    before = MachineSnapshot.take()
    with start(binary) as runtime:
        assert len(set(run_pods(runtime))) == len(runtime.handlers)
        kinds = {change.kind for change in difference(before, MachineSnapshot.take()) if can_be_ours(change)}
        assert kinds >= before.things.keys() - {"loop device", "kernel switch"}, (
            f"the snapshot misses kinds of changes: it has only {kinds}"
        )
        runtime.stop()
        runtime.stop()


def with_wrappers_that_wait(binary: str) -> None:
    """Stop the runtime while wrappers of the OCI runtime and of CNI plugins sleep."""
    with start(binary, wrapped=True) as runtime:
        assert runtime.wrappers.oci is not None
        assert runtime.wrappers.cni is not None
        run_pods(runtime)
        runtime.wrappers.oci.plan({"kill": [Record(), Delay(600)]})
        runtime.wrappers.cni.plan({"ADD": [Record(), Delay(600)]})
        with grpc.insecure_channel(runtime.endpoint) as channel:
            pods = cri_grpc.RuntimeServiceStub(channel)
            containers = pods.ListContainers(cri.ListContainersRequest(), timeout=SECONDS).containers
            stops = [
                cri.StopContainerRequest(container_id=container.id, timeout=0) for container in containers
            ]
            config = cri.PodSandboxConfig(
                metadata=cri.PodSandboxMetadata(name="waits", uid="waits", namespace="critests")
            )
            config.linux.cgroup_parent = runtime.cgroup_parent
            config.linux.security_context.namespace_options.CopyFrom(OWN_PROCESSES)
            call = pods.RunPodSandbox.future(cri.RunPodSandboxRequest(config=config), timeout=SECONDS)
            stopping = [pods.StopContainer.future(stop, timeout=SECONDS) for stop in stops]
            until(
                lambda: processes("wrappers/oci/bin") and processes("wrappers/cni/bin"),
                "wrappers of both kinds to wait",
            )
            runtime.stop()
            assert call.exception() is not None
            assert any(call.exception() is not None for call in stopping)


def by_restart(binary: str) -> None:
    with start(binary) as runtime:
        run_pods(runtime)
        runtime.restart(signal.SIGKILL)
        with grpc.insecure_channel(runtime.endpoint) as channel:
            listed = (
                cri_grpc.RuntimeServiceStub(channel)
                .ListContainers(cri.ListContainersRequest(), timeout=SECONDS)
                .containers
            )
        assert [item.state for item in listed] == [cri.CONTAINER_RUNNING] * len(runtime.handlers)
        runtime.kill()


def by_exit(binary: str) -> None:
    code = "import sys; from tests.node import scenario; scenario.run_pods(scenario.start(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, binary], check=True, timeout=60)


def by_signal(number: signal.Signals) -> Callable[[str], None]:
    def end(binary: str) -> None:
        with harness(binary) as process:
            process.send_signal(number)
            process.wait(SECONDS)
            assert process.returncode != 0
            assert reap_dead_runs() == []

    return end


def by_sigkill_and_watcher(binary: str) -> None:
    with harness(binary, OWNERS[2]) as process:
        process.kill()
        process.wait(SECONDS)
        until(
            lambda: not Path("/run/critests").exists() and not processes("watcher"),
            "the watcher to remove the runtime",
        )


def by_sigkill_and_reaper(binary: str) -> None:
    with harness(binary, OWNERS[1]) as process:
        for pid in processes("critests.node.cleanup.watcher"):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait(SECONDS)
        reaped = reap_dead_runs()
        assert [(entry.run_id, entry.left) for entry in reaped] == [(RUN, "")], reaped


def next_to_a_live_one(binary: str) -> None:
    """Reap a dead run while another one is live, which is not affected."""
    with start(binary) as live:
        run_pods(live)
        with harness(binary) as process:
            for pid in processes("critests.node.cleanup.watcher"):
                os.kill(pid, signal.SIGKILL)
            process.kill()
            process.wait(SECONDS)
            assert len(reap_dead_runs()) == 1
        with grpc.insecure_channel(live.endpoint) as channel:
            listed = (
                cri_grpc.RuntimeServiceStub(channel)
                .ListContainers(cri.ListContainersRequest(), timeout=SECONDS)
                .containers
            )
        assert [item.state for item in listed] == [cri.CONTAINER_RUNNING] * len(live.handlers)


def failing(change: Callable[[Path], None]) -> Callable[[str], None]:
    """Return a case in which the start fails because of the binary that `change` writes to a path."""

    def attempt(binary: str) -> None:  # noqa: ARG001 - all cases have the same arguments
        path = Path("/tmp/bin/containerd")
        path.parent.mkdir()
        change(path)
        try:
            start(str(path))
        except RuntimeStartFailed as error:
            print(error, file=sys.stderr)
        else:
            raise AssertionError("it started")
        finally:
            path.unlink()
            path.parent.rmdir()

    return attempt


def script(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo containerd x 1.7.0 && exit\n{text}\n')
        path.chmod(0o755)

    return write


def garbage(path: Path) -> None:
    path.write_bytes(b"\x7fELF garbage")
    path.chmod(0o755)


OWNERS = ("owner", "owner with cgroups of pods", "controller")
CASES: dict[str, Callable[[str], None]] = {
    OWNERS[0]: own,
    OWNERS[1]: own_with_pod_cgroups,
    OWNERS[2]: control,
    "stop": by_stop,
    "restart": by_restart,
    "wrappers that wait": with_wrappers_that_wait,
    "exit": by_exit,
    "SIGTERM": by_signal(signal.SIGTERM),
    "SIGINT": by_signal(signal.SIGINT),
    "SIGHUP": by_signal(signal.SIGHUP),
    "SIGKILL and watcher": by_sigkill_and_watcher,
    "SIGKILL and reaper": by_sigkill_and_reaper,
    "next to a live one": next_to_a_live_one,
    "daemon ends at once": failing(script("echo it cannot be >&2; exit 3")),
    "configuration is broken": failing(
        script('for last; do :; done; echo "[" >> "$last"; exec /usr/bin/containerd "$@"')
    ),
    "not a program": failing(garbage),
}


def processes(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def isolate() -> None:
    """Hide the files of the machine from this process, which is the first one of its namespaces.

    Inherited mounts are removed first: they would disappear if their owner removes the mount points.
    """
    if os.getpid() != 1:
        raise SystemExit("run this with unshare --mount --pid --net --ipc --fork --mount-proc")
    unmount_below([Path("/run"), Path("/tmp"), Path("/var/lib")])
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=True)
    for path in (Path("/run"), Path("/tmp"), Path("/var/lib")):
        hide(path, visible_paths={Path(__file__).parents[2], Path(sys.prefix), Path(sys.base_prefix)})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def hide(path: Path, *, visible_paths: set[Path]) -> None:
    """Hide the content of a directory, except for paths that are needed, such as a checkout in /tmp."""
    visible = {
        Path("/mnt") / str(number): needed
        for number, needed in enumerate(sorted(visible_paths))
        if path in needed.parents
    }
    for aside, needed in visible.items():
        aside.mkdir()
        subprocess.run(["mount", "--bind", needed, aside], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", path], check=True)
    for aside, needed in visible.items():
        needed.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", aside, needed], check=True)
        subprocess.run(["umount", aside], check=True)
        aside.rmdir()


def can_be_ours(change: MachineChange) -> bool:
    """Return whether a change can be the case's: not a cgroup of another program, nor a file of the case."""
    if change.kind == "cgroup":
        shared = change.thing.endswith("/k8s.io") and not any(
            path.is_dir() for path in Path(change.thing).glob("*")
        )
        ids = IDS.read_text(encoding="ascii").split() if IDS.exists() else []
        return shared or any(word in change.thing for word in (RUN, *ids))
    return not change.thing.startswith(("/tmp/logs", str(IDS)))


def main(case: str, binary: str) -> None:
    if case in OWNERS:
        CASES[case](binary)
        return
    isolate()
    before = MachineSnapshot.take()
    CASES[case](binary)
    # the kernel removes network namespaces and cgroups asynchronously
    end = time.monotonic() + SETTLE_SECONDS
    while (
        changes := [
            str(change) for change in difference(before, MachineSnapshot.take()) if can_be_ours(change)
        ]
    ) and time.monotonic() < end:
        time.sleep(0.05)
    print(json.dumps(changes))


if __name__ == "__main__":
    main(*sys.argv[1:])
