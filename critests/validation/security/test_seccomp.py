"""SCP: the system calls that a container's processes may make, verified by making them."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    STREAMING_EXEC,
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    SharedContainers,
    blocked,
    may_be_refused,
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
from critests.validation.security.daemon import blocked_without_daemon_capabilities
from critests.validation.security.seccomp_profiles import OTHER_PERSONALITY

# with a kernel of the sandbox's own, profiles do not decide which system calls reach the node's kernel
pytestmark = requires(Capability.SECCOMP, Capability.SAME_HOST, Capability.SHARED_KERNEL)
FILTER = 2  # SECCOMP_MODE_FILTER, seccomp(2)
NEW_USER_NAMESPACE = 0x10000000  # CLONE_NEWUSER
SIGCHLD = 17
"""In the flags of clone(2): the parent gets this signal when the child exits, as a shell expects."""
KILLED_BY_SIGSYS = 128 + 31  # 31 is SIGSYS
DENIED = "EPROTO"
DENIED_BY = {"logs": set[str](), "arguments": {"change"}, "architectures": {"query", "change"}}
"""The calls of `QUESTIONS` that each profile denies."""
QUESTIONS = {
    # the argument of a query, personality(2)
    "query": system_call("personality", 0xFFFFFFFF),
    "change": system_call("personality", OTHER_PERSONALITY),
    "other call": system_call("getuid"),
    "make a user namespace": system_call("unshare", NEW_USER_NAMESPACE),
    # clone(2) creates namespaces, too: to deny unshare(2) is not enough
    "make a process in one": system_call("clone", NEW_USER_NAMESPACE | SIGCHLD, 0, 0, 0, 0),
}


def localhost(profiles: Path, name: str) -> cri.SecurityProfile:
    """Return the request for one of the suite's profiles."""
    return cri.SecurityProfile(
        profile_type=cri.SecurityProfile.Localhost, localhost_ref=str(profiles / f"{name}.json")
    )


@requirement("SCP-01/filter")
def test_runtime_default_sets_a_seccomp_filter(shared_containers: SharedContainers, seen_from: str) -> None:
    """Every process of a container with RuntimeDefault MUST have a seccomp filter.

    Source: SecurityProfile.profile_type.
    """
    process = shared_containers.process(
        seen_from, questions=QUESTIONS, security_context=context(seccomp=RUNTIME_DEFAULT)
    )

    assert process.status.seccomp_mode == FILTER


@requirement("SCP-01/content")
def test_runtime_default_denies_new_user_namespaces(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The runtime's default profile SHOULD deny the creation of a user namespace without SYS_ADMIN.

    Source: SecurityProfile.profile_type; the runtime chooses what its profile denies.
    """
    unconfined = shared_containers.process(
        seen_from, questions=QUESTIONS, security_context=context(seccomp=UNCONFINED)
    )
    if error_of(unconfined.answer("make a user namespace")) != "":
        blocked("needs a kernel that lets a container without a filter make a user namespace")

    process = shared_containers.process(
        seen_from, questions=QUESTIONS, security_context=context(seccomp=RUNTIME_DEFAULT)
    )

    for way in ("make a user namespace", "make a process in one"):
        assert error_of(process.answer(way)) != "", f"the profile allows to {way}"
    assert error_of(process.answer("other call")) == ""


@requirement("SCP-14")
def test_runtime_default_permits_what_an_added_capability_needs(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The runtime's default profile SHOULD permit the creation of a user namespace with SYS_ADMIN.

    Source: LinuxContainerSecurityContext.capabilities; not stated by the CRI, otherwise the capability that
    the request adds would have no effect.
    """
    added = cri.Capability(add_capabilities=["SYS_ADMIN"])
    for seccomp in (UNCONFINED, RUNTIME_DEFAULT):
        process = shared_containers.process(
            seen_from,
            questions=QUESTIONS,
            security_context=context(seccomp=seccomp, capabilities=added),
        )
        error = error_of(process.answer("make a user namespace"))
        if seccomp is UNCONFINED and error != "":
            blocked("needs a kernel that lets a container without a filter make a user namespace")

    assert error == ""


@requirement("SCP-02")
def test_unconfined_sets_no_seccomp_filter(shared_containers: SharedContainers, seen_from: str) -> None:
    """A process of a container with Unconfined MUST NOT have a seccomp filter.

    Source: SecurityProfile.profile_type.
    """
    process = shared_containers.process(
        seen_from, questions=QUESTIONS, security_context=context(seccomp=UNCONFINED)
    )

    assert process.status.seccomp_mode == 0
    assert error_of(process.answer("query")) == ""


@requirement("SCP-03")
def test_localhost_seccomp_profile_denies_its_system_calls(
    shared_containers: SharedContainers, profiles: Path, seen_from: str
) -> None:
    """A system call that a Localhost profile denies MUST fail with the profile's error, and other calls MUST
    succeed.

    Source: SecurityProfile.localhost_ref.
    """
    security_context = context(seccomp=localhost(profiles, "refuses"))

    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=security_context)

    assert process.status.seccomp_mode == FILTER
    assert error_of(process.answer("query")) == DENIED
    assert error_of(process.answer("other call")) == ""


