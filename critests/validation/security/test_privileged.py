"""PRV: everything that a privileged container is, and what it takes to become one."""

import os
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.session import Observe
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.evidence import Evidence
from critests.lifecycle.process import EXEC
from critests.lifecycle.requests import MASKED_PATHS, READONLY_PATHS
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires
from critests.validation.security.contexts import (
    RUNTIME_DEFAULT,
    UNCONFINED,
    context,
    outcome,
    pod_context,
    system_call,
)
from critests.validation.security.daemon import daemon_capabilities, privileged_process

DEVICES = Path("/dev")
OF_ROOT = ("bounding", "permitted", "effective")
NOT_HANDED_ON = {"pts", "shm", "fd", "mqueue", ".lxc", ".lxd-mounts", ".udev", "console"}
"""In /dev: what every container has of its own, or of the machine's container manager."""
QUESTIONS = {
    "devices": "stat -L -c '%n %t:%T' $(find /dev '(' -type b -o -type c -o -name ptmx ')')",
    # the kernel's log: no container may open it by default
    "open a device": "mknod /kmsg.$$ c 1 11 && " + system_call("openat", -100, "/dev/kmsg", 0),
}


def privileged(
    runtime: Runtime,
    shared: SharedContainers,
    seen_from: str,
    **fields: Any,  # noqa: ANN401 - those of the message
) -> Evidence:
    """Return what a process of a privileged container in a privileged sandbox shows."""
    return privileged_process(runtime, shared, seen_from, QUESTIONS, **fields)


def hidden(process: Evidence) -> list[str]:
    """Return the places below /proc and /sys that something else is mounted on, or that are read-only."""
    return [
        mount.place
        for mount in process.mounts
        if mount.place.startswith(("/proc", "/sys/firmware")) or mount.place == "/sys"
        if mount.read_only or mount.kind == "tmpfs" or mount.root == "/null"
    ]


def cgroups_read_only(process: Evidence) -> set[bool]:
    """Return whether the mounts of cgroup file systems are read-only."""
    return {mount.read_only for mount in process.mounts if mount.kind in {"cgroup", "cgroup2"}}


