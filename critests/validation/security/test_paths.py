"""SEC: masked and read-only paths, those of the kubelet and others."""

import pytest

from critests.testing import (
    MASKED_PATHS,
    Capability,
    Containers,
    Runtime,
    SharedContainers,
    requirement,
    requires,
    with_user_namespace,
)
from critests.validation.security.contexts import context, error_of, system_call

WRITE_ONLY = 1  # O_WRONLY
WRITE_ONLY_AND_CREATE = 0o101  # O_WRONLY | O_CREAT
AT_FDCWD = -100
PROTECTED = context(
    masked_paths=["/etc/group", "/home", "/no/such/path"],
    readonly_paths=["/etc/passwd", "/root", "/no/such/file"],
)
"""Masks a file, a directory and a missing path, and makes the same three kinds of path read-only."""


def read_command(path: str) -> str:
    """Return a command that prints the contents of a file or a directory; nothing if that is denied."""
    return (
        # 64 bytes show that a file is not empty; some, as /proc/kcore, are very large
        f"if [ -d {path} ]; then ls -A {path}; elif [ -e {path} ]; then head -c 64 {path}; fi 2>/dev/null; :"
    )


def open_command(path: str) -> str:
    """Return a command that opens a file for writing, and writes nothing."""
    return system_call("openat", AT_FDCWD, path, WRITE_ONLY)


QUESTIONS = {
    **{path: read_command(path) for path in (*MASKED_PATHS, "/etc/group", "/home")},
    "write a file": open_command("/etc/passwd"),
    "write in a directory": system_call("openat", AT_FDCWD, "/root/new", WRITE_ONLY_AND_CREATE, 0o600),
    # a parameter of the UTS namespace, not of the whole node
    "write a setting": open_command("/proc/sys/kernel/domainname"),
    "write core_pattern": open_command("/proc/sys/kernel/core_pattern"),
    "write sysrq-trigger": open_command("/proc/sysrq-trigger"),
}


@requirement("SEC-04")
@pytest.mark.parametrize("path", ["/etc/group", "/home"], ids=["file", "directory"])
def test_masked_paths_look_empty(shared_containers: SharedContainers, seen_from: str, path: str) -> None:
    """A masked directory MUST appear empty to every process, and a masked file MUST be empty or denied.

    Source: LinuxContainerSecurityContext.masked_paths.
    """
    plain = shared_containers.process(seen_from, questions=QUESTIONS)
    masked = shared_containers.process(seen_from, questions=QUESTIONS, security_context=PROTECTED)

    assert plain.answer(path) != ""
    assert masked.answer(path) == ""


@requirement("SEC-05")
@pytest.mark.parametrize("attempt", ["write a file", "write in a directory"])
def test_read_only_paths_cannot_be_written(
    shared_containers: SharedContainers, seen_from: str, attempt: str
) -> None:
    """A read-only path, file or directory, MUST reject writes with the error of a read-only file system.

    Source: LinuxContainerSecurityContext.readonly_paths.
    """
    plain = shared_containers.process(seen_from, questions=QUESTIONS)
    protected = shared_containers.process(seen_from, questions=QUESTIONS, security_context=PROTECTED)

    assert error_of(plain.answer(attempt)) == ""
    assert error_of(protected.answer(attempt)) == "EROFS"


@requirement("SEC-06")
def test_no_path_is_protected_if_the_lists_are_empty(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """Paths below /proc MUST NOT be masked or read-only if `masked_paths` and `readonly_paths` are empty.

    Source: LinuxContainerSecurityContext.masked_paths and readonly_paths; the kubelet sends them empty for
    the proc mount Unmasked.
    """
    process = shared_containers.process(seen_from, questions=QUESTIONS, unmasked=True)

    hidden = [mount.place for mount in process.mounts if mount.place.startswith("/proc/")]
    assert hidden == []
    assert not [mount for mount in process.mounts if mount.place == "/proc" and mount.read_only]
    assert error_of(process.answer("write a setting")) != "EROFS"


@requirement("SEC-06")
@requires(Capability.USER_NAMESPACES)
def test_no_path_is_protected_in_a_user_namespace_if_the_lists_are_empty(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The proc file system MUST be one writable mount in a pod with a user namespace if `masked_paths` and
    `readonly_paths` are empty.

    Source: LinuxContainerSecurityContext.masked_paths and readonly_paths; the kubelet sends them empty for
    the proc mount Unmasked, for which Kubernetes requires a user namespace.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())

    process = shared_containers.process(seen_from, in_sandbox=pod, questions=QUESTIONS, unmasked=True)

    mounts = [mount for mount in process.mounts if f"{mount.place}/".startswith("/proc/")]
    assert [(mount.place, mount.kind, mount.read_only) for mount in mounts] == [("/proc", "proc", False)]


@requirement("SEC-07")
def test_missing_paths_are_ignored(containers: Containers) -> None:
    """Masked and read-only paths that the container does not have MUST be ignored.

    Source: LinuxContainerSecurityContext.masked_paths and readonly_paths; the OCI runtime specification.
    """
    missing = ["/no/such/path", "/proc/no-such-file"]
    config = containers.config(
        security_context=context(masked_paths=missing, readonly_paths=missing), first="echo runs"
    )

    container = containers.attempt(config)

    assert container.wait_for_log("runs") == ["runs"]


@requirement("SEC-13")
@pytest.mark.parametrize("attempt", ["write core_pattern", "write sysrq-trigger"])
def test_kernel_parameters_cannot_be_written(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str, attempt: str
) -> None:
    """The kernel parameters in /proc/sys, and /proc/sysrq-trigger, MUST NOT be writable with the kubelet's
    paths, not even for root.

    Source: LinuxContainerSecurityContext.readonly_paths.
    """
    runtime.require_host_kernel()

    process = shared_containers.process(seen_from, questions=QUESTIONS)

    # not every kernel has sysrq-trigger
    assert error_of(process.answer(attempt)) in {"EROFS", "ENOENT"}


@requirement("SEC-13")
def test_paths_that_the_kubelet_masks_look_empty(shared_containers: SharedContainers, seen_from: str) -> None:
    """Every path that the kubelet masks, /proc/kcore and /proc/keys among them, MUST read as empty or be
    denied.

    Source: LinuxContainerSecurityContext.masked_paths.
    """
    process = shared_containers.process(seen_from, questions=QUESTIONS)

    assert {path: process.answer(path) for path in MASKED_PATHS} == dict.fromkeys(MASKED_PATHS, "")
