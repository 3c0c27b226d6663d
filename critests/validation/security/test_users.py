"""USR: the user of a container's processes."""

from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    STREAMING_EXEC,
    Capability,
    Containers,
    Images,
    RecordVariant,
    Runtime,
    Sandboxes,
    SharedContainers,
    may_be_refused,
    refused_with,
    requirement,
    requires,
    unsupported,
)
from critests.validation.security.contexts import context

OF_IMAGES = {
    "user-number": (1000, 1000),
    "user-number-group": (1000, 2000),
    "user-root": (0, 0),
    "user-unlisted": (4321, 0),  # a UID that /etc/passwd lacks has GID 0
    "user-name": (1000, 1000),
    "user-name-group": (1000, 2000),
}
"""UID and GID of the images' own users."""
QUESTIONS = {"reopened": "echo again > /proc/self/fd/1"}


@pytest.mark.parametrize(
    ("identity", "ids"),
    [
        pytest.param({"user": 1000}, (1000, 1000), marks=requirement("USR-01"), id="uid"),
        pytest.param({"run_as_username": "second"}, (1001, 1001), marks=requirement("USR-02"), id="name"),
        pytest.param(
            {"user": 1000, "group": 2002}, (1000, 2002), marks=requirement("USR-05"), id="uid and gid"
        ),
        pytest.param(
            {"run_as_username": "tester", "group": 2002},
            (1000, 2002),
            marks=requirement("USR-05"),
            id="name and gid",
        ),
    ],
)
def test_user_and_group_of_every_process(
    shared_containers: SharedContainers, seen_from: str, identity: dict[str, Any], ids: tuple[int, int]
) -> None:
    """Every process of a container MUST have the UID `run_as_user`, or that of `run_as_username` in the
    image's /etc/passwd, and the GID `run_as_group`, or that of the user in /etc/passwd.

    Source: LinuxContainerSecurityContext.run_as_user, run_as_username and run_as_group.
    """
    process = shared_containers.process(seen_from, security_context=context(**identity)).status

    # real, effective, saved and file system ids, proc(5)
    assert (process.uids, process.gids) == ((ids[0],) * 4, (ids[1],) * 4)


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(
            {"run_as_username": "nosuchuser"}, marks=requirement("USR-03"), id="a name that the image lacks"
        ),
        pytest.param({"group": 2002}, marks=requirement("USR-06"), id="a group without a user"),
    ],
)
def test_an_incomplete_user_is_refused(containers: Containers, identity: dict[str, Any]) -> None:
    """CreateContainer or StartContainer MUST fail if the image's /etc/passwd lacks `run_as_username`, or if
    the request has `run_as_group` without a user.

    Source: LinuxContainerSecurityContext.run_as_username and run_as_group.
    """
    containers.refusal(containers.config(security_context=context(**identity)))


