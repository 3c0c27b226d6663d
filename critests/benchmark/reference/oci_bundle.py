"""The bundle of the OCI reference: as containerd writes it for an unprivileged container of a pod.

It has new PID and mount namespaces (and a cgroup namespace under cgroup v2), joins network, IPC and UTS
namespaces by path, and has the mounts of a pod's container with its four bind mounts, masked and read-only
paths, the fourteen default capabilities, a device policy of "deny", CPU shares, no seccomp profile and no
terminal. The process is the test images' `pause`, which waits and exits on SIGTERM.
"""

import ctypes
import io
import json
import os
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from critests.images.oci_image import LayerEntry, archive
from critests.images.platforms import machine_architecture
from critests.images.programs import program
from critests.images.rootfs import find_busybox, root_entries
from critests.lifecycle.requests import (
    BEST_EFFORT_CPU_SHARES,
    BEST_EFFORT_OOM_SCORE,
    MASKED_PATHS,
    READONLY_PATHS,
)
from critests.node.cgroups.cgroup_mounts import cgroup_facts

PROCESS: Final = "/bin/pause"
JOINED: Final = {"network": ("net", 0x40000000), "ipc": ("ipc", 0x08000000), "uts": ("uts", 0x04000000)}
"""Namespace of the configuration to its file in /proc and its flag of clone(2)."""
_CAPABILITY_NAMES: Final = (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT"
    " KILL AUDIT_WRITE"
)


def _mount(destination: str, kind: str, *options: str) -> dict[str, object]:
    return {"destination": destination, "type": kind, "source": kind, "options": list(options)}


_MOUNTS: Final = (
    _mount("/proc", "proc", "nosuid", "noexec", "nodev"),
    _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
    _mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
    _mount("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
    _mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
    _mount("/sys/fs/cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"),
)


def new_namespaces() -> dict[str, int]:
    """Create namespaces and return their descriptors. The namespaces exist as long as the descriptors are
    open, so a crash leaves nothing behind.

    Raises:
        OSError: unshare(2) failed.
    """
    descriptors: dict[str, int] = {}
    errors: list[int] = []

    def unshare() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(sum(flag for _, flag in JOINED.values())) != 0:
            errors.append(ctypes.get_errno())
            return
        for name, (file, _) in JOINED.items():
            descriptors[name] = os.open(f"/proc/thread-self/ns/{file}", os.O_RDONLY | os.O_CLOEXEC)

    # unshare only in a short-lived thread: the other threads of this process keep their namespaces
    thread = threading.Thread(target=unshare)
    thread.start()
    thread.join()
    if errors:
        raise OSError(errors[0], os.strerror(errors[0]))
    return descriptors


def write_bundle(directory: Path, namespaces: Mapping[str, int], cgroup: str) -> None:
    """Write root file system and configuration.

    Args:
        directory: the bundle; must not exist.
        namespaces: name to descriptor of the namespaces that the container joins, open in this process.
        cgroup: path of the container's cgroup below the root of every hierarchy.
    """
    architecture = machine_architecture()
    entries = [
        *root_entries(find_busybox(architecture)),
        LayerEntry(PROCESS[1:], program("pause", architecture), mode=0o755),
    ]
    with tarfile.open(fileobj=io.BytesIO(archive(entries))) as layer:
        # an attribute, because the parameter exists only since Python 3.11.4 and Debian 12 has 3.11.2
        layer.extraction_filter = getattr(tarfile, "tar_filter", None)
        layer.extractall(directory / "rootfs")  # noqa: S202 - the archive is created in this function
    for name in ("hostname", "hosts", "resolv.conf"):
        (directory / name).write_text(f"# {name} of the reference\n", encoding="utf-8")
    (directory / "shm").mkdir()
    (directory / "config.json").write_text(
        json.dumps(_config(directory, namespaces, cgroup)), encoding="utf-8"
    )


def _config(directory: Path, namespaces: Mapping[str, int], cgroup: str) -> dict[str, object]:
    joined = [
        {"type": name, "path": f"/proc/{os.getpid()}/fd/{number}"} for name, number in namespaces.items()
    ]
    own = ["pid", "mount", *(["cgroup"] if cgroup_facts().version == 2 else [])]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0, "additionalGids": [0]},
            "args": [PROCESS],
            "env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOSTNAME=reference",
            ],
            "cwd": "/",
            "capabilities": {
                kind: [f"CAP_{name}" for name in _CAPABILITY_NAMES.split()]
                for kind in ("bounding", "effective", "permitted")
            },
            "oomScoreAdj": BEST_EFFORT_OOM_SCORE,
        },
        "root": {"path": "rootfs"},
        "mounts": [*_MOUNTS, *_bind_mounts(directory)],
        "linux": {
            "resources": {
                "devices": [{"allow": False, "access": "rwm"}],
                "memory": {},
                "cpu": {"shares": BEST_EFFORT_CPU_SHARES},
            },
            "cgroupsPath": f"/{cgroup}",
            "namespaces": [*({"type": name} for name in own), *joined],
            "maskedPaths": list(MASKED_PATHS),
            "readonlyPaths": list(READONLY_PATHS),
        },
    }


def _bind_mounts(directory: Path) -> list[dict[str, object]]:
    places = {
        "hostname": "/etc/hostname",
        "hosts": "/etc/hosts",
        "resolv.conf": "/etc/resolv.conf",
        "shm": "/dev/shm",  # noqa: S108 - a path in the container
    }
    return [
        {
            "destination": place,
            "type": "bind",
            "source": str(directory / name),
            "options": ["rbind", "rprivate", "rw"],
        }
        for name, place in places.items()
    ]
