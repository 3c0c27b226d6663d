"""AAR: the AppArmor profile of a container's processes, on a kernel with AppArmor."""

from collections.abc import Iterator
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    STREAMING_EXEC,
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    SharedContainers,
    requirement,
    requires,
)
from critests.validation.security.apparmor_profiles import FORBIDDEN, LoadedProfiles, loaded
from critests.validation.security.contexts import RUNTIME_DEFAULT, UNCONFINED, context
from critests.validation.security.daemon import privileged_process

pytestmark = requires(Capability.APPARMOR, Capability.SHARED_KERNEL, Capability.ROOT)

QUESTIONS = {"write": f"touch {FORBIDDEN} 2>/dev/null && echo done || echo denied"}
NO_PROFILE_OF_THE_NODE: dict[str, Any] = {
    "no field at all": {},
    "default": {"apparmor": RUNTIME_DEFAULT},
    "unconfined": {"apparmor": UNCONFINED},
}
COMMANDS = (EXEC, STREAMING_EXEC)


@pytest.fixture(scope="module")
def loaded_profiles() -> Iterator[LoadedProfiles]:
    """The suite's profiles, loaded into the kernel."""
    with loaded() as names:
        yield names


@pytest.fixture
def profiles(request: pytest.FixtureRequest) -> LoadedProfiles:
    """The loaded profiles, requested only after the check that the kernel has AppArmor."""
    names: LoadedProfiles = request.getfixturevalue("loaded_profiles")
    return names


@requirement("AAR-01")
def test_localhost_apparmor_profile_is_in_force(
    shared_containers: SharedContainers, profiles: LoadedProfiles
) -> None:
    """The first process of a container with Localhost MUST run under the named profile in enforce mode, which
    denies what its rules deny.

    Source: SecurityProfile.localhost_ref.
    """
    process = shared_containers.process(
        FIRST_PROCESS, questions=QUESTIONS, security_context=profiles.enforced
    )

    assert process.label == f"{profiles.enforcing} (enforce)"
    assert process.answer("write") == "denied"


