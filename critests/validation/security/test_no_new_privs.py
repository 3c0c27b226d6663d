"""SEC: no_new_privs, with a program that would really gain something."""

from critests.fixtures.runtime import Runtime
from critests.fixtures.shared_containers import SharedContainers
from critests.run.marks import requirement
from critests.validation.security.contexts import context, outcome, system_call

GAINING = {"who am I": system_call("geteuid", program="/bin/setuid-sys")}
"""Asks who is in effect, in a program that belongs to root and has the set-user-id bit."""


@requirement("SEC-08")
def test_no_new_privs_keeps_a_setuid_program_from_gaining(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """With no_new_privs a program that belongs to root and has the set-user-id bit MUST run as whoever starts
    it.

    Source: LinuxContainerSecurityContext.no_new_privs.
    """
    process = shared.process(
        seen_from, image="setuid", questions=GAINING, security_context=context(1000, no_new_privs=True)
    )

    # a kernel of the sandbox's own need not tell it
    assert process.status.no_new_privs or runtime.own_kernel
    assert outcome(process.answer("who am I")) == (1000, 0)


@requirement("SEC-09")
def test_without_no_new_privs_a_setuid_program_gains(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """Without no_new_privs a program that belongs to root and has the set-user-id bit MUST run as root.

    Source: LinuxContainerSecurityContext.no_new_privs.
    """
    # one of the sandbox's own may know no such programs
    runtime.need_our_kernel()

    process = shared.process(seen_from, image="setuid", questions=GAINING, security_context=context(1000))

    assert not process.status.no_new_privs
    assert outcome(process.answer("who am I")) == (0, 0)
