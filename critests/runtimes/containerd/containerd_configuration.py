"""A private containerd: version 2 of the configuration's format for 1.6 and 1.7, version 3 from 2.0 on."""

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from critests.loopback import loopback
from critests.runtimes import nri_listener, shims
from critests.runtimes.cni_conflist import conflist
from critests.runtimes.containerd import containerd_facts as facts
from critests.runtimes.containerd.containerd_node_settings import (
    IMAGES,
    NODE_SETTINGS,
    PODS,
    TRANSFER,
    TRANSFER_PULLS_SINCE,
)
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
    CniTemplate,
    ConfigurationValue,
    CopiedLayers,
    DeviceOwnership,
    DiscardLayers,
    DualStack,
    EarlierFormat,
    HandlerSnapshotter,
    ImageFolder,
    Ipv6First,
    Ipv6Only,
    LogLineSize,
    MemoryProfiles,
    Mirror,
    NoHostDevices,
    NriListener,
    NriPlugins,
    PullProgress,
    RuntimeSetting,
    SettingNotSupported,
    ShortNames,
    StreamingTls,
)

_CRI = "io.containerd.grpc.v1.cri"

CDI_SINCE: Final = (1, 7, 0)
"""First version with CDI; 1.7 has it off by default."""

NRI_SINCE: Final = (1, 7, 0)
"""First version to which NRI plugins can connect."""

PULL_PROGRESS_SINCE: Final = (1, 7, 0)
"""First version with a timeout for pulls without progress."""

EARLIER_FORMAT_SINCE: Final = (2, 0, 0)
"""First version that reads version 3 of the format, and version 2 of a node that was upgraded."""

HANDLER_SNAPSHOTTER_SINCE: Final = (1, 7, 0)
"""First version whose handlers may have a snapshotter of their own."""

_OF_SHORT_NAMES = "docker.io"
"""The registry of names without one."""
_COPIES = "native"
"""The snapshotter that copies the layer below."""
_TASKS = "state/io.containerd.runtime.v2.task"

_Value = bool | int | str | Sequence[str]
_Tables = dict[str, dict[str, _Value]]
"""Keys and values of the configuration, by the name of their table."""


def socket_of(paths: RuntimePaths) -> Path:
    """Return the path of the socket that containerd will listen on."""
    return paths.state / "containerd.sock"


def ttrpc_socket_of(paths: RuntimePaths) -> Path:
    """Return the path of the socket that the shims call back on."""
    return paths.state / "containerd.sock.ttrpc"


def debug_socket_of(paths: RuntimePaths) -> Path:
    """Return the path of the socket for profiles, if they are enabled."""
    return paths.state / "debug.sock"


def write_configuration(paths: RuntimePaths, settings: DaemonSettings) -> list[str]:
    """Write containerd's configuration and its registry host files; return the arguments to start the daemon
    with.
    """
    mirrors = [setting.path for setting in settings.extra_settings if isinstance(setting, Mirror)]
    addresses = {address: address for address in settings.registry_addresses}
    if ShortNames() in settings.extra_settings:
        addresses[_OF_SHORT_NAMES] = settings.registry_addresses[0]
    for name, address in addresses.items():
        hosts = _hosts_folder(paths) / name / "hosts.toml"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(_hosts(address, mirrors), encoding="utf-8")
    if CniTemplate() in settings.extra_settings:
        _template_file(paths).write_text(_template(paths), encoding="utf-8")
    if NriListener() in settings.extra_settings:
        nri_listener.install(paths)
    for name, program in settings.handlers.items():
        if text := _shim_configuration(paths, name, program):
            _shim_file(paths, name).parent.mkdir(exist_ok=True)
            _shim_file(paths, name).write_text(text, encoding="utf-8")
    path = paths.state / "containerd.toml"
    path.write_text(configuration(paths, settings), encoding="utf-8")
    return ["--config", str(path)]


def configuration(paths: RuntimePaths, settings: DaemonSettings) -> str:
    """Return the text of the configuration file.

    Streaming listens on loopback on a port that the kernel chooses. NRI is off unless requested; its socket
    is in the runtime's own directory, because the default one is shared by all instances of containerd on the
    machine. Network namespaces are below the state directory for the same reason.
    """
    tables: _Tables = {
        "": {
            "version": _format(settings),
            "root": str(paths.root / "root"),
            "state": str(paths.state / "state"),
            "temp": str(paths.root / "tmp"),
        },
        "grpc": {"address": str(socket_of(paths))},
        "ttrpc": {"address": str(ttrpc_socket_of(paths))},
        "debug": {"level": "info"},
        _plugin("io.containerd.internal.v1.opt"): {"path": str(paths.root / "opt")},
    }
    if settings.version >= NRI_SINCE:
        tables[_plugin("io.containerd.nri.v1.nri")] = {"disable": True}
    tables |= _cri_tables_3(paths, settings) if _format(settings) == 3 else _cri_tables_2(paths, settings)
    _apply_extra_settings(tables, paths, settings)
    return "\n".join(_table(name, values) for name, values in tables.items())