@requirement("USR-07/error")
@requires(Capability.SANDBOX_PROCESS)
def test_a_sandbox_group_without_a_user_is_refused(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox MUST fail for `run_as_group` without `run_as_user`.

    Source: LinuxSandboxSecurityContext.run_as_group.
    """
    config = sandboxes.marked_config()
    config.linux.security_context.run_as_group.value = 2002

    runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))


@requirement("USR-08")
@pytest.mark.parametrize("image", OF_IMAGES)
def test_the_user_of_the_image_is_the_default(
    shared_containers: SharedContainers, image: str, seen_from: str
) -> None:
    """Processes MUST run as the image's user, a number or a name with or without a group, by default.

    Source: Image.uid and username; the user of the OCI image configuration.
    """
    process = shared_containers.process(seen_from, image=image).status

    assert (process.uids[0], process.gids[0]) == OF_IMAGES[image]


@requirement("USR-09")
def test_image_user_missing_from_passwd_is_refused(images: Images, containers: Containers) -> None:
    """CreateContainer or StartContainer MUST fail if the image's /etc/passwd lacks the image's own user.

    Source: the user of the OCI image configuration.
    """
    config = containers.config(image=images.pull("user-absent"))

    containers.refusal(config)


@requirement("USR-10")
def test_uid_missing_from_passwd_has_only_the_requested_groups(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A UID that the image's /etc/passwd lacks MUST be accepted, and its processes have GID 0 and no groups
    that the request lacks.

    Source: LinuxContainerSecurityContext.run_as_user and supplemental_groups.
    """
    # neither the user nor the group is in the image's files
    identity = context(12345, supplemental_groups=[3000])

    process = shared_containers.process(seen_from, security_context=identity).status

    assert (process.uids, process.gids) == ((12345,) * 4, (0,) * 4)
    assert process.groups | {0} == {0, 3000}


@requirement("USR-18")
@pytest.mark.parametrize("seen_from", [EXEC, STREAMING_EXEC])
def test_commands_run_as_the_user_of_the_container(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A command MUST have exactly the user and the groups of its container's first process.

    Source: ExecSync and Exec; LinuxContainerSecurityContext.
    """
    # other groups than those of the user in the image's files
    identity = context(1000, 2002, supplemental_groups=[3000, 3001])

    first, command = (
        shared_containers.process(view, security_context=identity).status
        for view in (FIRST_PROCESS, seen_from)
    )

    assert (command.uids, command.gids, command.groups) == (first.uids, first.gids, first.groups)
    assert (command.uids[0], command.gids[0]) == (1000, 2002)
    assert {3000, 3001} <= command.groups


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(
            {"user": 1000, "run_as_username": "second"}, marks=requirement("USR-04/error"), id="uid and name"
        ),
        pytest.param({"user": -1}, marks=requirement("USR-19/refused"), id="negative"),
        pytest.param({"user": 1 << 32}, marks=requirement("USR-19/refused"), id="above 32 bits"),
    ],
)
def test_invalid_user_is_refused(containers: Containers, identity: dict[str, Any]) -> None:
    """CreateContainer or StartContainer SHOULD fail if both `run_as_user` and `run_as_username` are set, or
    if `run_as_user` is outside the range of UIDs.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_username, of which only one may be set; the
    range is not stated by the CRI, the kernel's UIDs have 32 bits.
    """
    containers.refusal(containers.config(security_context=context(**identity)))


@requirement("USR-21")
def test_a_user_that_is_not_root_has_no_capabilities(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process that is not root MUST NOT have effective or permitted capabilities that are not ambient.

    Source: LinuxContainerSecurityContext.run_as_user; capabilities(7): execve clears those of a user other
    than root.
    """
    sets = shared_containers.process(seen_from, security_context=context(1000)).status.capabilities

    assert (sets["effective"], sets["permitted"]) == (sets["ambient"], sets["ambient"])
    assert sets["ambient"] == set()


@requirement("USR-22")
def test_a_user_that_is_not_root_can_reopen_its_output(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process that is not root SHOULD be able to reopen its standard output, as through /dev/stdout.

    Source: not stated by the CRI; images configure servers to log there.
    """
    process = shared_containers.process(seen_from, questions=QUESTIONS, security_context=context(1000))

    assert process.answer("reopened") == "again"


@requirement("USR-23")
def test_form_of_a_numeric_user_name(containers: Containers, record_variant: RecordVariant) -> None:
    """A `run_as_username` that is a number and no name of /etc/passwd MAY be used as a UID, or be rejected.

    Source: LinuxContainerSecurityContext.run_as_username; the CRI requires a name that exists.
    """
    # no user of the image has this number or name
    config = containers.config(security_context=context(run_as_username="4321"))

    record_variant("is refused")
    with may_be_refused():
        container = containers.attempt(config)
        record_variant("is the uid")
        assert container.process_status(EXEC).uids == (4321,) * 4


@requirement("USR-19/upper-half")
def test_form_of_a_uid_above_31_bits(containers: Containers, record_variant: RecordVariant) -> None:
    """A `run_as_user` from 2^31 up to 2^32 - 2, which the kernel accepts, MAY be used or rejected.

    Source: LinuxContainerSecurityContext.run_as_user; the CRI does not say.
    """
    # 2^32 - 1 is -1, which means no change to setresuid(2)
    config = containers.config(security_context=context((1 << 32) - 3))

    record_variant("is refused")
    with may_be_refused():
        container = containers.attempt(config)
        record_variant("is used")
        assert container.process_status(EXEC).uids == ((1 << 32) - 3,) * 4


@requirement("USR-04/outcome")
def test_uid_and_user_name_together_are_never_root(
    containers: Containers, record_variant: RecordVariant
) -> None:
    """A container with both `run_as_user` and `run_as_username` MAY be rejected or run as either; it MUST NOT
    run as root.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_username, of which only one may be set.
    """
    # `second` is the user 1001
    config = containers.config(security_context=context(1000, run_as_username="second"))

    record_variant("is refused")
    with may_be_refused():
        uids = containers.attempt(config).process_status(EXEC).uids
        record_variant({1000: "the uid wins", 1001: "the name wins"}.get(uids[0], f"comes to {uids}"))
        assert set(uids) <= {1000, 1001}


@requirement("USR-07/no-process")
def test_form_of_a_sandbox_group_without_a_sandbox_process(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """RunPodSandbox with `run_as_group` and no user MAY be rejected or succeed if sandboxes have no process.

    Source: LinuxSandboxSecurityContext.run_as_group.
    """
    if runtime.has(Capability.SANDBOX_PROCESS):
        unsupported("sandboxes without a process: here they have one")
    config = sandboxes.marked_config()
    config.linux.security_context.run_as_group.value = 2002

    try:
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        assert [entry for entry in sandboxes.created_from(config) if entry.state == cri.SANDBOX_READY] == []
    else:
        record_variant("ignored")
        assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY
