"""Lets a runtime use documents with unusual values, and finds what that damaged."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from typing import Protocol, TypeVar

import grpc

from critests.api import api_pb2 as cri
from critests.documents.document_fields import ESCAPE, Expected
from critests.run.object_cleanup import ObjectCleanup
from critests.testing import ConditionNotMet, OwnRuntime, Sandbox, Sandboxes, setting_up

LIMIT_SECONDS = 60.0
"""Deadline of each call that uses a document, before scaling; the calls take less than a second."""
MOST_MEMORY = 384 << 20
"""Bytes by which one document may grow the daemon's memory: several times the longest document."""
MOST_CRASHES = 3
"""After this many crashes of the daemon the remaining documents are not used."""
GROUP = 32
"""Documents between two looks at what is left on the machine, which take longer than the use of one."""
GONE_SECONDS = 10.0
"""How long processes and mounts may stay after the removal of a pod, before scaling; as in `leftover_watch`.
"""
UNCHANGED = "unchanged"
ROOT_FILESYSTEMS = frozenset({"fs", "diff", "merged", "rootfs"})
"""Directories with the content of layers and containers, where a file of that name has not escaped."""


@unique
class Problem(StrEnum):
    """What a document did that it must not do."""

    DAEMON = "the daemon is damaged"
    NO_RESPONSE = "no response"
    MEMORY = "the daemon's memory grew"
    ESCAPED = "a file outside of containers was changed"
    LEFT = "something is left"
    NEXT_POD = "the next pod does not run"
    REFUSED = "a valid document is refused"
    ACCEPTED = "an invalid document is accepted"
    MEANING = "a valid document is misread"


@dataclass(frozen=True)
class DocumentBreach:
    """A problem of one document.

    Attributes:
        variant: the document, in words; several where none of them alone has the problem.
        problem: what is wrong.
        evidence: the details.
    """

    variant: str
    problem: Problem
    evidence: str = ""


class Document(Protocol):
    """A document with an unusual value; its text says which."""

    @property
    def expected(self) -> Expected:
        """What its specification says of a reader."""


D = TypeVar("D", bound=Document)


@dataclass(frozen=True)
class Outside:
    """Files of the machine that no document may create or change.

    Attributes:
        canary: a file that hostile paths name.
        places: directories that are searched for `ESCAPE`, without the content of root file systems.
    """

    canary: Path
    places: tuple[Path, ...]

    @classmethod
    def of(cls, runtime: OwnRuntime) -> "Outside":
        """Create the canary, in the file system of the runtime's images, to which hard links are possible."""
        canary = runtime.daemon.root / "critests-canary"
        canary.write_text(UNCHANGED, encoding="utf-8")
        return cls(canary, (runtime.daemon.root, runtime.daemon.state))

    def changes(self) -> list[str]:
        """Return what was created or changed, remove what was created, and write the canary anew."""
        found = [str(path) for path in self._escaped()]
        for path in map(Path, found):
            path.unlink(missing_ok=True)
        try:
            links, content = self.canary.stat().st_nlink, self.canary.read_text(encoding="utf-8")
        except FileNotFoundError:
            links, content = 0, ""
        if (links, content) != (1, UNCHANGED):
            found.append(f"{self.canary} has {links} links and the content {content[:80]!r}")
            self.canary.unlink(missing_ok=True)
            self.canary.write_text(UNCHANGED, encoding="utf-8")
        return found

    def _escaped(self) -> Iterable[Path]:
        above = {parent for place in self.places for parent in place.parents} | {Path("/tmp"), Path("/etc")}  # noqa: S108 - only looked at
        yield from (parent / ESCAPE for parent in sorted(above) if os.path.lexists(parent / ESCAPE))
        for place in self.places:
            for folder, below, files in os.walk(place):
                yield from (Path(folder, name) for name in (*files, *below) if name == ESCAPE)
                below[:] = [name for name in below if name not in ROOT_FILESYSTEMS]


