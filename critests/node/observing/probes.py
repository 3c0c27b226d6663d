"""All probes: of the runtime, of the machine, and with a container."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.connection import Connection
from critests.client.streaming.streaming_errors import StreamError, UpgradeRefused
from critests.lifecycle.container import Container
from critests.lifecycle.process_cgroups import MOUNT
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.sandbox import Sandbox
from critests.lifecycle.verbose_info import objects_of
from critests.node.cgroups.cgroup_mounts import cgroup_facts
from critests.node.host.addresses import free_port, node_address
from critests.node.host.privileges import in_user_namespace_of, process_capabilities, user_namespace
from critests.node.observing.capabilities import NO_ANSWER, Probe, ProbeResult, RuntimeProbes
from critests.node.observing.cdi import VENDOR, CdiFolder, variables
from critests.node.observing.checkpoint_probes import CheckpointProbes
from critests.node.observing.machine_facts import (
    apparmor_enabled,
    ipv6_enabled,
    seccomp_available,
    selinux_mode,
    text_of,
)

DaemonProcess = Callable[[], int | None]

PORT_SECONDS = 3.0
"""How long a host port may take to accept a connection after the start of its container."""
UPGRADE_SECONDS = 10.0
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LABEL = Path("/proc/1/attr/current")
"""Of a container's first process, seen from inside."""


@dataclass(frozen=True)
class MachineProbes:
    """Probes of this machine and of what the user allows.

    Attributes:
        daemon: returns the runtime's process, where it is visible; another one after a restart.
        mutating: whether the run may create things.
        disruptive: whether it may hurt the daemon.
    """

    daemon: DaemonProcess
    mutating: bool
    disruptive: bool

    def all(self) -> dict[Capability, Probe]:
        """Return the probes by capability."""
        return {
            Capability.ROOT: lambda: self._held(None, {"SYS_PTRACE", "SYS_ADMIN"}),
            Capability.CGROUP_V2: self._cgroup_v2,
            Capability.SWAP_ACCOUNTING: self._swap_accounting,
            Capability.HUGE_PAGES: self._huge_pages,
            Capability.APPARMOR: lambda: ProbeResult(
                apparmor_enabled(),
                f"enabled: {apparmor_enabled()}",
                "/sys/module/apparmor",
            ),
            Capability.SECCOMP: lambda: ProbeResult(
                seccomp_available(),
                f"in the kernel: {seccomp_available()}",
                "/proc/self/status",
            ),
            Capability.IPV6: lambda: ProbeResult(
                ipv6_enabled(), f"enabled: {ipv6_enabled()}", "/proc/sys/net/ipv6"
            ),
            Capability.DAEMON_SYS_RESOURCE: self._daemon_sys_resource,
            Capability.MUTATING: lambda: ProbeResult(
                self.mutating,
                "allowed" if self.mutating else "the run is --read-only",
                "options",
            ),
            Capability.DISRUPTIVE: lambda: ProbeResult(
                self.disruptive,
                "allowed" if self.disruptive else "needs --disruptive or --node",
                "options",
            ),
        }

    def _cgroup_v2(self) -> ProbeResult:
        facts = cgroup_facts()
        return ProbeResult(
            facts.version == 2,
            f"version {facts.version}, {', '.join(facts.controllers)}",
            "mount table",
        )

    def _swap_accounting(self) -> ProbeResult:
        found = [*MOUNT.glob("memory/memory.memsw.limit_in_bytes"), *MOUNT.glob("*/memory.swap.max")]
        evidence = f"there is {found[0]}" if found else "no cgroup has a file that limits swap"
        return ProbeResult(bool(found), evidence, str(MOUNT))

    def _huge_pages(self) -> ProbeResult:
        controllers = cgroup_facts().controllers
        evidence = f"cgroup controllers {', '.join(controllers) or 'unknown'}"
        return ProbeResult("hugetlb" in controllers, evidence, "mount table")

    def _daemon_sys_resource(self) -> ProbeResult:
        if (daemon := self.daemon()) is None:
            return ProbeResult(None, "the daemon's process cannot be seen", "socket peer")
        return self._held(daemon, {"SYS_RESOURCE"})

    def _held(self, pid: int | None, wanted: set[str]) -> ProbeResult:
        whose = f"/proc/{pid or 'self'}/status"
        try:
            held = {name.removeprefix("CAP_") for name in process_capabilities(pid).permitted}
        except (ProcessLookupError, PermissionError) as error:
            return ProbeResult(None, f"it cannot be looked at: {error}", whose)
        missing = sorted(wanted - held)
        return ProbeResult(
            not missing,
            f"lacks {', '.join(missing)}" if missing else f"has {', '.join(sorted(wanted))}",
            whose,
        )


