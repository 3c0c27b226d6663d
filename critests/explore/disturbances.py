"""Disturbs what is below the calls during a step: the daemon of a throwaway runtime, its OCI runtime, its CNI
plugins, and the registry.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.images.registry_client import RegistryClient, repository_of
from critests.images.registry_faults import FaultKind, RegistryFault, Scope
from critests.lifecycle.process import open_files
from critests.lifecycle.run_label import RUN_LABEL
from critests.lifecycle.waiting import ConditionNotMet, eventually
from critests.model.steps import REGISTRY
from critests.node.wrappers.actions import Delay, Fail
from critests.node.wrappers.hanging import cut_off, sleeping
from critests.node.wrappers.stand_in import Wrapper

if TYPE_CHECKING:  # a run that started a runtime has loaded it already
    from critests.node.starting.throwaway import ThrowawayRuntime

RECONNECT_SECONDS = 5.0
HANG_SECONDS = 120.0
"""How long something hangs if nothing ends it; the decimals are the id of this process, to find its own
`sleep` processes.
"""
IMAGES = {"image-1": ("one",), "image-2": ("first", "second")}
"""Images that steps pull and remove, with their tags."""
CNI_CODE = 100
"""Error code of a CNI plugin; the specification reserves those below 100."""


@dataclass
class SequenceImages:
    """The images that the steps of a sequence pull and remove: new ones for each sequence.

    Attributes:
        registry: that serves them; None for the user's registry: then no step pulls or removes images, which
            may be used by others.
        run_id: of the run.
    """

    registry: RegistryClient | None
    run_id: str
    _salt: str = field(default_factory=lambda: secrets.token_hex(3))
    _repositories: list[str] = field(default_factory=list)

    def __call__(self) -> dict[str, tuple[str, ...]]:
        """Create the images of the next sequence, by key, with their names, and remove those of the
        last one.
        """
        if self.registry is None:
            return {}
        for repository in self._repositories:
            self.registry.remove_repository(repository)
        self._repositories.clear()
        names = {}
        for key, tags in IMAGES.items():
            salt = secrets.token_hex(8)
            image = self.registry.mint(
                "plain",
                f"{repository_of(self.run_id, 'explore')}-{self._salt}/{key}-{salt}",
                tags=tags,
                salt=f"{key} {salt}",
                labels={RUN_LABEL: self.run_id},
            )
            self._repositories.append(image.repository)
            names[key] = tuple(f"{self.registry.address}/{image.repository}:{tag}" for tag in tags)
        return names

    def failing(self) -> contextlib.AbstractContextManager[None]:
        """Let every pull of them fail within the context."""
        return self._faulty(RegistryFault(kind=FaultKind.SERVER_ERROR))

    def hanging(self) -> contextlib.AbstractContextManager[None]:
        """Let every pull of them hang half way within the context; afterwards it continues."""
        return self._faulty(RegistryFault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=HANG_SECONDS))

    @contextlib.contextmanager
    def _faulty(self, fault: RegistryFault) -> Iterator[None]:
        assert self.registry is not None, "no step pulls without a registry"
        for repository in self._repositories:
            self.registry.fault(repository, fault)
        try:
            yield
        finally:
            for repository in self._repositories:
                self.registry.clear_faults(repository)


def started_again(runtime: "ThrowawayRuntime", connection: Connection) -> None:
    """Kill the daemon with SIGKILL if it lives, start it again and wait until it responds.

    Raises:
        RuntimeStartFailed: it does not come back.
    """
    # a daemon that exits closes its socket a moment before its process is gone
    runtime.kill()
    runtime.start_again()

    def responds() -> bool:
        with contextlib.suppress(grpc.RpcError):
            return bool(connection.runtime.Version(cri.VersionRequest()))
        return False

    with contextlib.suppress(ConditionNotMet):  # then the next call fails
        eventually("Version after a restart", responds, RECONNECT_SECONDS * connection.deadlines.scale)


@dataclass(frozen=True)
class Disturbances:
    """What is below the calls to a runtime that was started for the run.

    Attributes:
        runtime: with wrappers around its OCI runtime and its CNI plugins.
        connection: to it.
        images: of the sequences.
    """

    runtime: "ThrowawayRuntime"
    connection: Connection
    images: SequenceImages

    def restart(self) -> None:
        """Kill the daemon with SIGKILL, start it again and wait until it responds.

        Raises:
            RuntimeStartFailed: it does not come back.
        """
        started_again(self.runtime, self.connection)

    def pipes(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the number of open pipes of the runtime's processes with the id of a sandbox among their
        arguments.
        """
        found = dict.fromkeys(ids, 0)
        for pid in self.runtime.processes:
            with contextlib.suppress(OSError):  # it has exited meanwhile
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                for sandbox_id in found.keys() & {*arguments}:
                    found[sandbox_id] += sum(file.startswith("pipe:") for file in open_files(pid))
        return found

    def leases(self) -> frozenset[str]:
        """Return the addresses that its network has allocated."""
        return frozenset(self.runtime.leases)

    def failing(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation of its OCI runtime or of its CNI plugins, or the registry, fail within the
        context.
        """
        if operation == REGISTRY:
            return self.images.failing()
        code = CNI_CODE if operation.isupper() else 1
        failure = Fail(code, f"{operation} fails for a moment")
        return self._wrapper(operation).planned({operation: [failure]})

    def hanging(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation of its OCI runtime or of its CNI plugins, or the registry, hang within the
        context; afterwards it continues, as if it had only been slow.
        """
        return self.images.hanging() if operation == REGISTRY else self._hanging(operation)

    @contextlib.contextmanager
    def _hanging(self, operation: str) -> Iterator[None]:
        hang = Delay(HANG_SECONDS + os.getpid() % 1_000_000 / 1e6)
        try:
            with self._wrapper(operation).planned({operation: [hang]}):
                yield
        finally:
            cut_off(sleeping(hang))

    def _wrapper(self, operation: str) -> "Wrapper":
        wrappers = self.runtime.wrappers
        wrapper = wrappers.cni if operation.isupper() else wrappers.oci
        assert wrapper is not None, "it was started with both"
        return wrapper
