"""Noisy neighbours: containers that continuously exhaust one resource of the machine during a measurement."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Final

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST, address_of

PORT: Final = 7001
LIMIT_BYTES: Final = 64 << 20
NO_NEIGHBOUR: Final = "nobody"
"""The dimension of a measurement without a neighbour."""


@contextlib.contextmanager
def processor(target: Target) -> Iterator[None]:
    """Run a container with a busy process for each CPU."""
    busy = "while :; do :; done"
    script = f"for n in $(seq {os.cpu_count() or 1}); do ({busy}) & done; echo ready; wait"
    yield from _runs(target, script)


@contextlib.contextmanager
def memory(target: Target) -> Iterator[None]:
    """Run a container that repeatedly reaches its memory limit: the OOM killer ends one process after
    another.
    """
    grows = "awk 'BEGIN { held = \"x\"; while (1) held = held held }'"
    resources = cri.LinuxContainerResources(memory_limit_in_bytes=LIMIT_BYTES)
    yield from _runs(target, f"echo ready; while :; do {grows}; done 2>/dev/null", resources)


@contextlib.contextmanager
def disk(target: Target) -> Iterator[None]:
    """Run a container that continuously writes to its writable layer and syncs it to the disk."""
    writes = "dd if=/dev/zero of=/written bs=1048576 count=32 conv=fsync"
    yield from _runs(target, f"echo ready; while :; do {writes} 2>/dev/null; done")


@contextlib.contextmanager
def network(target: Target) -> Iterator[None]:
    """Run two pods, one of which continuously sends data to the other."""
    with target.sandbox() as sink, target.sandbox() as source:
        serves = f"echo ready; nc -ll -p {PORT} -e sh -c 'cat > /dev/null' & wait"
        target.running(sink, command=("/bin/sh", "-c", serves)).wait_for_log("ready")
        address = address_of(target, sink.id)
        sends = f"dd if=/dev/zero bs=65536 count=16384 2>/dev/null | nc {address} {PORT}"
        script = f"echo ready; while :; do {sends}; done"
        target.running(source, command=("/bin/sh", "-c", script)).wait_for_log("ready")
        yield


@contextlib.contextmanager
def no_neighbour(_target: Target) -> Iterator[None]:
    """Run nothing."""
    yield


NEIGHBOURS: Final[dict[str, Callable[[Target], contextlib.AbstractContextManager[None]]]] = {
    NO_NEIGHBOUR: no_neighbour,
    "processor": processor,
    "memory at its limit": memory,
    "disk": disk,
    "network": network,
}


def _runs(
    target: Target, script: str, resources: cri.LinuxContainerResources | None = None
) -> Iterator[None]:
    """Run a pod with one container that executes a script, and wait until the script prints `ready`."""
    with target.sandbox(namespaces=HOST) as sandbox:
        container = target.running(sandbox, command=("/bin/sh", "-c", script), resources=resources)
        container.wait_for_log("ready")
        yield
