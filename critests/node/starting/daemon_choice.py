"""The programs of a private runtime, found and checked before anything is created."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.node.cgroups.cgroup_mounts import unified_controllers_with_version_1
from critests.node.host.binaries import (
    MissingProgram,
    find_program,
    search_path,
    version_numbers,
    version_text,
)
from critests.node.host.mount_table import mount_of
from critests.node.host.privileges import children_may
from critests.node.host.program_files import DAEMON
from critests.node.network import cni
from critests.node.observing.machine_facts import apparmor_enabled, selinux_mode
from critests.node.run_state.footprint import MARK, Footprint
from critests.record.identity import OCI_RUNTIME
from critests.runtimes import oci_runtimes, shims
from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.known_runtimes import package_of
from critests.runtimes.private_kind import ThrowawayKind
from critests.runtimes.runtime_facts import RuntimeKind
from critests.runtimes.runtime_settings import CopiedLayers, RuntimeSetting

_INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "USER", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True)
class DaemonCommand:
    """The command of one process, and its socket."""

    program: Path
    arguments: Sequence[str]
    socket: Path


@dataclass(frozen=True)
class DaemonChoice:
    """A daemon to start, and its OCI runtimes and helpers."""

    kind: ThrowawayKind
    binary: Path
    version_line: str
    """Output of the binary with `--version`."""
    version: tuple[int, int, int]
    handlers: Mapping[str, Path]
    """OCI runtime binary by handler name, or its own shim, the default first."""
    cni_plugins: Path
    left_out: Mapping[str, str]
    """Handlers whose OCI runtime is installed but cannot work on this machine, each with the reason."""
    helpers: Mapping[str, Path]
    """Other programs that it starts (containerd: its shim; CRI-O: conmon, pinns)."""
    first_on_path: Path | None = None
    """Directory that precedes all others on the PATH of the daemon."""

    @property
    def monitor(self) -> str:
        """Return which helper monitors containers, such as a shim; empty if none does."""
        monitor = self.kind.facts.monitor
        return next((name for name in self.helpers if monitor and name.startswith(monitor.name)), "")

    @property
    def binaries(self) -> tuple[str, ...]:
        """Return the base names of all programs that the daemon may start."""
        return tuple(
            dict.fromkeys(
                path.name for path in (self.binary, *self.handlers.values(), *self.helpers.values())
            )
        )

    @property
    def program_files(self) -> list[tuple[str, Path]]:
        """Return the files that it consists of, each with its role: the daemon, the OCI runtime or shim of
        each handler, the monitor and other helpers, and the CNI plugins of its configuration.
        """
        of_monitor = "shim" if "shim" in self.monitor else "monitor"
        files = [(DAEMON, self.binary)]
        files += [
            ("shim" if name in self.shims else OCI_RUNTIME, path) for name, path in self.handlers.items()
        ]
        files += [
            (of_monitor if name == self.monitor else "helper", path) for name, path in self.helpers.items()
        ]
        files += [("CNI plugin", self.cni_plugins / name) for name in cni.PLUGINS]
        return list(dict.fromkeys(files))

    @property
    def further_programs(self) -> dict[str, Path]:
        """Return the OCI runtimes of all handlers but the default one, by handler name, also of those that
        were left out, because CRI-O configures some by itself.
        """
        path = search_path(self.binary.parent)
        found = {name: shutil.which(name, path=path) for name in self.left_out}
        return {
            **{name: path for name, path in list(self.handlers.items())[1:] if name not in self.shims},
            **{name: Path(program) for name, program in found.items() if program},
        }

    @property
    def shims(self) -> dict[str, Path]:
        """Return the shims of handlers with their own shim, and thus without an OCI runtime, by handler."""
        return {name: path for name, path in self.handlers.items() if shims.runtime_type(path)}

    @property
    def reference(self) -> Path | None:
        """Return the OCI runtime of the default handler, if the user names no other."""
        found = shutil.which(oci_runtimes.DEFAULT, path=search_path(self.binary.parent))
        return Path(found) if found else None

    def environment(self, footprint: Footprint) -> dict[str, str]:
        """Return the environment of the daemon and its companions: without variables that could change their
        behaviour, and with the mark by which their processes are found.
        """
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in _INHERITED_VARIABLES or name.startswith("GO")  # settings of the Go runtime
        }
        # packages install a shim next to the programs that it needs
        shim_directories = [str(shim.parent) for shim in self.shims.values()]
        first = [str(self.first_on_path)] if self.first_on_path else []
        return {
            **inherited,
            **self.kind.environment(footprint),
            "PATH": os.pathsep.join((*first, search_path(self.binary.parent), *shim_directories)),
            "TMPDIR": str(footprint.root / "tmp"),
            MARK: str(footprint.state),
        }

    def stores_overlays(self, footprint: Footprint, settings: Sequence[RuntimeSetting]) -> bool:
        """Return whether images are stored as overlays."""
        # overlayfs does not support an overlay file system as its upper layer
        return CopiedLayers() not in settings and not _on_overlay(footprint.root)

    def configure(
        self,
        footprint: Footprint,
        *,
        pause_image: str,
        registry_addresses: Sequence[str],
        systemd_cgroup: bool,
        extra_settings: Sequence[RuntimeSetting],
    ) -> list[DaemonCommand]:
        """Write the configuration of the daemon and its companions; return what to start, in this order: the
        daemon is the last.

        Raises:
            SettingNotSupported: the runtime has no configuration for one of `extra_settings`.
        """
        settings = DaemonSettings(
            version=self.version,
            handlers=self.handlers,
            cni_plugins=self.cni_plugins,
            pause_image=pause_image,
            registry_addresses=registry_addresses,
            apparmor=apparmor_enabled(),
            selinux=bool(selinux_mode()),
            may_lower_oom_score=children_may("SYS_RESOURCE"),
            systemd_cgroup=systemd_cgroup,
            overlays=self.stores_overlays(footprint, extra_settings),
            helpers=self.helpers,
            extra_settings=extra_settings,
        )
        return [
            *(
                DaemonCommand(
                    self.helpers[companion.program],
                    companion.write_configuration(footprint, settings),
                    companion.socket(footprint),
                )
                for companion in self.kind.companions
            ),
            DaemonCommand(
                self.binary, self.kind.write_configuration(footprint, settings), self.kind.socket(footprint)
            ),
        ]


def find_daemon(
    kind: ThrowawayKind, binary: Path | None, *, extra_handlers: Mapping[str, Path], cni_plugins: Path | None
) -> DaemonChoice:
    """Find a runtime's programs and read its version.

    Raises:
        MissingProgram: a program is missing or cannot be run, or the version is too old.
        CniPluginsMissing: the CNI plugins are missing.
    """
    program = kind.facts.program
    binary = binary or find_program(program)
    line = version_text(binary)
    version = version_numbers(line)
    if version is None:
        raise MissingProgram(
            f"{binary} --version prints {line!r}, which names no version, so its configuration format is"
            " unknown"
        )
    if program not in line:
        raise MissingProgram(f"{binary} is not {program}: its --version prints {line!r}")
    if version < kind.oldest:
        oldest = ".".join(map(str, kind.oldest))
        raise MissingProgram(f"{binary} is version {line!r}; CRI v1 begins with {kind.facts.title} {oldest}")
    path = search_path(binary.parent)
    handlers = {oci_runtimes.DEFAULT: find_program(oci_runtimes.DEFAULT, path=path)}
    left_out = {}
    # a handler that the user names is probed later, like every other
    for name in (name for name in oci_runtimes.OPTIONAL if name not in extra_handlers):
        found = shutil.which(name, path=path)
        if found and (reason := _why_not(name)):
            left_out[name] = reason
        elif found:
            handlers[name] = Path(found)
    return DaemonChoice(
        kind,
        binary,
        line,
        version,
        handlers | dict(extra_handlers),
        cni_plugins or cni.plugin_directory(),
        left_out,
        _helpers(kind.facts, path),
    )


def _helpers(kind: RuntimeKind, path: str) -> dict[str, Path]:
    """Find the programs that a runtime needs; packages install them on PATH or next to their own files.

    Raises:
        MissingProgram: one of them is missing.
    """
    everywhere = os.pathsep.join((path, *map(str, kind.helper_directories)))
    found = {}
    for name in kind.helpers:
        try:
            found[name] = find_program(name, path=everywhere)
        except MissingProgram as error:
            raise MissingProgram(
                f"{kind.title} needs the program {name}, which is in none of {everywhere}; on Debian and"
                f" Ubuntu: apt install {package_of(name)}"
            ) from error
    return found


def _why_not(handler: str) -> str:
    """Return why an installed OCI runtime cannot work on this machine; empty if it can."""
    controllers = unified_controllers_with_version_1() if handler == "crun" else ()
    return (
        "crun does not work with cgroup version 1 while the unified hierarchy has controllers"
        f" ({', '.join(controllers)})"
        if controllers
        else ""
    )


def _on_overlay(path: Path) -> bool:
    return mount_of(path)[1].partition(" - ")[2].startswith("overlay ")