def _apply_extra_settings(tables: _Tables, paths: RuntimePaths, settings: DaemonSettings) -> None:
    """Add the extra settings."""
    for setting in settings.extra_settings:
        if not any(apply(setting, tables, paths, settings) for apply in (_of_images, _of_pods, _of_daemon)):
            raise SettingNotSupported(setting)


def _of_images(
    setting: RuntimeSetting, tables: _Tables, paths: RuntimePaths, settings: DaemonSettings
) -> bool:
    """Add a setting of images; return False for another one."""
    of_images = _plugin(_of_the_cri(settings, IMAGES))
    match setting:
        case PullProgress(seconds) if settings.version >= PULL_PROGRESS_SINCE:
            tables[of_images]["image_pull_progress_timeout"] = f"{seconds}s"
        case ImageFolder():
            snapshotter = f"io.containerd.snapshotter.v1.{_snapshotter(settings)}"
            tables[_plugin(snapshotter)] = {"root_path": str(paths.root / IMAGE_FOLDER)}
        case HandlerSnapshotter() if settings.version >= HANDLER_SNAPSHOTTER_SINCE and settings.overlays:
            for name in settings.handlers:
                tables[_handler(_of_the_cri(settings, PODS), name)]["snapshotter"] = _COPIES
        case DiscardLayers():
            of_layers = of_images if _format(settings) == 3 else _plugin(_CRI, "containerd")
            tables[of_layers]["discard_unpacked_layers"] = True
        case Mirror() | CopiedLayers() | ShortNames():
            pass  # in the hosts.toml of a registry, and in `settings.overlays`
        case _:
            return False
    return True


def _of_pods(setting: RuntimeSetting, tables: _Tables, paths: RuntimePaths, settings: DaemonSettings) -> bool:
    """Add a setting of pods and containers; return False for another one."""
    runtime = _of_the_cri(settings, PODS)
    match setting:
        case DeviceOwnership():
            tables[_plugin(runtime)]["device_ownership_from_security_context"] = True
        case NoHostDevices():
            _set_on_handlers(tables, settings, runtime, "privileged_without_host_devices")
        case LogLineSize(size):
            tables[_plugin(runtime)]["max_container_log_line_size"] = size
        case CniTemplate():
            tables[_plugin(runtime, "cni")]["conf_template"] = str(_template_file(paths))
        case Ipv6First():
            tables[_plugin(runtime, "cni")]["ip_pref"] = "ipv6"
        case DualStack() | Ipv6Only():
            pass  # in the CNI configuration
        case _:
            return False
    return True


def _of_daemon(
    setting: RuntimeSetting, tables: _Tables, paths: RuntimePaths, settings: DaemonSettings
) -> bool:
    """Add a setting of the daemon itself; return False for another one."""
    match setting:
        case StreamingTls(certificate, key):
            tables[_plugin(_CRI)]["enable_tls_streaming"] = True
            tables[_plugin(_CRI, "x509_key_pair_streaming")] = {
                "tls_cert_file": str(certificate),
                "tls_key_file": str(key),
            }
        case NriPlugins() | NriListener() if settings.version >= NRI_SINCE:
            tables[_plugin("io.containerd.nri.v1.nri")] = _nri(paths)
        case ConfigurationValue(table, key, value, since) if settings.version >= since:
            tables.setdefault(_plugin(*table), {})[key] = value
        case MemoryProfiles():
            tables["debug"]["address"] = str(debug_socket_of(paths))
        case EarlierFormat() if settings.version >= EARLIER_FORMAT_SINCE:
            pass  # in `_format`
        case _:
            return False
    return True


def importing(paths: RuntimePaths, archive: Path, _name: str) -> list[str]:
    """Return the command that imports an image into the namespace of the CRI; its name is in the archive."""
    # images are listed before they are unpacked, and without unpacking no snapshotter need be named
    return [
        facts.CTR,
        *("--address", str(socket_of(paths)), "--namespace", "k8s.io"),
        *("images", "import", "--no-unpack", str(archive)),
    ]


