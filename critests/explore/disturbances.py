"""What is below the calls, as far as steps disturb it: the daemon of a throwaway runtime, its OCI runtime,
its CNI plugins, and the registry.
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

if TYPE_CHECKING:  # it is there already where a runtime was started
    from critests.node.starting.throwaway import ThrowawayRuntime

RECONNECT_SECONDS = 5.0
LONGER_THAN_A_CALL = 120.0
"""Seconds that something hangs if nobody lets it go on; behind the point comes the id of this process, by
which its own are told from another's.
"""
IMAGES = {"image-1": ("one",), "image-2": ("first", "second")}
"""What steps pull and remove, with their tags."""
CNI_CODE = 100
"""Of a plugin's own errors; those below are the specification's."""


@dataclass
class SequenceImages:
    """The images that the steps of a sequence pull and remove: each sequence has its own.

    Attributes:
        registry: that serves them; None where it is the user's, and steps pull and remove none: they may be
            somebody else's too.
        run_id: of the run.
    """

    registry: RegistryClient | None
    run_id: str
    _salt: str = field(default_factory=lambda: secrets.token_hex(3))
    _repositories: list[str] = field(default_factory=list)

    def __call__(self) -> dict[str, tuple[str, ...]]:
        """Make those of the next sequence, by key, with their names; those of the last one go."""
        if self.registry is None:
            return {}
        for repository in self._repositories:
            self.registry.remove_repository(repository)
        self._repositories.clear()
        made = {}
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
            made[key] = tuple(f"{self.registry.address}/{image.repository}:{tag}" for tag in tags)
        return made

    def failing(self) -> contextlib.AbstractContextManager[None]:
        """Let no pull of them succeed for a while."""
        return self._faulty(RegistryFault(kind=FaultKind.SERVER_ERROR))

    def hanging(self) -> contextlib.AbstractContextManager[None]:
        """Let every pull of them hang in the middle for a while; then it goes on."""
        return self._faulty(
            RegistryFault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=LONGER_THAN_A_CALL)
        )

    @contextlib.contextmanager
    def _faulty(self, fault: RegistryFault) -> Iterator[None]:
        assert self.registry is not None, "without one no step pulls"
        for repository in self._repositories:
            self.registry.fault(repository, fault)
        try:
            yield
        finally:
            for repository in self._repositories:
                self.registry.clear_faults(repository)


def started_again(runtime: "ThrowawayRuntime", connection: Connection) -> None:
    """End the daemon with SIGKILL if it lives, start it again and wait until it answers.

    Raises:
        RuntimeStartFailed: it does not come back.
    """
    # nobody listens any more a moment before the process of a daemon that ends is gone
    runtime.kill()
    runtime.start_again()

    def answers() -> bool:
        with contextlib.suppress(grpc.RpcError):
            return bool(connection.runtime.Version(cri.VersionRequest()))
        return False

    with contextlib.suppress(ConditionNotMet):  # then whatever is asked next says so
        eventually("Version after a restart", answers, RECONNECT_SECONDS * connection.deadlines.scale)


@dataclass(frozen=True)
class Below:
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
        """End the daemon with SIGKILL, start it again and wait until it answers.

        Raises:
            RuntimeStartFailed: it does not come back.
        """
        started_again(self.runtime, self.connection)

    def pipes(self, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pipes are open in the processes of the runtime that have the id of a sandbox among
        their arguments.
        """
        found = dict.fromkeys(ids, 0)
        for pid in self.runtime.processes:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
                for sandbox_id in found.keys() & {*arguments}:
                    found[sandbox_id] += sum(file.startswith("pipe:") for file in open_files(pid))
        return found

    def leases(self) -> frozenset[str]:
        """Return the addresses that its network has given away."""
        return frozenset(self.runtime.leases)

    def failing(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation of its OCI runtime or of its CNI plugins, or the registry, fail for a while."""
        if operation == REGISTRY:
            return self.images.failing()
        code = CNI_CODE if operation.isupper() else 1
        failure = Fail(code, f"{operation} fails for a moment")
        return self._wrapper(operation).planned({operation: [failure]})

    def hanging(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation of its OCI runtime or of its CNI plugins, or the registry, hang for a while; then
        it goes on, as if it had only been slow.
        """
        return self.images.hanging() if operation == REGISTRY else self._hanging(operation)

    @contextlib.contextmanager
    def _hanging(self, operation: str) -> Iterator[None]:
        hangs = Delay(LONGER_THAN_A_CALL + os.getpid() % 1_000_000 / 1e6)
        try:
            with self._wrapper(operation).planned({operation: [hangs]}):
                yield
        finally:
            cut_off(sleeping(hangs))

    def _wrapper(self, operation: str) -> "Wrapper":
        wrapper = self.runtime.cni_wrapper if operation.isupper() else self.runtime.oci_wrapper
        assert wrapper is not None, "it was started with both"
        return wrapper
