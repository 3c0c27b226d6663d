"""SCP: seccomp profiles that leave the decision over a system call to a process of the node."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Images,
    may_be_refused,
    requirement,
    requires,
    unsupported,
)
from critests.validation.security.contexts import context, error_of, system_call
from critests.validation.security.seccomp_listener import SeccompListener
from critests.validation.security.seccomp_profiles import PROTOCOL_ERROR, notifying


@pytest.fixture
def listener(host_folder: Path) -> Iterator[SeccompListener]:
    """A process of the node that makes the system calls fail for which the kernel notifies it."""
    with SeccompListener(host_folder / "socket", PROTOCOL_ERROR) as running:
        yield running


@pytest.fixture
def profile(host_folder: Path, listener: SeccompListener) -> cri.SecurityProfile:
    """A profile of the node that leaves a system call to the listener."""
    file = host_folder / "profile.json"
    file.write_text(json.dumps(notifying(listener.path)), encoding="utf-8")
    return cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=str(file))


@pytest.fixture
def notifying_container(containers: Containers, images: Images, profile: cri.SecurityProfile) -> Container:
    """A container with that profile; the test is unsupported if the runtime rejects it."""
    config = containers.config(security_context=context(seccomp=profile), image=images.pull("tools"))
    running: list[Container] = []
    with may_be_refused():
        running.append(containers.attempt(config))
    if not running:
        unsupported("seccomp listeners: a container whose profile has a listenerPath is rejected")
    return running[0]


@requirement("SCP-12")
@requires(Capability.SECCOMP, Capability.SAME_HOST, Capability.SHARED_KERNEL)
def test_seccomp_listener_decides_over_system_calls(notifying_container: Container) -> None:
    """A Localhost profile with a `listenerPath` MAY be rejected; otherwise the listener MUST be notified of
    the profile's system calls, and its response decides.

    Source: SecurityProfile.localhost_ref; the OCI runtime specification, listenerPath and SCMP_ACT_NOTIFY.
    """
    # the argument of a query, personality(2)
    output = notifying_container.output(*system_call("personality", 0xFFFFFFFF).split())

    # the listener's error, which the call itself never returns
    assert error_of(output) == "EPROTO"