@requirement("PRV-01")
@requires(Capability.SHARED_KERNEL)
def test_privileged_processes_have_every_capability(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """A privileged root process MUST have every capability of the daemon bounding, permitted and effective.

    Source: LinuxContainerSecurityContext.privileged.
    """
    held = privileged(runtime, shared, seen_from).status.capabilities

    wanted = daemon_capabilities(runtime)
    assert {name: held[name] for name in OF_ROOT} == {name: wanted for name in OF_ROOT}  # noqa: C420 - unchanged


@requirement("PRV-02")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST)
def test_privileged_containers_have_the_devices_of_the_host(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """A privileged container MUST have every device of the host's /dev with its numbers, and be allowed to
    open them.

    Source: LinuxContainerSecurityContext.privileged.
    """
    wanted = host_devices(runtime)

    process = privileged(runtime, shared, seen_from)

    found = dict(line.split() for line in process.answer("devices").splitlines())
    assert {path: found.get(path) for path in wanted} == wanted
    assert outcome(process.answer("open a device"))[0] >= 0


def host_devices(runtime: Runtime) -> dict[str, str]:
    """Return the numbers of the host's devices by path, as stat(1) writes them."""
    top, found = runtime.seen_by_daemon(DEVICES), dict[str, str]()
    for text, folders, files in os.walk(top):
        folder = Path(text)
        if folder == top:
            folders[:] = [name for name in folders if name not in NOT_HANDED_ON]
        for name in files:
            at = (folder / name).lstat()
            if name in NOT_HANDED_ON or not (stat.S_ISCHR(at.st_mode) or stat.S_ISBLK(at.st_mode)):
                continue
            numbers = f"{os.major(at.st_rdev):x}:{os.minor(at.st_rdev):x}"
            found[str(DEVICES / folder.relative_to(top) / name)] = numbers
    return found


@requirement("PRV-03")
def test_nothing_is_hidden_from_privileged_processes(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """A privileged process MUST find /sys and /proc writable and nothing in them masked or read-only.

    Source: LinuxContainerSecurityContext.privileged.
    """
    assert hidden(privileged(runtime, shared, seen_from)) == []


@requirement("PRV-04")
@requires(Capability.SHARED_KERNEL)
def test_privileged_processes_can_write_cgroups_and_others_cannot(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """The mounts of cgroup file systems SHOULD be writable in a privileged container and read-only in others.

    Source: LinuxContainerSecurityContext.privileged; not stated by the CRI.
    """
    assert cgroups_read_only(privileged(runtime, shared, seen_from)) == {False}
    assert cgroups_read_only(shared.process(seen_from)) == {True}


@requirement("PRV-05")
@pytest.mark.parametrize("profile", [RUNTIME_DEFAULT, UNCONFINED], ids=["default", "unconfined"])
def test_privileged_processes_are_not_confined(
    runtime: Runtime, shared: SharedContainers, seen_from: str, profile: object
) -> None:
    """A privileged process MUST NOT have a seccomp filter or an AppArmor profile, also where the runtime's
    default was asked for.

    Source: LinuxContainerSecurityContext.privileged.
    """
    process = privileged(runtime, shared, seen_from, seccomp=profile)

    assert process.status.seccomp_mode == 0
    assert process.label.partition(" ")[0] in {"", "unconfined"} or "_t:" in process.label


@requirement("PRV-06/error")
def test_a_privileged_container_in_a_sandbox_that_is_not(containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail for a privileged container in a sandbox that is not.

    Source: LinuxSandboxSecurityContext.privileged.
    """
    config = containers.config(security_context=context(privileged=True))

    containers.refusal(config)


@requirement("PRV-07")
@requires(Capability.SHARED_KERNEL)
def test_other_containers_of_a_privileged_sandbox_are_confined(
    shared: SharedContainers, seen_from: str
) -> None:
    """A container that is not privileged MUST be confined in a privileged sandbox as it is elsewhere.

    Source: LinuxSandboxSecurityContext.privileged, LinuxContainerSecurityContext.privileged.
    """
    pod = shared.sandbox(security_context=pod_context(privileged=True))
    confined = context(seccomp=RUNTIME_DEFAULT)

    inside = shared.process(seen_from, in_sandbox=pod, security_context=confined)
    elsewhere = shared.process(seen_from, security_context=confined)

    assert inside.status.capabilities == elsewhere.status.capabilities
    assert inside.status.seccomp_mode == 2
    assert hidden(inside) == hidden(elsewhere) != []
    assert cgroups_read_only(inside) == {True}


@requirement("PRV-08")
def test_a_privileged_user_that_is_not_root(
    runtime: Runtime, shared: SharedContainers, observe: Observe
) -> None:
    """A privileged process MUST keep the user that was asked for; what it may do then MAY differ.

    Source: LinuxContainerSecurityContext.privileged and run_as_user; the CRI does not say.
    """
    process = privileged_process(runtime, shared, EXEC, run_as_user={"value": 1000}).status

    observe("has effective capabilities" if process.capabilities["effective"] else "has none in effect")
    assert process.uids == (1000,) * 4


@requirement("PRV-11")
def test_paths_to_hide_mean_nothing_to_privileged_processes(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """Masked and read-only paths in the request of a privileged container MUST NOT be masked or read-only.

    Source: LinuxContainerSecurityContext.privileged, masked_paths and readonly_paths.
    """
    process = privileged(runtime, shared, seen_from, masked_paths=MASKED_PATHS, readonly_paths=READONLY_PATHS)

    assert hidden(process) == []


@requirement("PRV-06/differing")
def test_a_sandbox_that_is_called_privileged_afterwards(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, observe: Observe
) -> None:
    """A privileged container whose request calls the sandbox privileged, which was made without, MAY be
    refused or made; the sandbox stays READY.

    Source: CreateContainerRequest.sandbox_config, which is to be that of RunPodSandbox; runtimes differ.
    """
    request = containers.creation(containers.config(security_context=context(privileged=True)), own_sandbox)
    request.sandbox_config.linux.security_context.privileged = True

    try:
        answer = runtime.stub.CreateContainer(request)
    except grpc.RpcError as error:
        observe(f"refused with {refused_with(error).name}")
    else:
        observe("made")
        containers.adopt(answer.container_id, request.config, own_sandbox)
    assert own_sandbox.state() == cri.SANDBOX_READY
