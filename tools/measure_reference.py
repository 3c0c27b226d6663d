#!/usr/bin/env python3
"""Take only the reference measurements of a benchmark; see docs/benchmarking.md.

usage: tools/measure_reference.py [--node containerd=/path/to/containerd] [--rounds 40] [--cycles 10]
[--without-runtime]

Prints the noise of the machine, the client's cost of a call, the durations of the OCI runtimes alone for a
container, and the resources that a private runtime uses for a pod, by processes and by cgroup. Needs root
for the last two.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.accounting_cgroup import accounted
from critests.benchmark.measuring.client_process import EXPERIMENTS, environment
from critests.benchmark.measuring.resources import UsedResources, footprints, snapshot
from critests.benchmark.reference.client_cost import client_cost
from critests.benchmark.reference.noise import StealMeter, noise_probes
from critests.benchmark.reference.oci_reference import OciReferenceFailed, measure_oci_runtime
from critests.benchmark.reference.preflight import TIMED_RPCS
from critests.benchmark.reference.reference_facts import machine_facts
from critests.client.endpoint import Endpoint
from critests.client.plain_connection import PlainConnection, plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.node.host.binaries import search_path
from critests.node.starting.targets import parse_throwaway
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry

SECONDS = 60.0
PODS = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="containerd")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of the OCI runtime alone")
    parser.add_argument(
        "--cycles", type=int, default=10, help="pods to run and remove for the resource usage"
    )
    parser.add_argument("--without-runtime", action="store_true")
    parser.add_argument("--client", action="store_true", help="only the client's cost in this environment")
    chosen = parser.parse_args()
    if chosen.client:
        for rpc, took in client_cost(TIMED_RPCS, calls=300, warm_up=100).items():
            print(f"  {rpc:<24} {took * 1e6:8.0f} us")
        return
    steal = StealMeter()
    print("the machine")
    # any directory on a disk; the file is anonymous
    for probe in noise_probes(Path("/var/tmp")):  # noqa: S108 - see above
        worst = f"p99 {probe.p99_seconds * 1e3:.3f} ms"
        print(f"  {probe.name:<6} median {probe.median_seconds * 1e3:.3f} ms, {worst}, {probe.count} times")
    print(f"  {machine_facts()}")
    _print_client("the client in the environment of `critests bench`", environment(os.environ))
    _print_client(
        "the client with gRPC's defaults",
        {name: value for name, value in os.environ.items() if name != EXPERIMENTS},
    )
    run = RunIdentity.new()
    with tempfile.TemporaryDirectory() as folder:
        print("the OCI runtime alone, medians in ms")
        for name in ("runc", "crun"):
            _print_reference(name, chosen.rounds, Path(folder), run)
    if not chosen.without_runtime:
        _print_accounts(chosen.node, chosen.cycles, run)
    share = steal.share()
    print(f"CPU time stolen by other guests: {'not counted here' if share is None else f'{share:.1%}'}")


def _print_client(title: str, env: Mapping[str, str]) -> None:
    print(title, flush=True)
    subprocess.run([sys.executable, __file__, "--client"], env=env, check=True)


def _print_reference(name: str, rounds: int, folder: Path, run: RunIdentity) -> None:
    binary = shutil.which(name, path=search_path())
    if binary is None:
        return
    try:
        steps = measure_oci_runtime(Path(binary), rounds, folder, run.id)
    except OciReferenceFailed as error:
        print(f"  {name}: {error}")
        return
    print(
        f"  {name}:"
        f" {', '.join(f'{step} {statistics.median(taken) * 1e3:.1f}' for step, taken in steps.items())}"
    )


def _print_accounts(node: str, cycles: int, run: RunIdentity) -> None:
    found = parse_throwaway(node)
    with tempfile.TemporaryDirectory() as logs:
        cgroups = CgroupParents(run, CgroupDriver.CGROUPFS)
        with throwaway_with_registry(found.kind, run_id=run.id, binary=found.binary) as (runtime, _):
            connection = plain_stubs(Endpoint.parse(runtime.endpoint))
            pods = _Pods(connection, RequestBuilder(run, Path(logs), cgroups))
            _account(runtime, pods, cycles, run)
            connection.close()
        cgroups.remove()


class _Pods:
    """Runs and removes pods."""

    def __init__(self, connection: PlainConnection, builder: RequestBuilder) -> None:
        self.runtime = connection.runtime
        self.builder = builder

    def run(self) -> str:
        request = cri.RunPodSandboxRequest(config=self.builder.sandbox())
        return self.runtime.RunPodSandbox(request, timeout=SECONDS).pod_sandbox_id

    def remove(self, identity: str) -> None:
        self.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=identity), timeout=SECONDS)
        self.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=identity), timeout=SECONDS)


def _account(runtime: ThrowawayRuntime, pods: _Pods, cycles: int, run: RunIdentity) -> None:
    print(f"{runtime.runtime_name} {runtime.version}, a pod run, stopped and removed {cycles} times, each")
    pods.remove(pods.run())
    _print_used(_cycles(runtime, pods, cycles), cycles)
    with accounted(runtime.pid, run.id) as cgroup:
        if cgroup is not None:
            _print_used(_cycles(runtime, pods, cycles), cycles)
    empty = {part: held.memory_bytes for part, held in footprints(runtime.pid).items()}
    identities = [pods.run() for _ in range(PODS)]
    full = {part: held.memory_bytes for part, held in footprints(runtime.pid).items()}
    print(f"memory (PSS): daemon {empty['daemon'] / 1e6:.1f} MB without pods; for each of {PODS} pods:")
    print(
        f"  {', '.join(f'{part} {(size - empty[part]) / PODS / 1e6:.2f} MB' for part, size in full.items())}"
    )
    for identity in identities:
        pods.remove(identity)


def _cycles(runtime: ThrowawayRuntime, pods: _Pods, cycles: int) -> UsedResources:
    before = snapshot(runtime.pid)
    for _ in range(cycles):
        pods.remove(pods.run())
    return snapshot(runtime.pid).since(before)


def _print_used(used: UsedResources, cycles: int) -> None:
    cpu = (
        f"processor {used.cpu_seconds / cycles * 1e3:.0f} ms, of these"
        f" {used.daemon_cpu_seconds / cycles * 1e3:.0f} ms the daemon"
    )
    switches = f"{(used.voluntary + used.involuntary) / cycles:.0f} context switches"
    print(f"  by {used.source}: {cpu}; {used.write_bytes / cycles / 1e3:.0f} kB written; {switches}")


if __name__ == "__main__":
    main()
