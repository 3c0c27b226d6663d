"""CTR: what many containers in turn leave behind on the node."""

import os
from itertools import chain

import psutil

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime
from critests.lifecycle.sandboxes import Sandbox
from critests.node.remains import cgroup_hierarchies, mount_table
from critests.run.marks import disruptive, requirement, slow
from critests.run.outcomes import blocked

CONTAINERS = 100
NOISE = 20
"""What comes and goes by itself: of a leak of one thing a container, a fifth."""


def run_in_turn(own_runtime: OwnRuntime, home: Sandbox, attempts: range) -> list[str]:
    """Make, start, stop and remove one container after another; return their ids.

    They have one name, as those of a container that crashes again and again.
    """
    containers = own_runtime.containers
    config = containers.config()
    ids = []
    for attempt in attempts:
        config.metadata.attempt = attempt
        made = own_runtime.stub.CreateContainer(containers.creation(config, home)).container_id
        containers.adopt(made, config, home)
        own_runtime.stub.StartContainer(cri.StartContainerRequest(container_id=made))
        own_runtime.stub.StopContainer(cri.StopContainerRequest(container_id=made, timeout=0))
        own_runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=made))
        ids.append(made)
    return ids


def held(own_runtime: OwnRuntime, daemon: psutil.Process) -> dict[str, int]:
    """Count what a daemon holds, and what runs on its behalf."""
    throwaway = own_runtime.throwaway
    return {
        "open files of the daemon": daemon.num_fds(),
        "threads of the daemon": daemon.num_threads(),
        "processes": len(throwaway.processes if throwaway else daemon.children(recursive=True)),
    }


def named_after(ids: list[str], own_runtime: OwnRuntime) -> dict[str, int]:
    """Count what is named after containers: mounts, cgroups, and files and folders of the runtime's own."""
    throwaway = own_runtime.throwaway
    folders = [throwaway.state, throwaway.root] if throwaway else []
    cgroups = [below for hierarchy in cgroup_hierarchies() for _, below, _ in os.walk(hierarchy)]
    files = [below + names for folder in folders for _, below, names in os.walk(folder)]
    there = {
        "mounts": [point for _, point, _ in mount_table()],
        "cgroups": list(chain(*cgroups)),
        "files": list(chain(*files)),
    }
    return {what: sum(any(each in name for each in ids) for name in names) for what, names in there.items()}


@requirement("CTR-37")
@slow
@disruptive
def test_many_containers_in_turn_leave_nothing_behind(own_runtime: OwnRuntime) -> None:
    """After many containers in turn the daemon SHOULD hold no more open files, threads and processes than
    before, and none of their mounts, cgroups and files SHOULD be there.

    Source: RemoveContainer; not stated by the CRI, a container that crashes is made anew as long as its pod
    lives.
    """
    if own_runtime.context.daemon_pid is None:
        blocked("the daemon's process cannot be seen from here")
    daemon = psutil.Process(own_runtime.context.daemon_pid)
    home = own_runtime.sandbox()
    run_in_turn(own_runtime, home, range(NOISE))  # what the daemon opens once and keeps, it has by then
    before = held(own_runtime, daemon)

    ids = run_in_turn(own_runtime, home, range(NOISE, NOISE + CONTAINERS))

    def left() -> dict[str, int]:
        more = {what: number - before[what] for what, number in held(own_runtime, daemon).items()}
        grown = {what: number for what, number in more.items() if number > NOISE}
        return grown | {what: number for what, number in named_after(ids, own_runtime).items() if number}

    own_runtime.eventually(
        f"what {CONTAINERS} containers leave behind to go", left, 10, lambda more: not more
    )