def container_folders(paths: RuntimePaths) -> tuple[Path, ...]:
    """Return the directories whose entries are named after sandboxes and containers."""
    return (
        paths.state / _TASKS / "k8s.io",
        paths.root / "root/io.containerd.grpc.v1.cri/sandboxes",
        paths.root / "root/io.containerd.grpc.v1.cri/containers",
    )


def shim_sockets(paths: RuntimePaths) -> list[Path]:
    """Return the sockets of the shims, in a directory that all instances of containerd share."""
    texts = []
    for folder in (paths.state / _TASKS).glob("*/*"):
        for name in ("address", "bootstrap.json"):
            with contextlib.suppress(OSError):
                texts.append((folder / name).read_text(encoding="utf-8"))
    return [Path(found) for text in texts for found in re.findall(r"/run/containerd/s/[0-9a-f]{64}", text)]


def _set_on_handlers(tables: _Tables, settings: DaemonSettings, plugin: str, switch: str) -> None:
    """Turn an option on for each handler."""
    for name in settings.handlers:
        tables[_handler(plugin, name)][switch] = True


def _cri_tables_2(paths: RuntimePaths, settings: DaemonSettings) -> _Tables:
    return {
        _plugin(_CRI): {
            "sandbox_image": settings.pause_image,
            **_streaming(),
            **_runtime(paths, settings),
        },
        _plugin(_CRI, "cni"): {"bin_dir": str(settings.cni_plugins), "conf_dir": str(paths.state / "cni")},
        **_registries_2(paths, settings),
        _plugin(_CRI, "containerd"): {
            "default_runtime_name": next(iter(settings.handlers)),
            "snapshotter": _snapshotter(settings),
        },
        **_handlers(paths, settings, _CRI),
    }


def _registries_2(paths: RuntimePaths, settings: DaemonSettings) -> _Tables:
    # what replaced registry.mirrors excludes it; a node that was upgraded still has it
    if EarlierFormat() not in settings.extra_settings or any(
        isinstance(setting, Mirror | ShortNames) for setting in settings.extra_settings
    ):
        return {_plugin(_CRI, "registry"): {"config_path": str(_hosts_folder(paths))}}
    return {
        _plugin(_CRI, "registry", "mirrors", address): {"endpoint": [f"http://{address}"]}
        for address in settings.registry_addresses
    }


def _cri_tables_3(paths: RuntimePaths, settings: DaemonSettings) -> _Tables:
    cni: dict[str, _Value] = {"conf_dir": str(paths.state / "cni")}
    if settings.version >= (2, 1, 0):
        cni["bin_dirs"] = [str(settings.cni_plugins)]
    else:
        cni["bin_dir"] = str(settings.cni_plugins)
    unpacking: _Tables = {}
    if settings.version >= TRANSFER_PULLS_SINCE and not settings.overlays:
        # an element of an array, whose default has only overlayfs
        unpacking[f"[{_plugin(TRANSFER)}.unpack_config]"] = {
            "platform": "linux",  # with the machine's architecture
            "snapshotter": _snapshotter(settings),
        }
    return {
        _plugin(IMAGES): {"snapshotter": _snapshotter(settings)},
        _plugin(IMAGES, "pinned_images"): {"sandbox": settings.pause_image},
        _plugin(IMAGES, "registry"): {"config_path": str(_hosts_folder(paths))},
        _plugin(TRANSFER): {"config_path": str(_hosts_folder(paths))},
        **unpacking,
        _plugin(PODS): _runtime(paths, settings),
        _plugin(PODS, "cni"): cni,
        _plugin(PODS, "containerd"): {"default_runtime_name": next(iter(settings.handlers))},
        **_handlers(paths, settings, PODS),
        _plugin(_CRI): _streaming(),
    }


def _format(settings: DaemonSettings) -> int:
    """Return the version of the configuration's format."""
    return (
        3
        if settings.version >= EARLIER_FORMAT_SINCE and EarlierFormat() not in settings.extra_settings
        else 2
    )


def _of_the_cri(settings: DaemonSettings, plugin: str) -> str:
    """Return the plugin that has a setting in the configuration's format: version 2 has one for all."""
    return plugin if _format(settings) == 3 else _CRI


def _snapshotter(settings: DaemonSettings) -> str:
    return "overlayfs" if settings.overlays else _COPIES


def _streaming() -> dict[str, _Value]:
    return {
        "disable_tcp_service": True,
        "stream_server_address": loopback(),
        "stream_server_port": "0",
        "enable_tls_streaming": False,
    }


