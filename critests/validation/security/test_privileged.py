"""PRV: the privileges of a privileged container, and what a request for one requires."""

import os
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.requests import READONLY_PATHS
from critests.testing import (
    EXEC,
    MASKED_PATHS,
    Capability,
    Containers,
    ProcessEvidence,
    RecordVariant,
    Runtime,
    Sandbox,
    SharedContainers,
    refused_with,
    requirement,
    requires,
)
from critests.validation.security.contexts import (
    RUNTIME_DEFAULT,
    UNCONFINED,
    context,
    error_of,
    pod_context,
    system_call,
)
from critests.validation.security.daemon import daemon_capabilities, privileged_process

DEVICES = Path("/dev")
ROOT_SETS = ("bounding", "permitted", "effective")
NOT_PASSED_ON = {"pts", "shm", "fd", "mqueue", ".lxc", ".lxd-mounts", ".udev", "console"}
"""Names in /dev that every container has of its own, or that belong to the machine's container manager."""
QUESTIONS = {
    # -L: /dev/ptmx is a link to pts/ptmx in a container
    "devices": "stat -L -c '%n %t:%T' $(find /dev '(' -type b -o -type c -o -name ptmx ')')",
    # the kernel's log (1, 11), which no container may open by default; -100 is AT_FDCWD
    "open a device": "mknod /kmsg.$$ c 1 11 && " + system_call("openat", -100, "/dev/kmsg", 0),
}


def privileged(
    runtime: Runtime,
    shared_containers: SharedContainers,
    seen_from: str,
    **fields: Any,  # noqa: ANN401 - fields of the message
) -> ProcessEvidence:
    """Return the evidence of a process of a privileged container in a privileged sandbox."""
    return privileged_process(runtime, shared_containers, seen_from, QUESTIONS, **fields)


def protected_places(process: ProcessEvidence) -> list[str]:
    """Return the places below /proc and /sys that are mounted over or read-only."""
    return [
        mount.place
        for mount in process.mounts
        if mount.place.startswith(("/proc", "/sys/firmware")) or mount.place == "/sys"
        # runtimes mask a directory by an empty tmpfs, and a file by /dev/null
        if mount.read_only or mount.kind == "tmpfs" or mount.root == "/null"
    ]


def cgroups_read_only(process: ProcessEvidence) -> set[bool]:
    """Return whether the mounts of cgroup file systems are read-only."""
    return {mount.read_only for mount in process.mounts if mount.kind in {"cgroup", "cgroup2"}}


@requirement("PRV-01")
@requires(Capability.SHARED_KERNEL)
def test_privileged_processes_have_every_capability(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A privileged root process MUST have every capability of the daemon in its bounding, permitted and
    effective sets.

    Source: LinuxContainerSecurityContext.privileged.
    """
    sets = privileged(runtime, shared_containers, seen_from).status.capabilities

    expected = daemon_capabilities(runtime)
    assert {name: sets[name] for name in ROOT_SETS} == {name: expected for name in ROOT_SETS}  # noqa: C420 - unchanged


@requirement("PRV-02")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST)
def test_privileged_containers_have_the_devices_of_the_host(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A privileged container MUST have every device of the host's /dev with its numbers, and MUST be able to
    open them.

    Source: LinuxContainerSecurityContext.privileged.
    """
    expected = host_devices(runtime)

    process = privileged(runtime, shared_containers, seen_from)

    present = dict(line.split() for line in process.answer("devices").splitlines())
    assert {path: present.get(path) for path in expected} == expected
    assert error_of(process.answer("open a device")) == ""


def host_devices(runtime: Runtime) -> dict[str, str]:
    """Return the numbers of the host's devices by path, in the format of stat(1)."""
    top, devices = runtime.seen_by_daemon(DEVICES), dict[str, str]()
    for text, folders, files in os.walk(top):
        folder = Path(text)
        if folder == top:
            folders[:] = [name for name in folders if name not in NOT_PASSED_ON]
        for name in files:
            status = (folder / name).lstat()
            if name in NOT_PASSED_ON or not (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)):
                continue
            numbers = f"{os.major(status.st_rdev):x}:{os.minor(status.st_rdev):x}"
            devices[str(DEVICES / folder.relative_to(top) / name)] = numbers
    return devices


