"""USR: the supplementary groups of a container's processes, and the image's files that define them."""

import pytest

from critests.api import api_pb2 as cri
from critests.images.rootfs import USERS
from critests.testing import (
    EXEC,
    GROUPS,
    Capability,
    Containers,
    RecordVariant,
    SharedContainers,
    requirement,
    requires,
)
from critests.validation.security.contexts import context, pod_context

TESTER_GROUPS = {2000, 2001}
"""The groups of which tester is a member in the images' /etc/group."""
THOUSAND_GROUPS = range(5000, 6000)
FILES = {"users": "cat /etc/passwd", "groups": "cat /etc/group"}
IDENTITIES = {
    "group of passwd": context(1000),
    "requested group": context(1000, 2002),
    "name": context(run_as_username="tester"),
    "unknown user": context(12345),
    "further groups": context(1000, 2002, supplemental_groups=[3000]),
}
STRICT = context(1000, 2002, supplemental_groups=[3000], supplemental_groups_policy=cri.Strict)


@requirement("USR-11")
@pytest.mark.parametrize("user", ["uid", "name"])
def test_merge_adds_the_groups_of_the_image(
    shared_containers: SharedContainers, user: str, seen_from: str
) -> None:
    """A process with the policy Merge MUST have the groups of its user in the image's /etc/group, whether the
    request has a UID or a name.

    Source: SupplementalGroupsPolicy.
    """
    identity = context(1000) if user == "uid" else context(run_as_username="tester")

    assert shared_containers.process(seen_from, security_context=identity).status.groups >= TESTER_GROUPS


@requirement("USR-26")
@pytest.mark.parametrize("image", ["user-number", "user-name"])
def test_the_user_of_the_image_has_its_groups(
    shared_containers: SharedContainers, image: str, seen_from: str
) -> None:
    """A process with the image's own user SHOULD have that user's groups of the image's /etc/group.

    Source: the user of the OCI image configuration. Not stated by the CRI; a user from the request has them.
    """
    assert shared_containers.process(seen_from, image=image).status.groups >= TESTER_GROUPS


