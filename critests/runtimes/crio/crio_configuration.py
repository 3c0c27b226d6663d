"""A private CRI-O: crio.conf, registries, storage and signature policy."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from critests.loopback import loopback
from critests.runtimes import nri_listener, shims
from critests.runtimes.crio import crio_facts as facts
from critests.runtimes.crio.crio_node_settings import NODE_SETTINGS
from critests.runtimes.daemon_settings import (
    NRI_REGISTRATION_SECONDS,
    NRI_REQUEST_SECONDS,
    NRI_SOCKET,
    DaemonSettings,
)
from critests.runtimes.private_kind import ThrowawayKind
from critests.runtimes.runtime_paths import RuntimePaths
from critests.runtimes.runtime_settings import (
    IMAGE_FOLDER,
    ConfigurationValue,
    CopiedLayers,
    Credentials,
    DefaultSysctl,
    DeviceOwnership,
    DualStack,
    ImageFolder,
    InfraContainers,
    Ipv6Only,
    LogCap,
    MemoryProfiles,
    MetricsOfCpu,
    Mirror,
    NoEvents,
    NoHostDevices,
    NriListener,
    NriPlugins,
    PinnedImages,
    ProfilesFromRegistries,
    PullProgress,
    RuntimeSetting,
    SettingNotSupported,
    ShortNames,
    SignaturePolicy,
    SplitStorage,
    StreamingTls,
)

_Value = bool | int | str | Sequence[str]

_OVERLAY, _COPIES = "overlay", "vfs"
"""The two storage drivers, after which directories are named."""

WATCHES_NETWORK: Final = (1, 36, 3)
"""First version that can detect the loss of a ready network, with the option that is set here."""

NRI_SINCE: Final = (1, 26, 0)
"""First version to which NRI plugins can connect."""

PROFILE_ANNOTATION: Final = "seccomp-profile.kubernetes.cri-o.io"
"""With `/POD` appended, it names the profile of all containers of the pod."""
PROFILE_ANNOTATION_SINCE: Final = (1, 30, 0)

SPLIT_STORAGE_SINCE: Final = (1, 30, 0)
"""First version that can store images apart from containers and reports that in ImageFsInfo."""

_HOME: Final = "home"
"""Directory below the state that stands in for the user's home directory."""

POD_METRICS: Final = ("cpu", "disk", "hugetlb", "memory", "network", "oom", "process", "spec")
"""Kinds of pod metrics of every version; CRI-O collects only the configured ones."""
NEWER_POD_METRICS: Final = ("diskIO", "pressure")
NEWER_POD_METRICS_SINCE: Final = (1, 36, 0)


def socket_of(paths: RuntimePaths) -> Path:
    """Return the path of the socket that CRI-O will listen on."""
    return paths.state / "crio.sock"


def attach_socket_of(paths: RuntimePaths, container: str) -> Path:
    """Return the path of the attach socket of a container."""
    return paths.sockets / container / "attach"


def write_configuration(paths: RuntimePaths, settings: DaemonSettings) -> list[str]:
    """Write CRI-O's configuration and the files that it names; return the arguments to start the daemon
    with.
    """
    for name, text in {
        "crio.conf": configuration(paths, settings),
        **signature_policies(settings.extra_settings),
        "registries.conf": registries(
            settings.registry_addresses,
            [setting.path for setting in settings.extra_settings if isinstance(setting, Mirror)],
            short_names=ShortNames() in settings.extra_settings,
        ),
        "storage.conf": _table(
            "storage",
            {
                "driver": _storage_driver(settings),
                "runroot": str(paths.state / "runroot"),
                "graphroot": str(paths.root / "root"),
            },
        ),
    }.items():
        (paths.state / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.state / name).write_text(text, encoding="utf-8")
    if NriListener() in settings.extra_settings:
        nri_listener.install(paths)
    (paths.state / "crio.conf.d").mkdir(exist_ok=True)
    (paths.state / "registries.conf.d").mkdir(exist_ok=True)
    profiles = ["--enable-profile-unix-socket"] if MemoryProfiles() in settings.extra_settings else []
    folder = str(paths.state / "crio.conf.d")
    return ["--config", str(paths.state / "crio.conf"), "--config-dir", folder, *profiles]


