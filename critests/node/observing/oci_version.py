"""Whether the OCI runtimes of handlers work on this machine, and with the bundles that a daemon writes.

Some reject bundles of an unknown version of the specification, and then the handler cannot work with the
daemon. The programs are run without the daemon, with a bundle from which no OCI runtime can create a
container: a version is rejected if its error differs from that of the oldest version.

An OCI runtime that cannot create a container from a minimal bundle works with no daemon, so failures with it
are not the daemon's. Sandboxes do not show that: some daemons create them without a process.
"""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc

from critests.client.connection import Connection
from critests.client.failures import in_words
from critests.lifecycle.container import Container
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.sandbox import Sandbox
from critests.node.observing.oci_probe import refused_words
from critests.node.observing.plain_container import refused_alone

OLDEST: Final = "1.0.0"
"""The first version of the specification, which every OCI runtime knows."""
_PLACES: Final = ("config.json", "userdata/config.json")
"""Where the configuration lies in a container's directory (containerd, CRI-O)."""
_KNOWN_REMEDIES: Final = {"crun": " (from 1.14.3 on it takes every version: containers/crun#1417)"}


@dataclass(frozen=True)
class OciRuntimes:
    """The OCI runtimes of a daemon that was started for the run.

    Attributes:
        programs: of the further handlers, by their names; the default one is in use anyhow.
        left_out: handlers that are not configured because they cannot work on this machine, each with the
            reason; the daemon may find their programs by itself.
        bundles: directories whose entries, called as containers, hold what the daemon writes for them.
        default: the program of the default handler; None where it is not known.
        reference: the one that the machine has as the default, whatever the user chose.
        cgroup: base name of a cgroup for what is tried.
        shims: of the further handlers that bring one, and so have none of the programs.
    """

    programs: dict[str, Path] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    bundles: list[Path] = field(default_factory=list)
    default: Path | None = None
    reference: Path | None = None
    cgroup: str = ""
    shims: dict[str, Path] = field(default_factory=dict)

    def unable(self, program: Path) -> str:
        """Return why an OCI runtime cannot create any container on this machine; empty if it can, or if that
        is unknown.
        """
        words = refused_alone(program, self.reference, self.cgroup)
        return words and (
            f"{program} makes no container on this machine, asked by itself for the plainest one, which"
            f" {self.reference} makes: {words!r}"
        )

    def unfit(self, container: str) -> dict[str, str]:
        """Return the handlers that were left out, and those whose OCI runtime refuses the version in a
        container's bundle, each with the reason and what would help.
        """
        version = self.written_version(container)
        if not version:
            return self.left_out
        refused = {name: refusal(program, version, self.cgroup) for name, program in self.programs.items()}
        return self.left_out | {
            name: f"needs a newer {_in_words(self.programs[name])}: {self.programs[name]} refuses version"
            f" {version} of the OCI runtime specification, which the daemon writes, with {words!r}, and takes"
            f" {OLDEST}"
            for name, words in refused.items()
            if words
        }

    def written_version(self, container: str) -> str:
        """Return the version of the specification in the bundle of a sandbox or container; empty where none
        is found.
        """
        for folder in self.bundles:
            for place in _PLACES:
                try:
                    document = json.loads((folder / container / place).read_bytes())
                except (OSError, ValueError):
                    continue
                if isinstance(document, dict) and isinstance(document.get("ociVersion"), str):
                    return str(document["ociVersion"])
        return ""


def _in_words(program: Path) -> str:
    return program.name + _KNOWN_REMEDIES.get(program.name, "")


def unfit_handlers(
    connection: Connection,
    requests: RequestBuilder,
    runtimes: OciRuntimes | None,
    image: Callable[[], ImageName | None],
) -> dict[str, str]:
    """Return the handlers of a daemon that cannot work with it, each with the reason and what would help; to
    see what the daemon writes, a sandbox of the default handler is made.

    Args:
        connection: to the daemon.
        requests: builds the sandbox.
        runtimes: None where they cannot be seen.
        image: gives what a container is made of where one has to be tried, and None where there is none.
    """
    if runtimes is None:
        return {}
    if not runtimes.programs and not runtimes.shims and runtimes.default == runtimes.reference:
        return runtimes.left_out
    try:
        sandbox = Sandbox.run(connection, requests.sandbox("probe-bundle"))
    except grpc.RpcError:  # left to the tests of RunPodSandbox
        unfit = runtimes.left_out
    else:
        unfit = runtimes.unfit(sandbox.id)
        _discard(sandbox)
    default = {"": runtimes.default} if runtimes.default else {}
    for name, program in (default | runtimes.programs).items():
        why = "" if name in unfit else runtimes.unable(program)
        if why and _obstacle(connection, requests, name, image):
            unfit = {**unfit, name: why}
    for name, shim in runtimes.shims.items():
        if words := _obstacle(connection, requests, name, image):
            unfit = {**unfit, name: f"no container starts with {shim}: {words}"}
    return unfit


def _obstacle(
    connection: Connection, requests: RequestBuilder, handler: str, image: Callable[[], ImageName | None]
) -> str:
    """Return what the daemon says where it does not start a container with a handler, whatever its OCI
    runtime says to others, or no sandbox where there is no image to make one of; empty where it does.
    """
    try:
        sandbox = Sandbox.run(connection, requests.sandbox("probe-handler"), handler)
    except grpc.RpcError as error:
        return in_words(error)
    try:
        plain = image()
        if plain is not None:
            pod = sandbox.config.metadata
            Container.create(sandbox, requests.container(plain, "probe-handler", pod=pod)).start()
    except grpc.RpcError as error:
        return in_words(error)
    finally:
        _discard(sandbox)
    return ""


def _discard(sandbox: Sandbox) -> None:
    with contextlib.suppress(grpc.RpcError):  # the run's end tries again
        sandbox.discard()


def refusal(program: Path, version: str, cgroup: str) -> str:
    """Return the error with which an OCI runtime rejects a version of the specification; empty if it accepts
    the version, or if that is unknown.

    Args:
        program: the OCI runtime.
        version: of the specification.
        cgroup: base name of the cgroup below which it is tried.
    """

    def ask(version: str) -> str:
        return _ask(program, version, Path(directory), cgroup)

    with tempfile.TemporaryDirectory(prefix="critests-oci-") as directory:
        try:
            to_oldest, to_version = ask(OLDEST), ask(version)
            if to_oldest == to_version:
                return ""
            # a difference counts only if it is the same twice
            again = ask(OLDEST), ask(version)
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return to_version if again == (to_oldest, to_version) else ""


def _ask(program: Path, version: str, place: Path, cgroup: str) -> str:
    """Return the last words of an OCI runtime that is to create a container of a bundle without a root file
    system, with a terminal and nobody to give it to; empty where it creates one all the same.
    """
    document = {
        "ociVersion": version,
        "process": {"terminal": True, "user": {"uid": 0, "gid": 0}, "args": ["/nothing"], "cwd": "/"},
        "root": {"path": str(place / "nothing")},
        "mounts": [],
        # below the runtime's cgroup, so that it is removed with it even if this process is killed
        "linux": {"cgroupsPath": f"/{cgroup}/critests-version"},
    }
    return refused_words(program, document, place).replace(version, "…")