@dataclass
class ContainerProbes:
    """Probes that look at one container made for them; it is removed as soon as it was looked at.

    Attributes:
        connection: to the runtime.
        handler: the runtime handler under test.
        requests: builds the probe's pod.
        image: returns an image that the runtime holds, pulling it if need be.
        daemon: returns the daemon's process, None where it cannot be seen; another one after a restart.
        cdi_folder: where only this runtime looks for CDI specifications; None where none is known.
    """

    connection: Connection
    handler: str
    requests: RequestBuilder
    image: Callable[[], ImageName]
    daemon: DaemonProcess = lambda: None
    cdi_folder: Path | None = None

    def all(self) -> dict[Capability, Probe]:
        """Return the probes by capability."""
        return {
            capability: lambda capability=capability: self._observed[capability]
            for capability in (
                Capability.SUITE_REGISTRY,
                Capability.IMAGE_ID,
                Capability.STOP_SIGNAL,
                Capability.SAME_HOST,
                Capability.SHARED_KERNEL,
                Capability.SANDBOX_PROCESS,
                Capability.DUAL_STACK,
                Capability.EXEC_WEBSOCKET,
            )
        } | {
            Capability.HOST_PORTS: self.host_ports,
            Capability.SELINUX: self.selinux,
            Capability.SHARED_PROCESSES: self.shared_processes,
            Capability.IMAGE_VOLUMES: lambda: self.image_volume("", "test -e /probed/bin/sh"),
            Capability.IMAGE_SUB_PATHS: lambda: self.image_volume(
                "bin", "test -e /probed/sh && test ! -e /probed/bin"
            ),
            Capability.CDI: self.devices_by_name,
        }

    @cached_property
    def _observed(self) -> dict[Capability, ProbeResult]:
        runtime = self.connection.runtime
        sandbox = Sandbox.run(self.connection, self.requests.sandbox("probe"), self.handler)
        try:
            process = "trap 'exit 0' TERM; while :; do sleep 60 & wait $!; done"
            image = self.image()
            container = Container.create(
                sandbox, self.requests.container(image, command=["/bin/sh", "-c", process])
            )
            container.start()
            status = container.status()
            pod = runtime.PodSandboxStatus(
                cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id, verbose=True)
            )
            return {
                Capability.SUITE_REGISTRY: ProbeResult(True, f"{image.written} was pulled", "PullImage"),
                Capability.IMAGE_ID: ProbeResult(
                    bool(status.image_id),
                    f"image_id is {status.image_id!r}",
                    "ContainerStatus",
                ),
                Capability.STOP_SIGNAL: ProbeResult(
                    status.stop_signal != cri.SIGNAL_RUNTIME_DEFAULT,
                    cri.Signal.Name(status.stop_signal),
                    "ContainerStatus",
                ),
                **self.machine_of(container),
                Capability.SELINUX: self.labels_of(container),
                Capability.SANDBOX_PROCESS: self._sandbox_process(pod),
                Capability.DUAL_STACK: ProbeResult(
                    bool(pod.status.network.additional_ips),
                    ", ".join(
                        [pod.status.network.ip, *(more.ip for more in pod.status.network.additional_ips)]
                    ),
                    "PodSandboxStatus",
                ),
                Capability.EXEC_WEBSOCKET: self.exec_websocket(container),
            }
        finally:
            sandbox.discard()

    def host_ports(self) -> ProbeResult:
        """A port of this machine that is mapped to a listener in a pod takes a connection."""
        address, port = node_address(), free_port()
        mapping = cri.PortMapping(protocol=cri.TCP, container_port=8080, host_port=port)
        sandbox = Sandbox.run(
            self.connection, self.requests.sandbox("probe-ports", port_mappings=[mapping]), self.handler
        )
        try:
            Container.create(
                sandbox, self.requests.container(self.image(), command=["/bin/httpd", "-f", "-p", "8080"])
            ).start()
            reached = _takes_connection(address, port, PORT_SECONDS * self.connection.deadlines.scale)
        finally:
            sandbox.discard()
        how = "is" if reached else "is not"
        return ProbeResult(
            reached,
            f"port {port} of {address} {how} mapped to the pod",
            "a connection to a host port",
        )

    def image_volume(self, sub_path: str, look: str) -> ProbeResult:
        """A container finds what it should of an image that is mounted into it; a runtime that predates the
        field ignores it, or refuses a mount without a host path.

        Args:
            sub_path: of the image, which is the container's own.
            look: succeeds in the container where the right part of it is mounted at /probed.
        """
        image = self.image()
        mount = cri.Mount(
            container_path="/probed", image=image.spec(), image_sub_path=sub_path, readonly=True
        )
        sandbox = Sandbox.run(self.connection, self.requests.sandbox("probe-volumes"), self.handler)
        try:
            container = Container.create(
                sandbox, self.requests.container(image, command=["/bin/sleep", "60"], mounts=[mount])
            )
            container.start()
            found = container.exec("/bin/sh", "-c", look).exit_code == 0
        except grpc.RpcError as error:
            if error.code() in NO_ANSWER:
                raise
            return ProbeResult(False, f"refused: {(error.details() or '')[:200]}", "Mount.image")
        finally:
            sandbox.discard()
        seen = "is found" if found else "is not found"
        return ProbeResult(found, f"what is mounted of the image {seen}", "Mount.image")

    def devices_by_name(self) -> ProbeResult:
        """A CDI device that nobody has described is refused, or one that we describe reaches the
        container.
        """
        sandbox = Sandbox.run(self.connection, self.requests.sandbox("probe-cdi"), self.handler)
        specs = CdiFolder(self.cdi_folder) if self.cdi_folder is not None else None
        name = f"{VENDOR}/probe=nobody"
        if specs is not None:
            name = f"{specs.write({'probe': variables('CDI_PROBE=here')})}=probe"
        try:
            reached = self._cdi_variable(sandbox, name) if specs is not None else False
            refused = reached or self._refuses(sandbox, f"{VENDOR}/probe=nobody")
        finally:
            if specs is not None:
                specs.clear()
            sandbox.discard()
        evidence = (
            "a device of our own reaches the container"
            if reached
            else "a device that nobody has described is refused"
            if refused
            else "a device that nobody has described is accepted, and no device has an effect"
        )
        return ProbeResult(reached or refused, evidence, "CreateContainer")

    def _cdi_variable(self, sandbox: Sandbox, name: str) -> bool:
        config = self.requests.container(self.image(), command=["/bin/sleep", "60"])
        config.CDI_devices.append(cri.CDIDevice(name=name))
        try:
            container = Container.create(sandbox, config)
        except grpc.RpcError as error:
            if error.code() in NO_ANSWER:
                raise
            return False
        container.start()
        return container.exec("/bin/sh", "-c", "echo $CDI_PROBE").stdout.strip() == b"here"

    def _refuses(self, sandbox: Sandbox, name: str) -> bool:
        config = self.requests.container(self.image(), command=["/bin/sleep", "60"])
        config.CDI_devices.append(cri.CDIDevice(name=name))
        try:
            Container.create(sandbox, config)
        except grpc.RpcError as error:
            if error.code() in NO_ANSWER:
                raise
            return True
        return False

    def shared_processes(self) -> ProbeResult:
        """A pod with one PID namespace starts, unless this machine keeps the daemon from lowering its score.

        Where nothing keeps the daemon from that, or where it starts no other pod either, the tests judge what
        comes of it.
        """
        try:
            withheld = _lacks_sys_resource(self.daemon())
        except ProcessLookupError as error:
            return ProbeResult(None, f"the daemon has ended: {error}", "/proc")
        if not withheld:
            return ProbeResult(True, "nothing is seen to keep it from that", "/proc")
        shared = cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD)
        config = self.requests.sandbox("probe-processes", namespaces=shared)
        try:
            Sandbox.run(self.connection, config, self.handler).discard()
        except grpc.RpcError as error:
            if error.code() in NO_ANSWER:
                raise
            if not self._plain_pod_starts():
                return ProbeResult(
                    True,
                    "pods of other kinds do not start either",
                    "RunPodSandbox",
                )
            return ProbeResult(
                False,
                f"the daemon lacks CAP_SYS_RESOURCE here, and RunPodSandbox says {error.details()}",
                "RunPodSandbox",
            )
        return ProbeResult(True, "a pod with one PID namespace starts", "RunPodSandbox")

    def _plain_pod_starts(self) -> bool:
        try:
            Sandbox.run(self.connection, self.requests.sandbox("probe-plain"), self.handler).discard()
        except grpc.RpcError:
            return False
        return True

    def machine_of(self, container: Container) -> dict[Capability, ProbeResult]:
        """Compare the kernel that a container sees with ours: with the same one it is on this machine, with
        another one only if the daemon is a process of ours.
        """
        answer = container.exec("cat", str(BOOT_ID))
        theirs, ours = (
            answer.stdout.decode(errors="replace").strip(),
            BOOT_ID.read_text(encoding="ascii").strip(),
        )
        evidence = (
            "the container's kernel has this machine's boot id"
            if theirs == ours
            else f"boot id {theirs or 'unknown'} is not ours"
        )
        shared = ProbeResult(theirs == ours, evidence, "ExecSync")
        daemon = self.daemon()
        if (users := user_namespace()) and not in_user_namespace_of(daemon):
            here = f"critests is in a user namespace (uid_map {users}), and the daemon is not"
            same = ProbeResult(False, here, "/proc/self/uid_map")
        elif theirs == ours or daemon is None:
            same = ProbeResult(theirs == ours, evidence, "ExecSync")
        else:
            seen = f"the daemon is process {daemon} here"
            same = ProbeResult(True, seen, "socket peer")
        return {Capability.SAME_HOST: same, Capability.SHARED_KERNEL: shared}

    def selinux(self) -> ProbeResult:
        """The kernel has SELinux, and the runtime uses it, which some do only if configured."""
        if not selinux_mode():
            return ProbeResult(False, "not mounted", "/sys/fs/selinux")
        return self._observed[Capability.SELINUX]

    def labels_of(self, container: Container) -> ProbeResult:
        """Compare a container's label with the daemon's, which it has where the runtime gives it none."""
        theirs = container.exec("cat", str(LABEL)).stdout.decode(errors="replace").strip("\0\n")
        ours = text_of(Path(f"/proc/{self.daemon()}/attr/current"))
        evidence = (
            f"a container has the label {theirs!r}, the daemon {ours!r}"
            if ours
            else f"a container's: {theirs!r}"
        )
        return ProbeResult(bool(theirs) and theirs != ours, evidence, "ExecSync")

    def _sandbox_process(self, pod: cri.PodSandboxStatusResponse) -> ProbeResult:
        for value in objects_of(pod.info):
            if isinstance(value.get("pid"), int):
                return ProbeResult(
                    value["pid"] > 0,
                    f"pid {value['pid']}",
                    "PodSandboxStatus.info",
                )
        return ProbeResult(False, "the verbose status names no pid", "PodSandboxStatus.info")

    def exec_websocket(self, container: Container) -> ProbeResult:
        """Open a session over WebSocket; unknown where the server cannot be asked."""
        request = cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True, stderr=True)
        try:
            url = self.connection.runtime.Exec(request).url
        except grpc.RpcError as error:
            return ProbeResult(None, f"Exec failed: {error.details()}", "Exec")
        from critests.client.streaming.command_sessions import open_remote_command  # noqa: PLC0415 - see above
        from critests.client.streaming.open_session import V4  # noqa: PLC0415 - few runs ask, all wait

        works: bool | None
        try:
            with open_remote_command(
                url, stdin=False, stdout=True, stderr=True, tty=False, deadline_seconds=UPGRADE_SECONDS
            ) as session:
                works, evidence = session.subprotocol == V4, f"it chose {session.subprotocol or 'none'}"
        except UpgradeRefused as error:
            works, evidence = False, str(error)
        except StreamError as error:
            works, evidence = None, str(error)
        return ProbeResult(works, f"{V4} was offered: {evidence}", "an Exec URL")


def _lacks_sys_resource(pid: int | None) -> bool:
    """Return whether a daemon is seen to lack it; of one that is not ours to see, nothing is.

    Raises:
        ProcessLookupError: it has ended.
    """
    try:
        return pid is not None and "SYS_RESOURCE" not in process_capabilities(pid).permitted
    except PermissionError:
        return False


def _takes_connection(address: str, port: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection((address, port), timeout=seconds).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def all_probes(
    connection: Connection,
    handler: str,
    *,
    requests: RequestBuilder,
    image: Callable[[], ImageName] | None,
    daemon: DaemonProcess,
    mutating: bool,
    disruptive: bool,
    cdi_folder: Path | None = None,
) -> dict[Capability, Probe]:
    """Return the probes that can be made; without an image, those that need a container are left out."""
    probes = {
        **RuntimeProbes(connection, handler).all(),
        **MachineProbes(daemon, mutating, disruptive).all(),
    }
    if image is not None and mutating:
        probes |= ContainerProbes(connection, handler, requests, image, daemon, cdi_folder).all()
        probes |= CheckpointProbes(connection, handler, requests, image).all()
    return probes
