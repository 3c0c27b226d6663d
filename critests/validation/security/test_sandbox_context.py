"""SEC: the security context of a sandbox, in the process that a runtime may run for it."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    ConditionNotMet,
    ProcessStatus,
    Runtime,
    Sandboxes,
    process_of_sandbox,
    requirement,
    requires,
)
from critests.validation.security.contexts import RUNTIME_DEFAULT, pod_context

ProcessOf = Callable[[cri.LinuxSandboxSecurityContext], ProcessStatus]

USER, GROUP, SUPPLEMENTAL_GROUPS = 1000, 2000, [3100, 3200]
FILTER = 2
"""The seccomp mode in /proc/PID/status of a process with a filter."""

PROFILE = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["personality"], "action": "SCMP_ACT_ERRNO"}],
}

pytestmark = requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.SAME_HOST)


def profile_at(path: Path) -> cri.LinuxSandboxSecurityContext:
    """Return a sandbox security context with a seccomp profile of the node."""
    profile = cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=str(path))
    return cri.LinuxSandboxSecurityContext(seccomp=profile)


def runs_its_own_program(pid: int) -> bool:
    """Return whether a process runs a program of its own root, and not the OCI runtime that starts it."""
    program = Path(f"/proc/{pid}/exe")
    try:
        return program.samefile(Path(f"/proc/{pid}/root{program.readlink()}"))
    except OSError:
        return False


@pytest.fixture
def process_of(runtime: Runtime, sandboxes: Sandboxes) -> ProcessOf:
    """Creates a sandbox with a security context and returns /proc/PID/status of its process."""

    def run(context: cri.LinuxSandboxSecurityContext) -> ProcessStatus:
        config = sandboxes.config()
        config.linux.security_context.MergeFrom(context)
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config))
        pid = process_of_sandbox(sandboxes.adopt(response.pod_sandbox_id, config))
        # some OCI runtimes return before the process has executed the image's program, under its filter
        with contextlib.suppress(ConditionNotMet):
            runtime.eventually("the program of the sandbox", lambda: runs_its_own_program(pid), 5)
        return ProcessStatus.parse(Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))

    return run


@requirement("SEC-16/user")
def test_the_process_of_a_sandbox_has_its_user_and_group(process_of: ProcessOf) -> None:
    """The process of a sandbox SHOULD have the user and the group of its security context.

    Source: LinuxSandboxSecurityContext.run_as_user and run_as_group.
    """
    context = pod_context(USER)
    context.run_as_group.value = GROUP

    process = process_of(context)

    assert (process.uids, process.gids) == ((USER,) * 4, (GROUP,) * 4)


@requirement("SEC-16/groups")
@pytest.mark.parametrize("user", [None, USER], ids=["alone", "with a user"])
def test_the_process_of_a_sandbox_has_its_supplemental_groups(
    process_of: ProcessOf, user: int | None
) -> None:
    """The process of a sandbox SHOULD have the `supplemental_groups` of its security context.

    Source: LinuxSandboxSecurityContext.supplemental_groups.
    """
    process = process_of(pod_context(user, supplemental_groups=SUPPLEMENTAL_GROUPS))

    assert process.groups >= set(SUPPLEMENTAL_GROUPS)


@requirement("SEC-16/filter")
def test_the_process_of_a_sandbox_has_the_runtime_default_filter(process_of: ProcessOf) -> None:
    """The process of a sandbox SHOULD have a seccomp filter if its security context requests RuntimeDefault.

    Source: LinuxSandboxSecurityContext.seccomp.
    """
    process = process_of(cri.LinuxSandboxSecurityContext(seccomp=RUNTIME_DEFAULT))

    assert process.seccomp_mode == FILTER


@requirement("SEC-16/filter")
def test_the_process_of_a_sandbox_has_a_localhost_filter(process_of: ProcessOf, host_folder: Path) -> None:
    """The process of a sandbox SHOULD have a seccomp filter if the request names a profile of the node.

    Source: LinuxSandboxSecurityContext.seccomp, SecurityProfile.localhost_ref.
    """
    path = host_folder / "profile.json"
    path.write_text(json.dumps(PROFILE), encoding="utf-8")

    process = process_of(profile_at(path))

    assert process.seccomp_mode == FILTER


@requirement("SEC-16/filter")
def test_sandbox_with_a_missing_seccomp_profile_is_refused(
    runtime: Runtime, sandboxes: Sandboxes, host_folder: Path
) -> None:
    """RunPodSandbox SHOULD reject a sandbox whose seccomp profile does not exist on the node.

    Source: SecurityProfile.localhost_ref. Not stated by the CRI; any other filter, or none, would not be the
    requested one.
    """
    config = sandboxes.config()
    config.linux.security_context.MergeFrom(profile_at(host_folder / "missing.json"))

    runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))