@dataclass
class DocumentUser:
    """Uses documents one after the other on a runtime of the test's own.

    Attributes:
        runtime: its objects are removed after each use, by `runtime.cleanup`.
        pods: the pod that the documents of one group share.
    """

    runtime: OwnRuntime
    pods: ObjectCleanup = field(default_factory=ObjectCleanup)
    outside: Outside = field(init=False)
    crashes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.outside = Outside.of(self.runtime)

    @property
    def timeout(self) -> float:
        """Deadline in seconds of a call that uses a document."""
        return LIMIT_SECONDS * self.runtime.scale

    @property
    def pod(self) -> Sandbox:
        """A READY sandbox for the containers of one group of documents."""
        if not self.pods.sandboxes:
            Sandboxes(self.runtime, self.pods).ready()
        return self.pods.sandboxes[-1]

    def breaches(self, documents: Iterable[D], use: Callable[[D], None]) -> list[DocumentBreach]:
        """Use each document, and return what went wrong.

        Args:
            documents: with unusual values.
            use: lets the runtime read one. Raises grpc.RpcError where the runtime refuses it, and
                AssertionError where the runtime accepts a valid one but misreads it. What it creates, it
                registers in `runtime.cleanup`.
        """
        self.crashes = 0
        # each call has a deadline, and a test's own time limit is for far fewer of them
        with self.runtime.connection.recorder.under_way.waiting():
            return self._breaches(list(documents), use)

    def _breaches(self, every: Sequence[D], use: Callable[[D], None]) -> list[DocumentBreach]:
        with setting_up():
            self._ordinary_pod()
        before = self._objects()
        found: list[DocumentBreach] = []
        for group in (every[at : at + GROUP] for at in range(0, len(every), GROUP)):
            crashes = self.crashes
            for document in group:
                if self.crashes < MOST_CRASHES:
                    found += self._used(document, use)
            damage = self._damage_of_machine(before)
            if self.crashes > crashes:
                # what a crash leaves is a consequence of it
                damage = [each for each in damage if each[0] is not Problem.LEFT]
                before = self._objects()
            if not damage:
                continue
            # which of them it was
            named = []
            for document in group if self.crashes < MOST_CRASHES else ():
                before = self._objects()
                self._used(document, use)
                named += [DocumentBreach(str(document), *each) for each in self._damage_of_machine(before)]
            all_of_them = f"one of: {'; '.join(map(str, group))}"
            found += named or [DocumentBreach(all_of_them, *each) for each in damage]
            before = self._objects()
        return found

    def _used(self, document: D, use: Callable[[D], None]) -> list[DocumentBreach]:
        """Use one document, and return what went wrong at once."""
        self._forget_most_memory()
        memory, began = self.runtime.most_memory, time.monotonic()
        found: list[tuple[Problem, str]] = []
        refusal = misread = ""
        try:
            use(document)
        except grpc.RpcError as error:
            refusal = f"{error.code().name}: {error.details()}"
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - began >= self.timeout:
                found.append((Problem.NO_RESPONSE, ""))
        except AssertionError as error:
            misread = str(error) or "AssertionError"
        if damage := self.runtime.damage():
            self._restart()
            return [DocumentBreach(str(document), Problem.DAEMON, damage)]
        grown = self.runtime.most_memory - memory
        if grown > MOST_MEMORY:
            found.append((Problem.MEMORY, f"by {grown >> 20} MiB"))
        self.runtime.cleanup.discard()
        found += _left(self.runtime.cleanup)
        if refusal and not found and document.expected is Expected.ACCEPTED:
            found.append((Problem.REFUSED, refusal[:500]))
        if misread and document.expected is Expected.ACCEPTED:
            found.append((Problem.MEANING, misread))
        if not refusal and document.expected is Expected.REFUSED:
            found.append((Problem.ACCEPTED, misread))
        return [DocumentBreach(str(document), *each) for each in found]

    def _damage_of_machine(self, before: Sequence[str]) -> list[tuple[Problem, str]]:
        """Return what documents did to the machine and to the next pod, and repair it where possible."""
        self.pods.discard()
        found = _left(self.pods)
        try:
            self._ordinary_pod()
        except (grpc.RpcError, AssertionError) as error:
            found.append((Problem.NEXT_POD, str(error)[:500]))
            if self.runtime.damage():
                self._restart()
        self.runtime.cleanup.discard()
        self.runtime.cleanup.problems.clear()
        try:
            self.runtime.eventually(
                "nothing to be left",
                lambda: sorted(set(self._objects()) - set(before)),
                GONE_SECONDS,
                holds=lambda left: not left,
            )
        except ConditionNotMet:
            left = sorted(set(self._objects()) - set(before))
            found.append((Problem.LEFT, ", ".join(left)[:500]))
        return found + [(Problem.ESCAPED, change) for change in self.outside.changes()]

    def _ordinary_pod(self) -> None:
        """Run a pod that has nothing unusual, and remove it."""
        sandbox = self.runtime.sandboxes.attempt(self.runtime.sandboxes.config(), self.timeout)
        containers = self.runtime.containers
        container = containers.attempt(containers.config(), self.timeout, in_sandbox=sandbox)
        answer = self.runtime.stub.ExecSync(container.exec_request("true"))
        assert answer.exit_code == 0, f"a command ended with {answer.exit_code}"
        container.discard()
        sandbox.discard()
        assert container.entries() == [], "the container is still listed"
        self.runtime.cleanup.containers.clear()
        self.runtime.cleanup.sandboxes.clear()

    def _objects(self) -> list[str]:
        """Return what the runtime has on this machine, and its pods and images, but no directories: content
        of failed pulls may stay until a collection of garbage. The daemon, which a crash replaces, is not
        among them.
        """
        daemon = f"process {self.runtime.daemon.pid}"
        on_machine = [
            each
            for each in self.runtime.daemon.objects()
            if each != daemon and not each.startswith("directory ")
        ]
        pods = self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        images = self.runtime.images.ListImages(cri.ListImagesRequest()).images
        return [*on_machine, *(f"pod {pod.id}" for pod in pods), *(f"image {image.id}" for image in images)]

    def _forget_most_memory(self) -> None:
        """Let the kernel count the most memory of the daemon from now on (proc(5), clear_refs)."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.runtime.context.daemon_pid}/clear_refs").write_text("5", encoding="ascii")

    def _restart(self) -> None:
        """Start the daemon again after a crash, and remove the pods that it could not remove."""
        self.crashes += 1
        self.runtime.restart()
        self.runtime.context.hangs.forget()
        shared = {sandbox.id for sandbox in self.pods.sandboxes}
        for pod in self.runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items:
            if pod.id not in shared:
                self.runtime.sandboxes.adopt(pod.id, cri.PodSandboxConfig())
        self.runtime.cleanup.discard()
        self.runtime.cleanup.problems.clear()


def _left(cleanup: ObjectCleanup) -> list[tuple[Problem, str]]:
    """Return the objects that could not be removed, and forget them."""
    found = [
        (Problem.LEFT, f"{why.subject} {why.where}: {why.seen} {why.words[:200]}") for why in cleanup.problems
    ]
    cleanup.problems.clear()
    return found
