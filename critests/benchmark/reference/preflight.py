"""Before the first scenario: how quiet is the machine, what does the client need by itself, what does the OCI
runtime need by itself.
"""

import dataclasses
import os
import shutil
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from critests.benchmark.measuring.target import Target
from critests.benchmark.reference.client_cost import client_cost
from critests.benchmark.reference.noise import StealMeter, noise_probes
from critests.benchmark.reference.null_server import NullServerFailed
from critests.benchmark.reference.oci_reference import OciReferenceFailed, measure
from critests.record.operations import BenchmarkFacts, NoiseProbe

TIMED_RPCS: Final = (
    "Version",
    "Status",
    "RunPodSandbox",
    "PodSandboxStatus",
    "ListPodSandbox",
    "CreateContainer",
    "StartContainer",
    "ContainerStatus",
    "ListContainers",
    "ExecSync",
    "UpdateContainerResources",
    "PullImage",
    "ImageStatus",
    "ListImages",
    "ImageFsInfo",
    "StopContainer",
    "RemoveContainer",
    "StopPodSandbox",
    "RemovePodSandbox",
    "RemoveImage",
)
"""The RPCs that scenarios time one by one; those after which something is gone come last."""
REFERENCE_ROUNDS: Final = {True: 12, False: 40}


@dataclass
class Looked:
    """What was seen before the first scenario.

    Attributes:
        client: RPC to the client's own median in seconds.
        reference: step of the bare OCI runtime to its median in seconds; empty where it could not be
            measured.
        noise: how steady the machine is.
        steal: watches the time that other guests take.
        notes: why something is missing.
    """

    client: dict[str, float]
    reference: dict[str, float]
    noise: list[NoiseProbe]
    steal: StealMeter
    notes: list[str] = field(default_factory=list)

    def with_steal(self, facts: BenchmarkFacts) -> BenchmarkFacts:
        """Return the facts with the share of time that other guests took until now."""
        return dataclasses.replace(facts, steal_share=self.steal.share())


def look_at_machine(target: Target, *, quick: bool) -> Looked:
    """Measure the machine, the client and the OCI runtime, in about ten seconds; in about five where it has
    to be quick.

    What cannot be measured here is left out with a note: a benchmark without its floors is worth less, but
    not nothing.
    """
    notes: list[str] = []
    try:
        client = client_cost(TIMED_RPCS, calls=60 if quick else 200, warm_up=20)
    except NullServerFailed as error:
        client = {}
        notes.append(f"the client's own cost could not be measured: {error}")
    return Looked(client, _reference(target, notes, quick=quick), noise_probes(), StealMeter(), notes)


def _reference(target: Target, notes: list[str], *, quick: bool) -> dict[str, float]:
    binary = shutil.which(target.handler or "runc")
    if binary is None or os.geteuid() != 0:
        notes.append("the bare OCI runtime could not be measured: it is not on PATH, or this is not root")
        return {}
    try:
        steps = measure(
            Path(binary),
            REFERENCE_ROUNDS[quick],
            target.context.run.data_directory / "reference",
            target.context.run.id,
        )
    except OciReferenceFailed as error:
        notes.append(f"the bare OCI runtime could not be measured: {error}")
        return {}
    return {step: statistics.median(taken) for step, taken in steps.items()}
