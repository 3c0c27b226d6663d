"""What the sandboxes and containers of a test leave on this machine after the runtime has reported their
removal, and what they change.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from critests.api import api_pb2 as cri
from critests.client.call_recording import Call
from critests.node.cleanup.object_leftovers import ObjectNames, Places, Trace, TraceKind, traces_of
from critests.node.observing.host_settings import HostSettings
from critests.node.run_state import run_directories
from critests.run.context import RunContext, companions_of
from critests.runtimes.known_runtimes import shared_directories
from critests.runtimes.private_kinds import KINDS

GRACE_SECONDS: Final = 10.0
"""How long a trace may stay after the removal. The API has no such time: RemovePodSandbox and RemoveContainer
return when the object is removed. But the kernel removes cgroups and interfaces, and reaps processes, a
moment later, on a busy machine seconds later.
"""
POLL_SECONDS: Final = 0.05
OF_SANDBOXES: Final = {
    TraceKind.NAMESPACE: "SBX-20",
    TraceKind.ADDRESS: "NET-40",
    TraceKind.RULE: "NET-34",
    TraceKind.OPEN_FILE: "CTR-37",
}
"""The requirement that a trace of a removed sandbox breaks; of other kinds SBX-27."""
OF_CONTAINERS: Final = {TraceKind.MOUNT: "MNT-32"}
"""The requirement that a trace of a removed container breaks; of other kinds CTR-37."""

ELSEWHERE: Final = ("/run/netns", "/run/vc", "/run/kata-containers")
"""Directories of pods that no kind of runtime has for itself."""

Look = Callable[[Sequence[ObjectNames], Places], list[Trace]]


@dataclass(frozen=True)
class Leftovers:
    """Things of one kind that were left or changed, and break one requirement.

    Attributes:
        aspect: that demands their removal.
        what: the kind; of a process also the program.
        things: what was left, in words.
        seconds: how long the watch waited for their removal.
    """

    aspect: str
    what: str
    things: tuple[str, ...]
    seconds: float


@dataclass
class LeftoverWatch:
    """Follows the calls of this process, and looks for traces of what they removed.

    Only objects count that a call of this process created and a call of this process removed, so workers that
    run at the same time do not find each other's objects.

    Attributes:
        places: returns where traces are looked for.
        scale: factor for the grace period.
        look: finds traces.
        read_settings: reads the settings of the machine.
        ignored: endpoints of runtimes whose programs the suite makes fail, so that leftovers are not theirs.
    """

    places: Callable[[], Places]
    scale: float = 1.0
    look: Look = traces_of
    read_settings: Callable[[], HostSettings] = HostSettings.read
    ignored: set[str] = field(default_factory=set)
    _created: dict[str, ObjectNames] = field(default_factory=dict, init=False)
    _sandbox_of: dict[str, str] = field(default_factory=dict, init=False)
    _removed: dict[str, ObjectNames] = field(default_factory=dict, init=False)
    _found: list[Leftovers] = field(default_factory=list, init=False)
    _reported: set[str] = field(default_factory=set, init=False)
    _settings: HostSettings = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._settings = self.read_settings()

    def follow(self, call: Call) -> None:
        """Note what a call created or removed."""
        if call.code != "OK" or call.endpoint in self.ignored:
            return
        match call.request, call.response:
            case cri.RunPodSandboxRequest() as request, cri.RunPodSandboxResponse() as response:
                ports = any(mapping.host_port for mapping in request.config.port_mappings)
                names = ObjectNames.of_sandbox(
                    response.pod_sandbox_id,
                    pod_cgroup=request.config.linux.cgroup_parent,
                    host_ports=ports,
                )
                with self._lock:
                    self._created[names.id] = names
            case cri.CreateContainerRequest() as request, cri.CreateContainerResponse() as response:
                log = ""
                if request.config.log_path and request.sandbox_config.log_directory:
                    log = str(Path(request.sandbox_config.log_directory, request.config.log_path))
                container = ObjectNames(
                    response.container_id, log=log, pod_cgroup=request.sandbox_config.linux.cgroup_parent
                )
                with self._lock:
                    self._created[container.id] = container
                    self._sandbox_of[response.container_id] = request.pod_sandbox_id
            case cri.RemoveContainerRequest() as request, _:
                self._remove(request.container_id)
            case cri.RemovePodSandboxRequest() as request, _:
                with self._lock:
                    homes = list(self._sandbox_of.items())
                inside = [container for container, home in homes if home == request.pod_sandbox_id]
                self._remove(request.pod_sandbox_id, *inside)

    def _remove(self, *ids: str) -> None:
        with self._lock:
            for id_ in ids:
                if id_ in self._created:
                    self._removed[id_] = self._created.pop(id_)

    def check(self, besides: str = "") -> None:
        """Look for traces of what was removed since the last check; wait for them to go.

        Traces like those that were found before are ignored: if every container leaves a file, every test
        would wait for the grace period.

        Args:
            besides: requirement that the test itself has found broken, so that its leftovers are known.
        """
        with self._lock:
            in_use = {names.log for names in self._created.values()}
            removed = [
                replace(names, log="") if names.log in in_use else names for names in self._removed.values()
            ]
        if not removed:
            return
        begun, places = time.monotonic(), self.places()
        while traces := self._new(self.look(removed, places), besides):
            waited = time.monotonic() - begun
            if waited >= GRACE_SECONDS * self.scale:
                self._report(traces, waited)
                break
            time.sleep(POLL_SECONDS)
            removed = [names for names in removed if names.id in {trace.object_id for trace in traces}]
        self.forget()

    def forget(self) -> None:
        """Forget what was removed so far, as after a crash of the daemon."""
        with self._lock:
            for id_ in self._removed:
                self._sandbox_of.pop(id_, None)
            self._removed.clear()

    def _new(self, traces: Sequence[Trace], besides: str) -> list[Trace]:
        return [
            trace
            for trace in traces
            if trace.shape not in self._reported and self._aspect_of(trace).partition("/")[0] != besides
        ]

    def _aspect_of(self, trace: Trace) -> str:
        of_container = trace.object_id in self._sandbox_of
        aspects, other = (OF_CONTAINERS, "CTR-37") if of_container else (OF_SANDBOXES, "SBX-27")
        return aspects.get(trace.kind, other)

    def _report(self, traces: Sequence[Trace], seconds: float) -> None:
        self._reported.update(trace.shape for trace in traces)
        broken: dict[tuple[str, str], list[Trace]] = {}
        for trace in traces:
            broken.setdefault((self._aspect_of(trace), trace.what), []).append(trace)
        self._found += [
            Leftovers(aspect, what, tuple(map(str, found)), seconds)
            for (aspect, what), found in broken.items()
        ]

    def _check_settings(self) -> None:
        """Look for changes of the machine's own settings; wait for a test at the same time to undo them."""
        begun = time.monotonic()
        while (changes := self._changes(later := self.read_settings())) and (
            time.monotonic() - begun < GRACE_SECONDS * self.scale
        ):
            time.sleep(POLL_SECONDS)
        self._settings = later
        self._found += changes

    def _changes(self, later: HostSettings) -> list[Leftovers]:
        changes = {
            ("SYS-05", "kernel setting of the host"): self._settings.kernel_changes(later),
            ("MNT-32", "mount of the host"): self._settings.mount_changes(later),
        }
        return [
            Leftovers(aspect, what, tuple(found), GRACE_SECONDS * self.scale)
            for (aspect, what), found in changes.items()
            if found
        ]

    def take(self, besides: str = "") -> list[Leftovers]:
        """Check, and return what was found since the last call; see `check`."""
        self.check(besides)
        self._check_settings()
        found, self._found = self._found, []
        return found


def places_of(context: RunContext) -> Places:
    """Return where the runtimes of a run leave traces: the one under test, and private ones of tests."""
    standard = (path for kind in KINDS.values() for path in kind.standard_directories)
    of_runs = (run_directories.RUNS, run_directories.FILES)
    wanted = {
        *(top / context.run.id / run_directories.NODE for top in of_runs),
        run_directories.RUNS / run_directories.SOCKETS,
        *shared_directories(),
        *map(Path, (*standard, *ELSEWHERE)),
    }
    tops = tuple(path for path in sorted(wanted) if path.is_dir() and not wanted.intersection(path.parents))
    daemons = [pid for pid in (context.daemon_pid, *companions_of(context)) if pid]
    return Places(tops, tuple(daemons))
