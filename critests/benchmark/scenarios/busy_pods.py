"""Containers that use up one thing of the machine, without end, beside what is measured."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Final

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST, address_of

PORT: Final = 7001
LIMIT_BYTES: Final = 64 << 20
NOBODY: Final = "nobody"
"""Stands where there is no neighbour."""


@contextlib.contextmanager
def processor(target: Target) -> Iterator[None]:
    """Hold a container with a busy process for each processor."""
    busy = "while :; do :; done"
    script = f"for n in $(seq {os.cpu_count() or 1}); do ({busy}) & done; echo ready; wait"
    yield from _runs(target, script)


@contextlib.contextmanager
def memory(target: Target) -> Iterator[None]:
    """Hold a container that runs into its limit of memory again and again: one process of it after the other
    is killed.
    """
    grows = "awk 'BEGIN { held = \"x\"; while (1) held = held held }'"
    resources = cri.LinuxContainerResources(memory_limit_in_bytes=LIMIT_BYTES)
    yield from _runs(target, f"echo ready; while :; do {grows}; done 2>/dev/null", resources)


@contextlib.contextmanager
def disk(target: Target) -> Iterator[None]:
    """Hold a container that writes to its own layer, and to the disk, all the time."""
    writes = "dd if=/dev/zero of=/written bs=1048576 count=32 conv=fsync"
    yield from _runs(target, f"echo ready; while :; do {writes} 2>/dev/null; done")


@contextlib.contextmanager
def network(target: Target) -> Iterator[None]:
    """Hold two pods of which one sends to the other all the time."""
    with target.sandbox() as sink, target.sandbox() as source:
        serves = f"echo ready; nc -ll -p {PORT} -e sh -c 'cat > /dev/null' & wait"
        target.running(sink, command=("/bin/sh", "-c", serves)).wait_for_log("ready")
        address = address_of(target, sink.id)
        sends = f"dd if=/dev/zero bs=65536 count=16384 2>/dev/null | nc {address} {PORT}"
        script = f"echo ready; while :; do {sends}; done"
        target.running(source, command=("/bin/sh", "-c", script)).wait_for_log("ready")
        yield


@contextlib.contextmanager
def nobody(_target: Target) -> Iterator[None]:
    """Hold nothing."""
    yield


NEIGHBOURS: Final[dict[str, Callable[[Target], contextlib.AbstractContextManager[None]]]] = {
    NOBODY: nobody,
    "processor": processor,
    "memory at its limit": memory,
    "disk": disk,
    "network": network,
}


def _runs(
    target: Target, script: str, resources: cri.LinuxContainerResources | None = None
) -> Iterator[None]:
    """Hold a pod with one container that runs a script and has said that it does."""
    with target.sandbox(namespaces=HOST) as sandbox:
        container = target.running(sandbox, command=("/bin/sh", "-c", script), resources=resources)
        container.wait_for_log("ready")
        yield
