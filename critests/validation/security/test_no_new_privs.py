"""SEC: no_new_privs, verified with a set-user-ID program."""

from critests.testing import Runtime, SharedContainers, requirement
from critests.validation.security.contexts import context, result_of, system_call

QUESTIONS = {"effective user": system_call("geteuid", program="/bin/setuid-sys")}
"""Runs geteuid(2) in a program that belongs to root and has the set-user-ID bit."""


@requirement("SEC-08")
def test_setuid_program_retains_the_user_with_no_new_privs(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process with `no_new_privs` MUST retain its user when it executes a set-user-ID program of root.

    Source: LinuxContainerSecurityContext.no_new_privs.
    """
    process = shared_containers.process(
        seen_from, image="setuid", questions=QUESTIONS, security_context=context(1000, no_new_privs=True)
    )

    # a kernel of the sandbox's own need not show the flag in /proc
    if not runtime.has_guest_kernel:
        assert process.status.no_new_privs
    assert result_of(process.answer("effective user")) == 1000


@requirement("SEC-09")
def test_setuid_program_runs_as_root_without_no_new_privs(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A set-user-ID program of root MUST run as root without `no_new_privs`.

    Source: LinuxContainerSecurityContext.no_new_privs.
    """
    # a kernel of the sandbox's own may ignore the set-user-ID bit
    runtime.require_host_kernel()

    process = shared_containers.process(
        seen_from, image="setuid", questions=QUESTIONS, security_context=context(1000)
    )

    assert not process.status.no_new_privs
    assert result_of(process.answer("effective user")) == 0