def environment(paths: RuntimePaths) -> dict[str, str]:
    """Return the variables that keep CRI-O from reading the registry and storage files of the machine and of
    the user.

    The first two belong to CRI-O's hidden options --registries-conf and --registries-conf-dir; other programs
    with the same libraries read variables that begin with CONTAINERS, as the third does.
    """
    return {
        "CONTAINER_REGISTRIES_CONF": str(paths.state / "registries.conf"),
        "CONTAINER_REGISTRIES_CONF_DIR": str(paths.state / "registries.conf.d"),
        "CONTAINERS_STORAGE_CONF": str(paths.state / "storage.conf"),
        "HOME": str(paths.state / _HOME),
    }


def signature_policies(extra_settings: Sequence[RuntimeSetting]) -> dict[str, str]:
    """Return the texts of the signature policies by file name, containers-policy.json(5): one for all pods,
    and one for each namespace that has its own; and of the file by which signatures are looked for.
    """
    policies = [setting for setting in extra_settings if isinstance(setting, SignaturePolicy)]
    required: dict[str, dict[str, list[object]]] = {"": {}}
    for policy in policies:
        required.setdefault(policy.namespace, {})[policy.images] = [_required_signature(policy)]
    files = {
        f"policies/{namespace}.json" if namespace else "policy.json": json.dumps(
            {"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker": images}}
        )
        + "\n"
        for namespace, images in required.items()
    }
    if any(policy.key for policy in policies):
        # signatures are fetched from the registry only if this file says so, containers-registries.d(5)
        files[f"{_HOME}/.config/containers/registries.d/critests.yaml"] = (
            "default-docker:\n  use-sigstore-attachments: true\n"
        )
    return files


def _required_signature(policy: SignaturePolicy) -> object:
    if policy.key is None:
        return {"type": "reject"}
    return {
        "type": "sigstoreSigned",
        "keyPath": str(policy.key),
        "signedIdentity": {"type": "matchRepository"},  # signatures of cosign name no tag
    }


