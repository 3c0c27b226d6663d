"""The facts of the machine that make one run's results comparable with another's, or explain why they are
not.

Nothing here names the machine: no host name, no addresses.
"""

import contextlib
import os
import platform
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from critests.node.cgroups.cgroup_mounts import cgroup_facts
from critests.node.host.binaries import MissingProgram, search_path, version_text
from critests.node.host.mount_table import mount_table
from critests.node.host.privileges import process_capabilities
from critests.node.network import cni
from critests.node.network.network_facts import forwarding_dropped_by, mac_address_policy
from critests.node.run_state.locks import boot_id
from critests.runtimes.known_runtimes import programs_with_version

_OTHER_PROGRAMS = ("iptables",)
_CNI_BRIDGE = "cni-bridge"


def fingerprint(used: Sequence[Path] = ()) -> dict[str, object]:
    """Return the machine's facts as values that JSON can hold.

    Args:
        used: programs of the runtime under test, named in place of those of the same name on the PATH.

    Sizes are in bytes. A fact that cannot be read is an empty text, None or an empty list, never missing.
    """
    memory = _fields(Path("/proc/meminfo"))
    return {
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "kernel_build": platform.version(),
        "distribution": distribution(),
        "cpu": {"model": cpu_model(), "count": os.cpu_count(), "usable": len(os.sched_getaffinity(0))},
        "memory_bytes": _kibibytes(memory.get("MemTotal", "")),
        "swap_bytes": _kibibytes(memory.get("SwapTotal", "")),
        "cgroup": asdict(cgroup_facts()),
        "security": {
            "apparmor": apparmor_enabled(),
            "selinux": selinux_mode(),
            "seccomp": seccomp_available(),
            "modules": security_modules(),
        },
        "ipv6": ipv6_enabled(),
        "network": {
            "mac_address_policy": mac_address_policy(),
            "forwarding_dropped_by": forwarding_dropped_by(),
        },
        "virtualisation": virtualisation(),
        "root_filesystem": _root_filesystem(),
        "systemd": booted_by_systemd(),
        "capabilities": sorted(process_capabilities().effective),
        "boot_id": boot_id(),
        "programs": program_versions(used),
        "python": platform.python_version(),
    }


def distribution() -> dict[str, str]:
    """Return the id, version and full name that os-release(5) gives."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return {
        "id": release.get("ID", ""),
        "version": release.get("VERSION_ID", ""),
        "name": release.get("PRETTY_NAME", ""),
    }


def cpu_model() -> str:
    """Return the model name of the first processor, if the architecture has one."""
    fields = _fields(Path("/proc/cpuinfo"))
    named = fields.get("model name", "")
    return named or " ".join(fields[key] for key in ("CPU implementer", "CPU part") if key in fields)


def apparmor_enabled() -> bool:
    """Return whether AppArmor is enabled in the kernel."""
    return text_of(Path("/sys/module/apparmor/parameters/enabled")).startswith("Y")


def selinux_mode() -> str:
    """Return `enforcing`, `permissive`, or an empty text where SELinux is off."""
    return {"1": "enforcing", "0": "permissive"}.get(text_of(Path("/sys/fs/selinux/enforce")), "")


def seccomp_available() -> bool:
    """Return whether the kernel supports seccomp filters."""
    return Path("/proc/sys/kernel/seccomp/actions_avail").exists()


def security_modules() -> list[str]:
    """Return the Linux security modules in force, in the kernel's order; empty where securityfs is not
    mounted.
    """
    return [name for name in text_of(Path("/sys/kernel/security/lsm")).split(",") if name]


def booted_by_systemd() -> bool:
    """Return whether systemd is the first process, as sd_booted(3) does."""
    return Path("/run/systemd/system").is_dir()


def ipv6_enabled() -> bool:
    """Return whether new network namespaces get IPv6."""
    default = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    return default.exists() and text_of(default) == "0"


def virtualisation() -> str:
    """Return what this machine runs in, as far as it shows: container manager, hypervisor, or both; an empty
    text on bare metal.
    """
    container = text_of(Path("/run/systemd/container")) or ("docker" if Path("/.dockerenv").exists() else "")
    hypervisor = text_of(Path("/sys/hypervisor/type"))
    if not hypervisor and " hypervisor" in f" {_fields(Path('/proc/cpuinfo')).get('flags', '')}":
        names = (text_of(Path("/sys/class/dmi/id", name)) for name in ("sys_vendor", "product_name"))
        hypervisor = " ".join(filter(None, names)) or "unknown hypervisor"
    return " on ".join(filter(None, (container, hypervisor)))


def program_versions(used: Sequence[Path] = ()) -> dict[str, str]:
    """Return what the runtimes, their helpers and the CNI bridge plugin say of their versions; those not
    installed are left out.

    Args:
        used: programs of the runtime under test, asked in place of those of the same name on the PATH.
    """
    path = search_path()
    known = (*programs_with_version(), *_OTHER_PROGRAMS)
    found = {name: Path(where) for name in known if (where := shutil.which(name, path=path))}
    with contextlib.suppress(cni.CniPluginsMissing):
        found[_CNI_BRIDGE] = cni.plugin_directory() / "bridge"
    own = {_CNI_BRIDGE if program.name == "bridge" else program.name: program for program in used}
    found |= {name: program for name, program in own.items() if name in {*known, _CNI_BRIDGE}}
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(found, pool.map(_version, found.values()), strict=True))


def _version(binary: Path) -> str:
    try:
        return version_text(binary)
    except MissingProgram as error:
        return f"unknown: {error}"


def _root_filesystem() -> str:
    kinds = [rest.partition(" - ")[2].split()[0] for _, point, rest in mount_table() if point == "/"]
    return kinds[-1] if kinds else ""


def _kibibytes(text: str) -> int | None:
    number = text.split(maxsplit=1)[0] if text else ""
    return int(number) * 1024 if number.isdigit() else None


def _fields(path: Path) -> dict[str, str]:
    """Return the `name: value` lines of a file; of a name that comes more than once, the first."""
    fields: dict[str, str] = {}
    for line in text_of(path).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    return fields


def text_of(path: Path) -> str:
    """Return what a file of the kernel says, stripped; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return ""
