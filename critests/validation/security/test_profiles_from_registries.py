"""SCP: seccomp profiles in a registry."""

import pytest

from critests.testing import (
    Capability,
    MintedImage,
    OwnRuntime,
    ProfilesFromRegistries,
    Registry,
    Sandbox,
    configured,
    disruptive,
    requirement,
    requires,
)
from critests.validation.security.contexts import UNCONFINED, context, error_of, system_call


@pytest.fixture
def profile(registry: Registry) -> MintedImage:
    """A seccomp profile in the registry."""
    return registry.mint("seccomp-profile")


@pytest.fixture
def pod(own_runtime: OwnRuntime, profile: MintedImage) -> Sandbox:
    """A pod with an annotation that names the profile."""
    annotation = f"{own_runtime.daemon.profile_annotation}/POD"
    return own_runtime.sandbox(annotations={annotation: profile.reference})


@requirement("SCP-13")
@disruptive
@configured(ProfilesFromRegistries())
@requires(Capability.SECCOMP, Capability.SAME_HOST)
def test_seccomp_profile_from_a_registry_is_in_force(own_runtime: OwnRuntime, pod: Sandbox) -> None:
    """The containers of a pod whose annotation names a seccomp profile in a registry MUST have that profile,
    if the runtime offers such annotations.

    Source: PodSandboxConfig.annotations; not stated by the CRI. A pod must not run without its profile.
    """
    containers, tools = own_runtime.containers, own_runtime.pulled("tools")

    container = containers.attempt(
        containers.config(security_context=context(seccomp=UNCONFINED), image=tools), in_sandbox=pod
    )

    # the argument of a query, personality(2)
    output = container.output(*system_call("personality", 0xFFFFFFFF).split())
    assert error_of(output) == "EPROTO"
