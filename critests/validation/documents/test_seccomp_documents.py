"""DOC: unusual values in every field of seccomp profiles."""

import secrets

import pytest

from critests.api import api_pb2 as cri
from critests.documents.document_fields import Expected
from critests.documents.seccomp_profile import profile_variants
from critests.documents.variants import Variant
from critests.testing import Capability, OwnRuntime, disruptive, documents, requirement, requires
from critests.validation.documents.containers_in_use import EXIT, run_to_exit
from critests.validation.documents.harmless_use import DocumentBreach, DocumentUser
from critests.validation.security.contexts import context
from critests.validation.security.seccomp_profiles import native_architecture

pytestmark = [
    documents,
    disruptive,
    requires(Capability.SECCOMP, Capability.SAME_HOST, Capability.SHARED_KERNEL),
]
PARTS = ("syscalls[0].args", "syscalls", "")
"""Fields of a profile with those below them; the empty one stands for all others."""


def breaches(runtime: OwnRuntime, part: str, *expected: Expected) -> list[DocumentBreach]:
    """Run containers under profiles of which the specification expects this; return what went wrong."""
    user = DocumentUser(runtime)

    def run(variant: Variant) -> None:
        file = runtime.daemon.state / f"profile-{secrets.token_hex(4)}.json"
        file.write_bytes(variant.content)
        runtime.cleanup.cleanups.append(file.unlink)
        profile = cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=str(file))
        config = runtime.containers.config(script=EXIT, security_context=context(seccomp=profile))
        run_to_exit(user, config)

    absent = runtime.daemon.state / "absent.sock"
    variants = profile_variants(native_architecture(), str(absent))
    return user.breaches(
        [each for each in variants if each.expected in expected and each.is_of(part, PARTS)], run
    )


@requirement("DOC-12/harmless")
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_seccomp_profile_does_no_harm(module_runtime: OwnRuntime, part: str) -> None:
    """A seccomp profile with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod.

    Source: OCI runtime specification, Seccomp; SecurityProfile.localhost_ref.
    """
    assert breaches(module_runtime, part, Expected.EITHER) == []


@requirement("DOC-12/meaning")
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_but_valid_seccomp_profile_is_used(module_runtime: OwnRuntime, part: str) -> None:
    """A container with a valid profile without optional fields, or with unusual values in them, MUST run.

    Source: OCI runtime specification, Seccomp; SecurityProfile.localhost_ref.
    """
    assert breaches(module_runtime, part, Expected.ACCEPTED, Expected.REFUSED) == []
