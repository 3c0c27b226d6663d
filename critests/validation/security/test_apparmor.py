"""AAR: the AppArmor profile of a container's processes."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.session import Observe
from critests.run.marks import requirement
from critests.run.outcomes import unsupported
from critests.validation.security.contexts import RUNTIME_DEFAULT, UNCONFINED, context

NO_PROFILE = {
    "no field at all": context(),
    "unconfined": context(apparmor=UNCONFINED),
    "unconfined in the old field": context(apparmor_profile="unconfined"),
}
A_PROFILE = {
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
    """End a test that is about machines without AppArmor where there is AppArmor."""
    if runtime.has(Capability.APPARMOR):
        unsupported("a machine without AppArmor: this one has it")


@requirement("AAR-08/none")
@pytest.mark.usefixtures("_without_apparmor")
@pytest.mark.parametrize("asked", NO_PROFILE)
def test_no_profile_works_without_apparmor(containers: Containers, asked: str) -> None:
    """On a machine without AppArmor a container that asks for no profile, or for none to be in force, MUST
    run.

    Source: LinuxContainerSecurityContext.apparmor and apparmor_profile.
    """
    config = containers.config(security_context=NO_PROFILE[asked], script="echo runs")

    container = containers.attempt(config)

    assert container.final_log_lines() == ["runs"]


@requirement("AAR-08/explicit")
@pytest.mark.usefixtures("_without_apparmor")
@pytest.mark.parametrize("asked", A_PROFILE)
def test_a_profile_without_apparmor(containers: Containers, observe: Observe, asked: str) -> None:
    """On a machine without AppArmor a profile MAY be refused or be ignored.

    Source: LinuxContainerSecurityContext.apparmor and apparmor_profile; the CRI does not say.
    """
    config = containers.config(security_context=A_PROFILE[asked])

    container = None
    with may_be_refused():
        container = containers.attempt(config)
    observe("is refused" if container is None else "is ignored")
    assert container is None or container.exec("true").exit_code == 0