def _nri(paths: RuntimePaths) -> dict[str, _Value]:
    return {
        "disable": False,
        "disable_connections": False,
        "socket_path": str(paths.nri / NRI_SOCKET),
        "plugin_path": str(paths.nri / nri_listener.PLUGINS),
        "plugin_config_path": str(paths.nri / "conf.d"),
        "plugin_registration_timeout": f"{NRI_REGISTRATION_SECONDS}s",
        "plugin_request_timeout": f"{NRI_REQUEST_SECONDS}s",
    }


def _runtime(paths: RuntimePaths, settings: DaemonSettings) -> dict[str, _Value]:
    devices: dict[str, _Value] = {"enable_cdi": True, "cdi_spec_dirs": [str(paths.cdi)]}
    return {
        "disable_apparmor": not settings.apparmor,
        "enable_selinux": settings.selinux,
        "restrict_oom_score_adj": not settings.may_lower_oom_score,
        "netns_mounts_under_state_dir": True,
        # the default is true, which silently drops limits of huge pages
        "disable_hugetlb_controller": False,
        **(devices if settings.version >= CDI_SINCE else {}),
    }


def _handlers(paths: RuntimePaths, settings: DaemonSettings, plugin: str) -> _Tables:
    tables: _Tables = {}
    for name, binary in settings.handlers.items():
        handler, options = _handler(plugin, name), _handler(plugin, name, "options")
        if of_shim := shims.runtime_type(binary):
            tables[handler] = {"runtime_type": of_shim, "runtime_path": str(binary)}
            if _shim_configuration(paths, name, binary):
                tables[options] = {
                    "TypeUrl": f"{of_shim}.options",
                    "ConfigPath": str(_shim_file(paths, name)),
                }
            continue
        tables[handler] = {"runtime_type": "io.containerd.runc.v2"}
        tables[options] = {
            "BinaryName": str(binary),
            "Root": str(paths.state / "oci" / name),
            "SystemdCgroup": settings.systemd_cgroup,
        }
    return tables


def _handler(plugin: str, name: str, *more: str) -> str:
    return _plugin(plugin, "containerd", "runtimes", name, *more)


def _shim_file(paths: RuntimePaths, handler: str) -> Path:
    return paths.state / "shims" / f"{handler}.toml"


def _shim_configuration(paths: RuntimePaths, handler: str, shim: Path) -> str:
    return shims.configuration(shim, paths.state / "oci" / handler)


def _hosts_folder(paths: RuntimePaths) -> Path:
    return paths.state / "certs.d"


def _hosts(address: str, mirrors: Sequence[str]) -> str:
    capabilities = '  capabilities = ["pull", "resolve"]\n'
    before = [
        f'[host."http://{address}/v2/{path}"]\n{capabilities}  override_path = true\n' for path in mirrors
    ]
    return "\n".join(
        [f'server = "http://{address}"\n', *before, f'[host."http://{address}"]\n{capabilities}']
    )


def _template_file(paths: RuntimePaths) -> Path:
    return paths.state / "cni-template"


def _template(paths: RuntimePaths) -> str:
    """Return the CNI configuration as a Go text/template: containerd fills in subnets and routes."""
    network = json.loads(conflist(paths))
    ipam = network["plugins"][0]["ipam"]
    ipam["ranges"], ipam["routes"] = "RANGES", "ROUTES"
    text = json.dumps(network)
    for name, values, one in (
        ("RANGES", ".PodCIDRRanges", '[{"subnet": "{{$one}}"}]'),
        ("ROUTES", ".Routes", '{"dst": "{{$one}}"}'),
    ):
        each = f"{{{{range $number, $one := {values}}}}}{{{{if $number}}}},{{{{end}}}}{one}{{{{end}}}}"
        text = text.replace(f'"{name}"', f"[{each}]")
    return text


def _plugin(*path: str) -> str:
    return ".".join(["plugins", *(json.dumps(part) for part in path)])


def _table(name: str, values: Mapping[str, _Value]) -> str:
    head = [f"[{name}]"] if name else []
    return "\n".join([*head, *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""])


CONTAINERD: Final = ThrowawayKind(
    facts=facts.CONTAINERD,
    oldest=(1, 6),
    socket=socket_of,
    sockets=lambda paths: (socket_of(paths), ttrpc_socket_of(paths)),
    write_configuration=write_configuration,
    container_folders=container_folders,
    standard_directories=("/run/containerd", "/var/lib/containerd"),
    files_elsewhere=shim_sockets,
    importing=importing,
    profiles=debug_socket_of,
    node_settings=NODE_SETTINGS,
    hosts_folder=_hosts_folder,
)
