"""What a container gets that requests nothing, and what a runtime offers: facts for a choice between two
runtimes, read once for each side of a comparison.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.target import PLAIN, WAIT_COMMAND, Target
from critests.catalogue.words import Capability
from critests.lifecycle.container import Container
from critests.lifecycle.mount_points import MountPoint
from critests.lifecycle.process import FIRST_PROCESS
from critests.lifecycle.process_evidence import CommandOutput, ProcessEvidence

_SECCOMP: Final = {"0": "none", "1": "strict", "2": "a filter"}
"""Field Seccomp of /proc/PID/status, proc(5)."""
_NAMESPACES: Final = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_SYSCTLS: Final = (
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_forward",
    "kernel.shm_rmid_forced",
)
"""Parameters that a runtime sets, or may set, without a request."""
_LIMITS: Final = ("Max open files", "Max processes", "Max core file size", "Max locked memory")
_OFFERED: Final = tuple(Capability)[: tuple(Capability).index(Capability.SUITE_REGISTRY)]
"""What the runtime offers; the later ones are offered by the machine."""
_WORDS: Final = {True: "yes", False: "no", None: "unknown"}


def container_defaults(target: Target) -> dict[str, str]:
    """Return what a container gets whose security context requests nothing; empty, with a note in the run, if
    it cannot be read.
    """
    try:
        with target.sandbox() as sandbox:
            config = target.requests.container(target.image(PLAIN), command=WAIT_COMMAND)
            # every container has a kind of PID namespace, so that naming it is no request
            own = config.linux.security_context.namespace_options
            config.linux.security_context.CopyFrom(cri.LinuxContainerSecurityContext(namespace_options=own))
            container = Container.create(sandbox, config)
            container.start()
            return dict(_facts(container))
    except (grpc.RpcError, AssertionError) as error:
        words = str(error.details()) if isinstance(error, grpc.RpcError) else str(error)
        target.context.notes.append(f"the defaults of {target.name} were not read: {words[:300]}")
        return {}


def offers(target: Target) -> dict[str, str]:
    """Return what the runtime offers by its own report and by probes: capability to yes, no or unknown; and
    its cgroup driver.
    """
    probed = {fact.name: fact.present for fact in target.capabilities.probe_all(_OFFERED)}
    found = {capability.value: _WORDS[probed.get(capability.value)] for capability in _OFFERED}
    with contextlib.suppress(grpc.RpcError):
        config = target.connection.runtime.RuntimeConfig(cri.RuntimeConfigRequest())
        found["cgroup driver"] = cri.CgroupDriver.Name(config.linux.cgroup_driver).lower()
    return found


def _facts(container: Container) -> Iterator[tuple[str, str]]:
    status, mounts = container.process_status(FIRST_PROCESS), container.mounts()
    yield "seccomp", _SECCOMP.get(status.fields.get("Seccomp", ""), "unknown")
    yield "no_new_privs", {"0": "off", "1": "on"}.get(status.fields.get("NoNewPrivs", ""), "unknown")
    effective = status.capabilities.get("effective", set())
    yield "capabilities", _listed(effective)
    for name, capabilities in status.capabilities.items():
        yield f"{name} capabilities", "the same" if capabilities == effective else _listed(capabilities)
    yield "umask", status.fields.get("Umask", "unknown")
    yield "masked paths", _listed(place for place, mount in mounts.items() if _is_masked(mount))
    yield (
        "read-only paths",
        _listed(place for place, mount in mounts.items() if mount.read_only and not _is_masked(mount)),
    )
    yield "other mounts", _listed(place for place, mount in mounts.items() if not _is_below_kernel(mount))
    yield "devices", _listed(container.output("ls", "/dev").split())
    for name in _SYSCTLS:
        yield name, " ".join(_read(container, f"/proc/sys/{name.replace('.', '/')}").split()) or "unknown"
    shown = ProcessEvidence({"limits": CommandOutput(container.output("cat", "/proc/1/limits"), 0)})
    for name in _LIMITS:
        yield name.lower(), " to ".join(shown.limits.get(name, ())) or "unknown"
    yield "namespaces of the node", _listed(name for name in _NAMESPACES if _is_shared(container, name))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _is_below_kernel(mount: MountPoint) -> bool:
    """Whether a mount lies in /proc or /sys."""
    return mount.place.startswith(("/proc/", "/sys/"))


def _is_masked(mount: MountPoint) -> bool:
    """Whether a mount hides a path of /proc or /sys: an empty tmpfs on a directory, /dev/null on a file."""
    return _is_below_kernel(mount) and (mount.kind == "tmpfs" or mount.root == "/null")


def _read(container: Container, path: str) -> str:
    return container.exec("cat", path).stdout.decode(errors="replace")


def _is_shared(container: Container, name: str) -> bool:
    """Whether the container is in this machine's namespace of a kind."""
    inside = container.exec("readlink", f"/proc/1/ns/{name}").stdout.decode(errors="replace").strip()
    return bool(inside) and inside == str(Path(f"/proc/self/ns/{name}").readlink())
