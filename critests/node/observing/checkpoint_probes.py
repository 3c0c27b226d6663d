"""Probes that take a checkpoint: whether this machine lets one be taken, and what can be made of it."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.client.connection import Connection
from critests.lifecycle.container import Container
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.sandbox import Sandbox
from critests.node.observing.capabilities import NO_ANSWER, Probe, fact
from critests.record.run_record import CapabilityFact

DUMP_SECONDS = 20
"""For CRIU's dump of a process that sleeps."""
COMMAND = ["/bin/sh", "-c", "while :; do sleep 0.1; done"]


@dataclass(frozen=True)
class CheckpointAttempt:
    """What came of a checkpoint.

    Attributes:
        refusal: the runtime's words; empty where it was taken.
        restored: whether a container was made from it and ran.
        why_not: the runtime's words where it was not.
    """

    refusal: str = ""
    restored: bool = False
    why_not: str = ""


@dataclass
class CheckpointProbes:
    """Probes that look at one checkpoint of a container made for them.

    Attributes:
        connection: to the runtime.
        handler: the runtime handler under test.
        requests: builds the probe's pod.
        image: returns an image that the runtime holds, pulling it if need be.
    """

    connection: Connection
    handler: str
    requests: RequestBuilder
    image: Callable[[], ImageName]

    def all(self) -> dict[Capability, Probe]:
        """Return the probes by capability."""
        return {Capability.CRIU: self.criu, Capability.CHECKPOINT_IMAGES: self.checkpoint_images}

    def criu(self) -> CapabilityFact:
        """A checkpoint is taken, or CRIU alone can dump a process of ours.

        Where it can, the tests judge what comes of a checkpoint. What `criu check` says is not enough: it
        looks at the kernel's features, and is content with kernels of which it can dump no process.
        """
        if not self._attempt.refusal:
            return fact(Capability.CRIU, True, "a checkpoint was taken", "CheckpointContainer")
        program = shutil.which("criu", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
        if program is None:
            return fact(Capability.CRIU, False, "there is no criu on this machine", "PATH")
        try:
            dump = _dumped(program)
        except (OSError, subprocess.TimeoutExpired) as error:
            return fact(Capability.CRIU, None, f"criu cannot be asked: {error}", "criu dump")
        said = (dump.stderr or dump.stdout).strip().splitlines()
        words = said[-1][:300] if said else f"exit code {dump.returncode}"
        return fact(Capability.CRIU, dump.returncode == 0, words, "criu dump")

    def checkpoint_images(self) -> CapabilityFact:
        """A container is made from an archive that CheckpointContainer wrote."""
        capability = Capability.CHECKPOINT_IMAGES
        if self._attempt.refusal:
            words = f"no checkpoint could be taken: {self._attempt.refusal}"
            return fact(capability, False, words, "CheckpointContainer, its own words")
        words = "a container was made from one" if self._attempt.restored else self._attempt.why_not
        return fact(capability, self._attempt.restored, words, "CreateContainer")

    @cached_property
    def _attempt(self) -> CheckpointAttempt:
        with self._running() as (sandbox, container, archive):
            request = cri.CheckpointContainerRequest(container_id=container.id, location=str(archive))
            try:
                self.connection.runtime.CheckpointContainer(request)
            except grpc.RpcError as error:
                return CheckpointAttempt(refusal=_words(error))
            image = ImageName(str(archive), str(archive))
            try:
                Container.create(sandbox, self.requests.container(image, command=COMMAND)).start()
            except grpc.RpcError as error:
                return CheckpointAttempt(why_not=_words(error))
            return CheckpointAttempt(restored=True)

    @contextmanager
    def _running(self) -> Iterator[tuple[Sandbox, Container, Path]]:
        config = self.requests.sandbox("probe-checkpoint")
        sandbox = Sandbox.run(self.connection, config, self.handler)
        try:
            container = Container.create(sandbox, self.requests.container(self.image(), command=COMMAND))
            container.start()
            yield sandbox, container, sandbox.log_directory / "checkpoint.tar"
        finally:
            sandbox.discard()


def _dumped(program: str) -> "subprocess.CompletedProcess[str]":
    """Let CRIU dump a process of ours, which does nothing and has nothing open.

    Args:
        program: CRIU.
    """
    quiet = subprocess.DEVNULL
    with (
        tempfile.TemporaryDirectory(prefix="critests-criu-") as directory,
        subprocess.Popen(
            ["sleep", "60"], cwd="/", stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        ) as sleeper,
    ):
        try:
            return subprocess.run(
                [program, "dump", "--tree", str(sleeper.pid), "--images-dir", directory],
                capture_output=True,
                text=True,
                timeout=DUMP_SECONDS,
                check=False,
            )
        finally:
            sleeper.kill()


def _words(error: grpc.RpcError) -> str:
    """Return what the runtime said; that it did not answer is no word on a feature."""
    if error.code() in NO_ANSWER:
        raise error
    return f"{error.code().name}: {(error.details() or '')[:300]}"