@requirement("AAR-02")
def test_unloaded_apparmor_profile_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail for a profile that is not loaded into the kernel.

    Source: SecurityProfile.localhost_ref.
    """
    missing = cri.SecurityProfile(
        profile_type=cri.SecurityProfile.Localhost, localhost_ref="critests-no-such-profile"
    )

    containers.refusal(containers.config(security_context=context(apparmor=missing)))


@requirement("AAR-03")
def test_runtime_default_apparmor_profile_is_in_force(shared_containers: SharedContainers) -> None:
    """The first process of a container with RuntimeDefault MUST run under a profile in enforce mode.

    Source: SecurityProfile.profile_type.
    """
    process = shared_containers.process(FIRST_PROCESS, security_context=context(apparmor=RUNTIME_DEFAULT))

    assert process.label.endswith("(enforce)")


@requirement("AAR-04")
def test_unconfined_container_has_no_apparmor_profile(shared_containers: SharedContainers) -> None:
    """The first process of a container with Unconfined MUST run without a profile.

    Source: SecurityProfile.profile_type.
    """
    process = shared_containers.process(FIRST_PROCESS, security_context=context(apparmor=UNCONFINED))

    assert process.label
    assert not process.has_apparmor_profile, process.label


@requirement("AAR-05")
def test_apparmor_field_overrides_the_deprecated_one(
    shared_containers: SharedContainers, profiles: LoadedProfiles
) -> None:
    """The field `apparmor` SHOULD override the deprecated `apparmor_profile` if they differ.

    Source: LinuxContainerSecurityContext.apparmor and apparmor_profile.
    """
    both = context(apparmor=profiles.request(profiles.enforcing), apparmor_profile="unconfined")

    process = shared_containers.process(FIRST_PROCESS, security_context=both)

    assert process.label == f"{profiles.enforcing} (enforce)"


@requirement("AAR-11")
@pytest.mark.parametrize("mode", ["enforce", "complain"])
def test_profile_of_the_deprecated_field_is_in_force(
    shared_containers: SharedContainers, profiles: LoadedProfiles, mode: str
) -> None:
    """The profile of `apparmor_profile` alone SHOULD be in force, as that of `apparmor`.

    Source: LinuxContainerSecurityContext.apparmor_profile, which is deprecated and still part of the API.
    """
    name = profiles.enforcing if mode == "enforce" else profiles.complaining

    process = shared_containers.process(
        FIRST_PROCESS,
        questions=QUESTIONS,
        security_context=context(apparmor_profile=f"localhost/{name}"),
    )

    assert process.label == f"{name} ({mode})"
    assert process.answer("write") == ("denied" if mode == "enforce" else "done")


@requirement("AAR-11")
@pytest.mark.parametrize("name", ["critests-no-such-profile", ""], ids=["not loaded", "no name"])
def test_unloaded_profile_of_the_deprecated_field_is_refused(containers: Containers, name: str) -> None:
    """CreateContainer or StartContainer SHOULD fail if the profile in `apparmor_profile` is not loaded, or
    has no name.

    Source: LinuxContainerSecurityContext.apparmor_profile.
    """
    containers.refusal(containers.config(security_context=context(apparmor_profile=f"localhost/{name}")))


@requirement("AAR-06")
def test_profile_in_complain_mode_denies_nothing(
    shared_containers: SharedContainers, profiles: LoadedProfiles
) -> None:
    """A profile in complain mode SHOULD be in force, and deny nothing.

    Source: SecurityProfile.localhost_ref.
    """
    process = shared_containers.process(
        FIRST_PROCESS, questions=QUESTIONS, security_context=profiles.complained
    )

    assert process.label == f"{profiles.complaining} (complain)"
    assert process.answer("write") == "done"


@requirement("AAR-07/unconfined")
@pytest.mark.parametrize("case", NO_PROFILE_OF_THE_NODE)
def test_privileged_container_has_no_apparmor_profile(
    runtime: Runtime, shared_containers: SharedContainers, case: str
) -> None:
    """A privileged container without a Localhost profile MUST run without a profile.

    Source: LinuxContainerSecurityContext.privileged.
    """
    process = privileged_process(runtime, shared_containers, **NO_PROFILE_OF_THE_NODE[case])

    assert process.label
    assert not process.has_apparmor_profile, process.label


@requirement("AAR-07/localhost")
def test_localhost_apparmor_profile_of_a_privileged_container(
    runtime: Runtime,
    shared_containers: SharedContainers,
    profiles: LoadedProfiles,
    record_variant: RecordVariant,
) -> None:
    """A Localhost profile of a privileged container MAY be in force or not.

    Source: LinuxContainerSecurityContext.privileged and apparmor; the CRI does not say.
    """
    process = privileged_process(runtime, shared_containers, apparmor=profiles.request(profiles.enforcing))

    record_variant("is in force" if process.label.startswith(profiles.enforcing) else "is not in force")


@requirement("AAR-09")
@pytest.mark.parametrize("seen_from", COMMANDS)
def test_localhost_apparmor_profile_applies_to_commands(
    shared_containers: SharedContainers, profiles: LoadedProfiles, seen_from: str
) -> None:
    """A command run with ExecSync or Exec MUST be under the profile of its container.

    Source: SecurityProfile.localhost_ref, ExecSync, Exec.
    """
    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=profiles.enforced)

    assert process.label == f"{profiles.enforcing} (enforce)"
    assert process.answer("write") == "denied"


@requirement("AAR-10")
def test_container_without_a_profile_has_the_runtime_default(
    shared_containers: SharedContainers,
) -> None:
    """The first process of a container without either field SHOULD run under the runtime's default profile.

    Source: LinuxContainerSecurityContext.apparmor_profile, whose `runtime/default` is equivalent to no value.
    """
    process = shared_containers.process(FIRST_PROCESS, security_context=context())

    assert process.label.endswith("(enforce)")