@requirement("PRV-03")
def test_no_path_is_protected_from_privileged_processes(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A privileged process MUST find /sys and /proc writable, and nothing in them masked or read-only.

    Source: LinuxContainerSecurityContext.privileged.
    """
    assert protected_places(privileged(runtime, shared_containers, seen_from)) == []


@requirement("PRV-04")
@requires(Capability.SHARED_KERNEL)
def test_privileged_processes_can_write_cgroups_and_others_cannot(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """The cgroup file systems SHOULD be writable in a privileged container and read-only in others.

    Source: LinuxContainerSecurityContext.privileged; not stated by the CRI.
    """
    assert cgroups_read_only(privileged(runtime, shared_containers, seen_from)) == {False}
    assert cgroups_read_only(shared_containers.process(seen_from)) == {True}


@requirement("PRV-05")
@pytest.mark.parametrize("profile", [RUNTIME_DEFAULT, UNCONFINED], ids=["default", "unconfined"])
def test_privileged_processes_are_not_confined(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str, profile: object
) -> None:
    """A privileged process MUST NOT have a seccomp filter or an AppArmor profile, even if the request has the
    runtime's default.

    Source: LinuxContainerSecurityContext.privileged.
    """
    process = privileged(runtime, shared_containers, seen_from, seccomp=profile)

    assert process.status.seccomp_mode == 0
    assert not process.has_apparmor_profile, process.label


@requirement("PRV-06/error")
def test_privileged_container_in_an_unprivileged_sandbox_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail for a privileged container in an unprivileged sandbox.

    Source: LinuxSandboxSecurityContext.privileged.
    """
    config = containers.config(security_context=context(privileged=True))

    containers.refusal(config)


@requirement("PRV-07")
@requires(Capability.SHARED_KERNEL)
def test_other_containers_of_a_privileged_sandbox_are_confined(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """An unprivileged container MUST be confined in a privileged sandbox as in any other.

    Source: LinuxSandboxSecurityContext.privileged, LinuxContainerSecurityContext.privileged.
    """
    pod = shared_containers.sandbox(security_context=pod_context(privileged=True))
    confined = context(seccomp=RUNTIME_DEFAULT)

    inside = shared_containers.process(seen_from, in_sandbox=pod, security_context=confined)
    elsewhere = shared_containers.process(seen_from, security_context=confined)

    assert inside.status.capabilities == elsewhere.status.capabilities
    # mode 2: a seccomp filter is in force
    assert inside.status.seccomp_mode == 2
    assert protected_places(inside) == protected_places(elsewhere) != []
    assert cgroups_read_only(inside) == {True}


@requirement("PRV-08")
def test_form_of_a_privileged_user_that_is_not_root(
    runtime: Runtime, shared_containers: SharedContainers, record_variant: RecordVariant
) -> None:
    """A privileged process MUST have the requested user; its effective capabilities then MAY differ.

    Source: LinuxContainerSecurityContext.privileged and run_as_user; the CRI does not say.
    """
    process = privileged_process(runtime, shared_containers, EXEC, run_as_user={"value": 1000}).status

    record_variant(
        "has effective capabilities" if process.capabilities["effective"] else "has none in effect"
    )
    # real, effective, saved and file system UID, proc(5)
    assert process.uids == (1000,) * 4


@requirement("PRV-11")
def test_masked_and_read_only_paths_do_not_apply_to_privileged_processes(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """The `masked_paths` and `readonly_paths` of a privileged container MUST NOT be masked or read-only.

    Source: LinuxContainerSecurityContext.privileged, masked_paths and readonly_paths.
    """
    process = privileged(
        runtime, shared_containers, seen_from, masked_paths=MASKED_PATHS, readonly_paths=READONLY_PATHS
    )

    assert protected_places(process) == []


@requirement("PRV-06/differing")
def test_form_of_a_privileged_container_with_another_sandbox_config(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, record_variant: RecordVariant
) -> None:
    """CreateContainer MAY reject or accept a privileged container whose `sandbox_config` is privileged in an
    unprivileged sandbox; the sandbox stays READY.

    Source: CreateContainerRequest.sandbox_config, which should be that of RunPodSandbox; runtimes differ.
    """
    request = containers.creation(containers.config(security_context=context(privileged=True)), own_sandbox)
    request.sandbox_config.linux.security_context.privileged = True

    try:
        response = runtime.stub.CreateContainer(request)
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
    else:
        record_variant("made")
        containers.adopt(response.container_id, request.config, own_sandbox)
    assert own_sandbox.state() == cri.SANDBOX_READY