def registries(addresses: Sequence[str], mirrors: Sequence[str] = (), *, short_names: bool = False) -> str:
    """Return the text of a registries.conf (version 2) that allows plain HTTP for the addresses.

    A CRI-O that the user runs needs the same text in /etc/containers/registries.conf.d.

    Args:
        addresses: `host:port` of each.
        mirrors: paths below each that are asked first.
        short_names: whether names without a registry are looked for at the addresses.
    """
    blocks = []
    for address in addresses:
        blocks.append(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        blocks += [
            f'[[registry.mirror]]\nlocation = "{address}/{path}"\ninsecure = true\n' for path in mirrors
        ]
    searched = json.dumps(list(addresses) if short_names else [])
    return "\n".join([f"unqualified-search-registries = {searched}\n", *blocks])


def configuration(paths: RuntimePaths, settings: DaemonSettings) -> str:
    """Return the text of crio.conf, with every directory that two instances would share moved into the
    runtime's own directories.
    """
    state = paths.state
    default = next(iter(settings.handlers))
    tables: dict[str, dict[str, _Value]] = {
        "crio": {
            "root": str(paths.root / "root"),
            "runroot": str(state / "runroot"),
            "storage_driver": _storage_driver(settings),
            "log_dir": str(state / "pod-logs"),
            "version_file": str(state / "version"),
            "version_file_persist": str(paths.root / "version"),
            "clean_shutdown_file": str(paths.root / "clean.shutdown"),
        },
        "crio.api": {
            "listen": str(socket_of(paths)),
            "stream_address": loopback(),
            "stream_port": "0",
            "stream_enable_tls": False,
        },
        "crio.runtime": {
            "default_runtime": default,
            "cgroup_manager": "systemd" if settings.systemd_cgroup else "cgroupfs",
            "conmon_cgroup": "system.slice" if settings.systemd_cgroup else "pod",
            "namespaces_dir": str(state / "namespaces"),
            "pinns_path": str(settings.helpers["pinns"]),
            "container_exits_dir": str(state / "exits"),
            "container_attach_socket_dir": str(paths.sockets),
            "hooks_dir": [],
            # otherwise CRI-O restores the machine's irqbalance settings when it starts
            "irqbalance_config_restore_file": "disable",
            "cdi_spec_dirs": [str(paths.cdi)],
            "enable_pod_events": True,
            "selinux": settings.selinux,
            **({} if settings.apparmor else {"apparmor_profile": "unconfined"}),
        },
        "crio.image": {
            "pause_image": settings.pause_image,
            "pause_command": "",
            "signature_policy": str(state / "policy.json"),
            "signature_policy_dir": str(state / "policies"),
            "namespaced_auth_dir": str(state / "auth"),
            "big_files_temporary_dir": str(paths.root / "tmp"),
        },
        "crio.network": {
            "network_dir": f"{state / 'cni'}/",
            "plugin_dirs": [f"{settings.cni_plugins}/"],
            **({"cni_status_grace_period": "1s"} if settings.version >= WATCHES_NETWORK else {}),
        },
        "crio.nri": {"enable_nri": False},
        "crio.metrics": {"enable_metrics": False},
        "crio.stats": {
            "included_pod_metrics": (
                POD_METRICS + (NEWER_POD_METRICS if settings.version >= NEWER_POD_METRICS_SINCE else ())
            )
        },
    }
    for name, binary in settings.handlers.items():
        handler = _handler(name)
        tables[handler] = {
            "runtime_path": str(binary),
            "runtime_type": "oci",
            "runtime_root": str(state / "oci" / name),
        }
        if shims.runtime_type(binary):
            tables[handler]["runtime_type"] = "vm"
            continue
        tables[handler] |= {
            "monitor_path": str(settings.helpers["conmon"]),
            "monitor_cgroup": "system.slice" if settings.systemd_cgroup else "pod",
        }
    _apply_extra_settings(tables, paths, settings)
    return "\n".join(_table(name, values) for name, values in tables.items())


def _apply_extra_settings(
    tables: dict[str, dict[str, _Value]], paths: RuntimePaths, settings: DaemonSettings
) -> None:
    """Add the extra settings."""
    for setting in settings.extra_settings:
        of_each = _of_handlers(setting, settings)
        if of_each is not None:
            for name in settings.handlers:
                tables[_handler(name)] |= of_each
            continue
        for find in (_of_images, _of_pods, _of_runtime):
            addition = find(setting, paths, settings)
            if addition is not None:
                table, values = addition
                tables[table] |= values
                break
        else:
            raise SettingNotSupported(setting)


_TableValues = tuple[str, dict[str, _Value]] | None
"""A table of the configuration and the values to add."""


def _handler(name: str) -> str:
    return f"crio.runtime.runtimes.{json.dumps(name)}"


def _of_handlers(setting: RuntimeSetting, settings: DaemonSettings) -> dict[str, _Value] | None:
    """Return the values that a setting adds to each handler."""
    match setting:
        case NoHostDevices():
            return {"privileged_without_host_devices": True}
        case MemoryProfiles():
            return {}  # an argument of the daemon
        case ProfilesFromRegistries() if settings.version >= PROFILE_ANNOTATION_SINCE:
            return {"allowed_annotations": [PROFILE_ANNOTATION]}
    return None


def _of_images(setting: RuntimeSetting, paths: RuntimePaths, settings: DaemonSettings) -> _TableValues:
    match setting:
        case SplitStorage() | ImageFolder() if settings.version >= SPLIT_STORAGE_SINCE:
            return "crio", {"imagestore": str(paths.root / IMAGE_FOLDER)}
        case PinnedImages(prefix):
            return "crio.image", {"pinned_images": [f"{prefix}*"]}
        case PullProgress(seconds):
            return "crio.image", {"pull_progress_timeout": f"{seconds}s"}
        case Credentials(file):
            return "crio.image", {"global_auth_file": str(file)}
        case Mirror() | ShortNames() | CopiedLayers() | SignaturePolicy():
            return "crio.image", {}  # in registries.conf, `settings.overlays`, and files of policies
    return None


def _of_pods(setting: RuntimeSetting, _: RuntimePaths, settings: DaemonSettings) -> _TableValues:
    match setting:
        case DeviceOwnership():
            return "crio.runtime", {"device_ownership_from_security_context": True}
        case InfraContainers():
            if not settings.may_lower_oom_score:  # infra containers have a score of -998
                raise SettingNotSupported(setting, "infra containers need CAP_SYS_RESOURCE")
            return "crio.runtime", {"drop_infra_ctr": False}
        case DefaultSysctl(name, value):
            return "crio.runtime", {"default_sysctls": [f"{name}={value}"]}
        case DualStack() | Ipv6Only():
            return "crio.network", {}  # in the CNI configuration
        case MetricsOfCpu():
            return "crio.stats", {"included_pod_metrics": ["cpu"]}
    return None


def _of_runtime(setting: RuntimeSetting, paths: RuntimePaths, settings: DaemonSettings) -> _TableValues:
    match setting:
        case NoEvents():
            return "crio.runtime", {"enable_pod_events": False}
        case LogCap(size):
            return "crio.runtime", {"log_size_max": size}
        case StreamingTls(certificate, key):
            return "crio.api", {
                "stream_enable_tls": True,
                "stream_tls_cert": str(certificate),
                "stream_tls_key": str(key),
            }
        case NriPlugins() | NriListener() if settings.version >= NRI_SINCE:
            return "crio.nri", _nri(paths)
        case ConfigurationValue((table,), key, value, since) if settings.version >= since:
            return table, {key: value}
    return None


def importing(_paths: RuntimePaths, archive: Path, name: str) -> list[str]:
    """Return the command that copies an image into CRI-O's storage; the environment names the storage."""
    return ["skopeo", "--insecure-policy", "copy", f"oci-archive:{archive}", f"containers-storage:{name}"]


def container_folders(paths: RuntimePaths) -> tuple[Path, ...]:
    """Return the directories whose entries are named after sandboxes and containers."""
    return tuple(
        place / f"{driver}-containers"
        for place in (paths.state / "runroot", paths.root / "root")
        for driver in (_OVERLAY, _COPIES)
    )


def _nri(paths: RuntimePaths) -> dict[str, _Value]:
    return {
        "enable_nri": True,
        "nri_disable_connections": False,
        "nri_listen": str(paths.nri / NRI_SOCKET),
        "nri_plugin_dir": str(paths.nri / nri_listener.PLUGINS),
        "nri_plugin_config_dir": str(paths.nri / "conf.d"),
        "nri_plugin_registration_timeout": f"{NRI_REGISTRATION_SECONDS}s",
        "nri_plugin_request_timeout": f"{NRI_REQUEST_SECONDS}s",
    }


def _storage_driver(settings: DaemonSettings) -> str:
    return _OVERLAY if settings.overlays else _COPIES


def _table(name: str, values: Mapping[str, _Value]) -> str:
    return "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""])


CRIO: Final = ThrowawayKind(
    facts=facts.CRIO,
    socket=socket_of,
    sockets=lambda paths: (socket_of(paths), attach_socket_of(paths, "0" * 64)),
    write_configuration=write_configuration,
    environment=environment,
    container_folders=container_folders,
    standard_directories=(
        "/run/containers",
        "/var/lib/containers",
    ),  # Debian's policy has no label for /run/crio
    importing=importing,
    profiles=socket_of,
    node_settings=NODE_SETTINGS,
    registries_folder=lambda paths: paths.state,
    profile_annotation=PROFILE_ANNOTATION,
)
