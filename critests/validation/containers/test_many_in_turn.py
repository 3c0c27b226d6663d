"""CTR: what many containers, one after another, leave on the node."""

import os
from itertools import chain

import psutil

from critests.api import api_pb2 as cri
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.testing import OwnRuntime, Sandbox, blocked, disruptive, mount_table, requirement, slow

CONTAINERS = 100
NOISE = 20
"""Increase that does not count as a leak: a leak of one for each container would be five times as much."""


def run_in_turn(own_runtime: OwnRuntime, pod: Sandbox, attempts: range) -> list[str]:
    """Create, start, stop and remove one container after another; return their ids.

    They have the same name, like the attempts of a container that crashes repeatedly.
    """
    containers = own_runtime.containers
    config = containers.config()
    ids = []
    for attempt in attempts:
        config.metadata.attempt = attempt
        container_id = own_runtime.stub.CreateContainer(containers.creation(config, pod)).container_id
        containers.adopt(container_id, config, pod)
        own_runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container_id))
        own_runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container_id, timeout=0))
        own_runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container_id))
        ids.append(container_id)
    return ids


def usage_of(own_runtime: OwnRuntime, daemon: psutil.Process) -> dict[str, int]:
    """Count the open files and threads of the daemon, and the processes of the runtime."""
    throwaway = own_runtime.throwaway
    return {
        "open files of the daemon": daemon.num_fds(),
        "threads of the daemon": daemon.num_threads(),
        "processes": len(throwaway.processes if throwaway else daemon.children(recursive=True)),
    }


def count_named_after(ids: list[str], own_runtime: OwnRuntime) -> dict[str, int]:
    """Count mounts, cgroups, and files and folders of the runtime whose names contain a container id."""
    throwaway = own_runtime.throwaway
    folders = [throwaway.state, throwaway.root] if throwaway else []
    cgroups = [below for hierarchy in cgroup_hierarchies() for _, below, _ in os.walk(hierarchy)]
    files = [below + names for folder in folders for _, below, names in os.walk(folder)]
    existing = {
        "mounts": [point for _, point, _ in mount_table()],
        "cgroups": list(chain(*cgroups)),
        "files": list(chain(*files)),
    }
    return {
        what: sum(any(each in name for each in ids) for name in names) for what, names in existing.items()
    }


@requirement("CTR-37")
@slow
@disruptive
def test_many_containers_in_turn_leave_nothing_behind(own_runtime: OwnRuntime) -> None:
    """RemoveContainer SHOULD leave no more open files, threads and processes after many containers than
    before, and none of their mounts, cgroups and files.

    Source: RemoveContainer; not stated by the CRI, the kubelet creates a crashing container again and again
    as long as its pod runs.
    """
    if own_runtime.context.daemon_pid is None:
        blocked("the test cannot see the daemon's process")
    daemon = psutil.Process(own_runtime.context.daemon_pid)
    pod = own_runtime.sandbox()
    run_in_turn(own_runtime, pod, range(NOISE))  # by then the daemon has opened what it opens only once
    before = usage_of(own_runtime, daemon)

    ids = run_in_turn(own_runtime, pod, range(NOISE, NOISE + CONTAINERS))

    def leftovers() -> dict[str, int]:
        more = {what: number - before[what] for what, number in usage_of(own_runtime, daemon).items()}
        grown = {what: number for what, number in more.items() if number > NOISE}
        return grown | {
            what: number for what, number in count_named_after(ids, own_runtime).items() if number
        }

    own_runtime.eventually(
        f"what {CONTAINERS} containers leave behind to go", leftovers, 10, lambda more: not more
    )