@requirement("USR-12")
def test_merge_combines_requested_groups_and_those_of_the_image(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process with the policy Merge MUST have the `supplemental_groups` and those of the image.

    Source: LinuxContainerSecurityContext.supplemental_groups, SupplementalGroupsPolicy.
    """
    # one group that the image does not have, and one of the image of which tester is no member
    identity = context(1000, supplemental_groups=[3000, 2002], supplemental_groups_policy=cri.Merge)

    groups = shared_containers.process(seen_from, security_context=identity).status.groups

    # USR-27 judges whether the primary group is one of them
    assert groups - {1000} == TESTER_GROUPS | {3000, 2002}


@requirement("USR-13")
@requires(Capability.SUPPLEMENTAL_GROUPS_POLICY)
def test_strict_excludes_the_groups_of_the_image(shared_containers: SharedContainers, seen_from: str) -> None:
    """A process with the policy Strict MUST have only the `supplemental_groups` and its own group.

    Source: SupplementalGroupsPolicy.
    """
    identity = context(1000, supplemental_groups=[3000], supplemental_groups_policy=cri.Strict)

    groups = shared_containers.process(seen_from, security_context=identity).status.groups

    assert groups - {1000} == {3000}


@requirement("USR-14")
def test_groups_of_the_sandbox_do_not_apply_to_containers(
    shared_containers: SharedContainers,
) -> None:
    """A sandbox with `supplemental_groups` and a policy SHOULD start, and not change its containers' groups.

    Source: LinuxSandboxSecurityContext.supplemental_groups and supplemental_groups_policy.
    """
    pod = shared_containers.sandbox(
        security_context=pod_context(supplemental_groups=[3100], supplemental_groups_policy=cri.Strict)
    )
    identity = context(1000, supplemental_groups=[3000])

    groups = shared_containers.process(EXEC, in_sandbox=pod, security_context=identity).status.groups

    assert groups - {1000} == TESTER_GROUPS | {3000}


@requirement("USR-15")
@requires(Capability.SUPPLEMENTAL_GROUPS_POLICY)
def test_unknown_supplemental_groups_policy_is_refused(containers: Containers) -> None:
    """CreateContainer SHOULD fail for an unknown value of `supplemental_groups_policy`.

    Source: LinuxContainerSecurityContext.supplemental_groups_policy.
    """
    config = containers.config(security_context=context(1000))
    # proto3 enumerations are open: a message may carry an unknown value, but its type has none
    config.linux.security_context.supplemental_groups_policy = 99  # type: ignore[assignment]  # see above

    containers.refusal(config)


@requirement("USR-16")
def test_run_as_group_replaces_the_group_in_passwd(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process with `run_as_group` MUST NOT have its user's group of /etc/passwd as a supplementary one.

    Source: LinuxContainerSecurityContext.run_as_group.
    """
    process = shared_containers.process(seen_from, security_context=context(1000, 2002)).status

    # real, effective, saved and file system GID, proc(5)
    assert process.gids == (2002,) * 4
    assert 1000 not in process.groups


@requirement("USR-17/intact")
def test_users_and_groups_of_the_image_are_preserved(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The image's /etc/passwd and /etc/group SHOULD retain their entries, whatever user a container requests.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_group; not stated by the CRI.
    """
    # numbers that the image's files do not have
    process = shared_containers.process(seen_from, questions=FILES, security_context=context(12345, 4321))

    users = {
        tuple(line.split(":")[:1] + line.split(":")[2:4]) for line in process.answer("users").splitlines()
    }
    groups = {
        tuple(line.split(":")[:1] + line.split(":")[2:]) for line in process.answer("groups").splitlines()
    }
    assert {(name, str(uid), str(gid)) for name, uid, gid, *_ in USERS} <= users
    assert {(name, str(gid), ",".join(members)) for name, gid, members in GROUPS} <= groups


@requirement("USR-17/entry")
def test_form_of_entries_for_the_requested_user(
    shared_containers: SharedContainers, record_variant: RecordVariant
) -> None:
    """A runtime MAY add entries for the requested user and group to /etc/passwd and /etc/group.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_group; the CRI does not say.
    """
    process = shared_containers.process(EXEC, questions=FILES, security_context=context(12345, 4321))

    added = [
        file
        for file, number in (("users", ":12345:"), ("groups", ":4321:"))
        if number in process.answer(file)
    ]
    record_variant(f"adds to {' and '.join(added)}" if added else "adds nothing")


@requirement("USR-27")
@pytest.mark.parametrize(
    "identity",
    [
        *(pytest.param(identity, id=name) for name, identity in IDENTITIES.items()),
        pytest.param(STRICT, marks=requires(Capability.SUPPLEMENTAL_GROUPS_POLICY), id="Strict"),
    ],
)
def test_the_primary_group_is_a_supplementary_group(
    shared_containers: SharedContainers, identity: cri.LinuxContainerSecurityContext, seen_from: str
) -> None:
    """The primary group of a process MUST be one of its supplementary groups, with either policy.

    Source: not stated by the CRI. A process could replace a primary group that is not in that list, and
    circumvent permissions that exclude the group (CVE-2022-2995, CVE-2023-25173).
    """
    process = shared_containers.process(seen_from, security_context=identity).status

    assert process.gids[0] in process.groups


@requirement("USR-20")
def test_a_thousand_groups_are_set(shared_containers: SharedContainers, seen_from: str) -> None:
    """A process SHOULD have all of a thousand `supplemental_groups`.

    Source: LinuxContainerSecurityContext.supplemental_groups; the kernel accepts 65,536 (NGROUPS_MAX).
    """
    identity = context(1000, supplemental_groups=THOUSAND_GROUPS)

    assert shared_containers.process(seen_from, security_context=identity).status.groups >= set(
        THOUSAND_GROUPS
    )
