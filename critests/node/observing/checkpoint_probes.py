"""Probes of checkpoints: whether this machine supports them, and whether the runtime can restore one."""

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
from critests.node.observing.capabilities import NO_ANSWER, Probe, ProbeResult

DUMP_SECONDS = 20
"""Timeout of CRIU's dump of a sleeping process."""
COMMAND = ["/bin/sh", "-c", "while :; do sleep 0.1; done"]


@dataclass(frozen=True)
class CheckpointAttempt:
    """The result of a checkpoint and its restore.

    Attributes:
        refusal: the error of CheckpointContainer; empty if it succeeded.
        restored: whether a container was created from the checkpoint and started.
        why_not: the error of the restore.
    """

    refusal: str = ""
    restored: bool = False
    why_not: str = ""


@dataclass
class CheckpointProbes:
    """Probes that share one checkpoint of a container, which they create.

    Attributes:
        connection: to the runtime.
        handler: the runtime handler under test.
        requests: builds the probe's pod.
        image: returns an image of the runtime, and pulls it if necessary.
    """

    connection: Connection
    handler: str
    requests: RequestBuilder
    image: Callable[[], ImageName]

    def all(self) -> dict[Capability, Probe]:
        """Return the probes by capability."""
        return {Capability.CRIU: self.criu, Capability.CHECKPOINT_IMAGES: self.checkpoint_images}

    def criu(self) -> ProbeResult:
        """A checkpoint succeeds, or CRIU by itself can dump a process.

        If CRIU can, the tests judge why the checkpoint fails. `criu check` is not enough: it checks features
        of the kernel, and succeeds on kernels on which CRIU can dump no process.
        """
        if not self._attempt.refusal:
            return ProbeResult(True, "a checkpoint was taken", "CheckpointContainer")
        program = shutil.which("criu", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
        if program is None:
            return ProbeResult(False, "there is no criu on this machine", "PATH")
        try:
            dump = _dump(program)
        except (OSError, subprocess.TimeoutExpired) as error:
            return ProbeResult(None, f"criu cannot be run: {error}", "criu dump")
        output = (dump.stderr or dump.stdout).strip().splitlines()
        words = output[-1][:300] if output else f"exit code {dump.returncode}"
        return ProbeResult(dump.returncode == 0, words, "criu dump")

    def checkpoint_images(self) -> ProbeResult:
        """CreateContainer restores an archive that CheckpointContainer wrote."""
        if self._attempt.refusal:
            words = f"no checkpoint could be taken: {self._attempt.refusal}"
            return ProbeResult(False, words, "CheckpointContainer")
        words = "a container was restored from one" if self._attempt.restored else self._attempt.why_not
        return ProbeResult(self._attempt.restored, words, "CreateContainer")

    @cached_property
    def _attempt(self) -> CheckpointAttempt:
        with self._running() as (sandbox, container, archive):
            request = cri.CheckpointContainerRequest(container_id=container.id, location=str(archive))
            try:
                self.connection.runtime.CheckpointContainer(request)
            except grpc.RpcError as error:
                return CheckpointAttempt(refusal=_text_of(error))
            image = ImageName(str(archive), str(archive))
            try:
                Container.create(sandbox, self.requests.container(image, command=COMMAND)).start()
            except grpc.RpcError as error:
                return CheckpointAttempt(why_not=_text_of(error))
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


def _dump(program: str) -> "subprocess.CompletedProcess[str]":
    """Dump a sleeping process without open files with CRIU.

    Args:
        program: path of CRIU.
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


def _text_of(error: grpc.RpcError) -> str:
    """Return the error as text. A missing response is raised again: it says nothing about a feature."""
    if error.code() in NO_ANSWER:
        raise error
    return f"{error.code().name}: {(error.details() or '')[:300]}"
