"""Reference measurements before the first scenario: the noise of the machine, the client alone, the OCI
runtime alone.
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
from critests.benchmark.reference.oci_reference import OciReferenceFailed, measure_oci_runtime
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
"""The RPCs that scenarios time individually; those that remove something come last."""
REFERENCE_ROUNDS: Final = {True: 12, False: 40}
"""Rounds of the OCI runtime alone, if `quick` or not."""


@dataclass
class Preflight:
    """The measurements before the first scenario.

    Attributes:
        client: RPC to the client's own median in seconds.
        oci_runtime: step of the OCI runtime alone to its median in seconds; empty if not measured.
        noise: durations of work of fixed size.
        steal: meters the CPU time that other guests take.
        notes: why a measurement is missing.
    """

    client: dict[str, float]
    oci_runtime: dict[str, float]
    noise: list[NoiseProbe]
    steal: StealMeter
    notes: list[str] = field(default_factory=list)

    def with_steal(self, facts: BenchmarkFacts) -> BenchmarkFacts:
        """Return the facts with the share of CPU time that other guests have taken so far."""
        return dataclasses.replace(facts, steal_share=self.steal.share())


def run_preflight(target: Target, *, quick: bool) -> Preflight:
    """Measure the machine, the client and the OCI runtime, in about ten seconds, or five if `quick`.

    A measurement that is impossible here is left out with a note: a benchmark is useful without it.
    """
    notes: list[str] = []
    try:
        client = client_cost(TIMED_RPCS, calls=60 if quick else 200, warm_up=20)
    except NullServerFailed as error:
        client = {}
        notes.append(f"the client's own cost could not be measured: {error}")
    return Preflight(client, _oci_runtime(target, notes, quick=quick), noise_probes(), StealMeter(), notes)


def _oci_runtime(target: Target, notes: list[str], *, quick: bool) -> dict[str, float]:
    binary = shutil.which(target.handler or "runc")
    if binary is None or os.geteuid() != 0:
        notes.append("the OCI runtime alone was not measured: it is not on PATH, or this is not root")
        return {}
    try:
        steps = measure_oci_runtime(
            Path(binary),
            REFERENCE_ROUNDS[quick],
            target.context.run.data_directory / "reference",
            target.context.run.id,
        )
    except OciReferenceFailed as error:
        notes.append(f"the OCI runtime alone was not measured: {error}")
        return {}
    return {step: statistics.median(taken) for step, taken in steps.items()}