@requirement("SCP-03")
def test_localhost_seccomp_profile_kills_the_caller(
    shared_containers: SharedContainers, profiles: Path, seen_from: str
) -> None:
    """A system call for which a Localhost profile has the action KILL MUST kill its process with SIGSYS.

    Source: SecurityProfile.localhost_ref; seccomp(2).
    """
    security_context = context(seccomp=localhost(profiles, "kills"))

    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=security_context)

    assert process.exit_code("query") == KILLED_BY_SIGSYS
    assert error_of(process.answer("other call")) == ""


@requirement("SCP-04")
@pytest.mark.parametrize("reference", ["missing", "broken", "relative", "empty"])
def test_invalid_seccomp_profile_is_refused(containers: Containers, profiles: Path, reference: str) -> None:
    """CreateContainer or StartContainer MUST fail if the profile is missing or not valid JSON, or its path is
    relative or empty.

    Source: SecurityProfile.localhost_ref, an absolute path.
    """
    profile = localhost(profiles, "missing")
    if reference == "broken":
        profile = localhost(profiles, "broken")
    elif reference == "relative":
        profile.localhost_ref = "refuses.json"
    elif reference == "empty":
        profile.localhost_ref = ""
    config = containers.config(security_context=context(seccomp=profile))

    containers.refusal(config)


@requirement("SCP-05")
@pytest.mark.parametrize("profile", [UNCONFINED, RUNTIME_DEFAULT], ids=["unconfined", "default"])
def test_localhost_ref_has_no_effect_with_other_types(
    shared_containers: SharedContainers, profiles: Path, profile: cri.SecurityProfile
) -> None:
    """A `localhost_ref` with another type than Localhost SHOULD be rejected, or have no effect.

    Source: SecurityProfile.localhost_ref, which belongs to Localhost.
    """
    profile_with_path = cri.SecurityProfile(
        profile_type=profile.profile_type, localhost_ref=str(profiles / "refuses.json")
    )

    with may_be_refused():
        process = shared_containers.process(
            EXEC, questions=QUESTIONS, security_context=context(seccomp=profile_with_path)
        )
        plain = shared_containers.process(
            EXEC, questions=QUESTIONS, security_context=context(seccomp=profile)
        )
        assert error_of(process.answer("query")) == error_of(plain.answer("query"))
        assert process.status.seccomp_mode == plain.status.seccomp_mode


@requirement("SCP-06/unconfined")
@pytest.mark.parametrize("seen_from", [FIRST_PROCESS, EXEC])
def test_no_seccomp_filter_without_a_profile(
    runtime: Runtime, containers: Containers, seen_from: str
) -> None:
    """A process of a container without a profile MUST NOT have a seccomp filter, unless the runtime's
    configuration sets a default.

    Source: LinuxContainerSecurityContext.seccomp; its deprecated predecessor means unconfined when empty.
    """
    config = containers.config()
    config.linux.security_context.ClearField("seccomp")

    mode = containers.attempt(config).process_status(seen_from).seccomp_mode

    if mode == FILTER and not runtime.context.throwaway:
        blocked("needs a runtime whose configuration sets no default profile, as --node starts one")
    assert mode == 0


