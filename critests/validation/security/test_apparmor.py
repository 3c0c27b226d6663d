"""AAR: AppArmor profiles on a machine without AppArmor."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    may_be_refused,
    requirement,
    unsupported,
)
from critests.validation.security.contexts import RUNTIME_DEFAULT, UNCONFINED, context

WITHOUT_PROFILE = {
    "no field at all": context(),
    "unconfined": context(apparmor=UNCONFINED),
    "unconfined in the old field": context(apparmor_profile="unconfined"),
}
WITH_PROFILE = {
    "default": context(apparmor=RUNTIME_DEFAULT),
    "of the node": context(
        apparmor=cri.SecurityProfile(
            profile_type=cri.SecurityProfile.Localhost, localhost_ref="critests-no-such-profile"
        )
    ),
    "default in the old field": context(apparmor_profile="runtime/default"),
}


@pytest.fixture
def _without_apparmor(runtime: Runtime) -> None:
    """Skips tests of machines without AppArmor on a machine that has it."""
    if runtime.has(Capability.APPARMOR):
        unsupported("a machine without AppArmor: this one has it")


@requirement("AAR-08/none")
@pytest.mark.usefixtures("_without_apparmor")
@pytest.mark.parametrize("case", WITHOUT_PROFILE)
def test_container_without_a_profile_runs_without_apparmor(containers: Containers, case: str) -> None:
    """A container without a profile, or with the profile Unconfined, MUST run on a machine without AppArmor.

    Source: LinuxContainerSecurityContext.apparmor and apparmor_profile.
    """
    config = containers.config(security_context=WITHOUT_PROFILE[case], script="echo runs")

    container = containers.attempt(config)

    assert container.final_log_lines() == ["runs"]


@requirement("AAR-08/explicit")
@pytest.mark.usefixtures("_without_apparmor")
@pytest.mark.parametrize("case", WITH_PROFILE)
def test_form_of_a_profile_without_apparmor(
    containers: Containers, record_variant: RecordVariant, case: str
) -> None:
    """A container with a profile MAY be rejected or run without it on a machine without AppArmor.

    Source: LinuxContainerSecurityContext.apparmor and apparmor_profile; the CRI does not say.
    """
    config = containers.config(security_context=WITH_PROFILE[case])

    container = None
    with may_be_refused():
        container = containers.attempt(config)
    record_variant("is refused" if container is None else "is ignored")
    assert container is None or container.exec("true").exit_code == 0