@requirement("SCP-06/configured")
def test_form_of_seccomp_without_a_profile(containers: Containers, record_variant: RecordVariant) -> None:
    """A process of a container without a profile MAY be unconfined, or under a configured default profile.

    Source: LinuxContainerSecurityContext.seccomp.
    """
    config = containers.config()
    config.linux.security_context.ClearField("seccomp")

    container = containers.attempt(config)

    mode = container.process_status(EXEC).seccomp_mode
    record_variant({0: "is unconfined", FILTER: "is under a default"}.get(mode, f"is in mode {mode}"))
    assert mode in {0, FILTER}


@requirement("SCP-08")
def test_seccomp_profile_does_not_apply_to_privileged_processes(
    runtime: Runtime, shared_containers: SharedContainers, profiles: Path, seen_from: str
) -> None:
    """A privileged process MUST NOT have a seccomp filter, even if the request names a profile.

    Source: LinuxContainerSecurityContext.privileged.
    """
    pod = shared_containers.sandbox(security_context=pod_context(privileged=True))
    security_context = context(privileged=True, seccomp=localhost(profiles, "refuses"))

    with blocked_without_daemon_capabilities(runtime):
        process = shared_containers.process(
            seen_from, in_sandbox=pod, questions=QUESTIONS, security_context=security_context
        )

    assert process.status.seccomp_mode == 0
    assert error_of(process.answer("query")) == ""


@requirement("SCP-09")
@pytest.mark.parametrize("profile", DENIED_BY)
def test_rules_of_a_profile_are_preserved(
    shared_containers: SharedContainers, profiles: Path, profile: str, seen_from: str
) -> None:
    """A profile SHOULD be able to log a call, to match its arguments, and to list architectures.

    Source: SecurityProfile.localhost_ref; seccomp in the OCI runtime specification.
    """
    security_context = context(seccomp=localhost(profiles, profile))

    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=security_context)

    denied = {name for name in ("query", "change") if error_of(process.answer(name)) == DENIED}
    assert denied == DENIED_BY[profile]
    assert process.status.seccomp_mode == FILTER


@requirement("SCP-10")
@pytest.mark.parametrize("seen_from", [EXEC, STREAMING_EXEC])
def test_seccomp_profile_applies_to_commands(
    shared_containers: SharedContainers, profiles: Path, seen_from: str
) -> None:
    """A command run with ExecSync or Exec MUST be under the profile of its container.

    Source: ExecSync and Exec; SecurityProfile.
    """
    security_context = context(seccomp=localhost(profiles, "refuses"))

    command = shared_containers.process(seen_from, questions=QUESTIONS, security_context=security_context)

    assert (command.status.seccomp_mode, error_of(command.answer("change"))) == (FILTER, DENIED)


@requirement("SCP-11")
def test_seccomp_profile_applies_without_no_new_privs(
    shared_containers: SharedContainers, profiles: Path, seen_from: str
) -> None:
    """A process that is not root MUST be under the profile, even without `no_new_privs`.

    Source: LinuxContainerSecurityContext.seccomp and no_new_privs; seccomp(2) requires CAP_SYS_ADMIN or
    no_new_privs to install a filter.
    """
    security_context = context(1000, seccomp=localhost(profiles, "refuses"))

    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=security_context)

    assert (process.status.uids[0], process.status.no_new_privs) == (1000, False)
    assert (process.status.seccomp_mode, error_of(process.answer("query"))) == (FILTER, DENIED)


@requirement("SCP-07")
def test_form_of_the_deprecated_path_of_a_profile(
    containers: Containers, record_variant: RecordVariant
) -> None:
    """The deprecated path of a profile MAY be ignored, or be rejected if it does not exist; if the container
    runs, the profile of the newer field is in force.

    Source: LinuxContainerSecurityContext.seccomp_profile_path and seccomp.
    """
    confined = context(seccomp=RUNTIME_DEFAULT, seccomp_profile_path="localhost//critests/no-such-profile")

    running: list[Container] = []
    with may_be_refused():
        running.append(containers.attempt(containers.config(security_context=confined)))

    record_variant("is ignored" if running else "is looked for")
    assert [container.process_status().seccomp_mode for container in running] == [FILTER] * len(running)
