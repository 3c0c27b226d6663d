"""RT: features that Status reports must work; each test reads the field and tries the feature."""

from pathlib import Path

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_ID,
    FIRST_PROCESS,
    GROUPS,
    Capability,
    Containers,
    Runtime,
    Sandboxes,
    requirement,
    requires,
    unsupported,
    with_user_namespace,
)

GROUPS_OF_TESTER = {gid for _, gid, members in GROUPS if "tester" in members}
"""The groups that the images' /etc/group gives to the user 1000."""


@requirement("RT-18")
def test_the_policy_of_supplementary_groups_is_as_reported(runtime: Runtime, containers: Containers) -> None:
    """Status MUST report supplemental_groups_policy if and only if Strict leaves out the image's groups,
    Merge includes them, and ContainerStatus reports the user.

    Source: RuntimeFeatures.supplemental_groups_policy.
    """
    reported = runtime.stub.Status(cri.StatusRequest()).features.supplemental_groups_policy
    groups, users = {}, []
    for policy in (cri.Merge, cri.Strict):
        identity = cri.LinuxContainerSecurityContext(
            run_as_user=cri.Int64Value(value=1000),
            supplemental_groups=[3000],
            supplemental_groups_policy=policy,
        )
        container = containers.attempt(containers.config(security_context=identity))
        # without the user's own group, which may be among them
        groups[policy] = container.process_status(FIRST_PROCESS).groups & {*GROUPS_OF_TESTER, 3000}
        users.append(container.status().user.HasField("linux"))

    works = groups == {cri.Merge: GROUPS_OF_TESTER | {3000}, cri.Strict: {3000}} and all(users)
    if not (reported or works):
        unsupported("supplemental_groups_policy: Status does not report it, and it does not work")
    assert reported == works, f"groups {groups}, the user in the status {users}"


@requirement("RT-17")
@requires(Capability.SHARED_KERNEL)
def test_user_namespaces_of_a_handler_are_as_reported(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """RunPodSandbox MUST accept a pod with a user namespace if Status reports user_namespaces for the
    handler, and the pod's root MUST be the host user of the mapping.

    Source: RuntimeHandlerFeatures.user_namespaces.
    """
    handlers = runtime.stub.Status(cri.StatusRequest()).runtime_handlers
    pod = sandboxes.config(namespaces=with_user_namespace())
    name = sandboxes.creation(pod).runtime_handler
    if not any(handler.features.user_namespaces for handler in handlers if handler.name == name):
        unsupported("user namespaces: Status does not report them for the handler")

    config = containers.config(namespaces=with_user_namespace())
    container = containers.attempt(config, in_sandbox=sandboxes.attempt(pod))

    # uid_map: first id inside, first id outside, number of ids
    assert container.output("cat", "/proc/self/uid_map").split()[:2] == ["0", str(FIRST_ID)]


@requirement("RT-19")
@requires(Capability.USER_NAMESPACES, Capability.SHARED_KERNEL)
def test_user_namespaces_on_the_nodes_network_are_as_reported(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """RunPodSandbox MUST accept a pod with a user namespace on the node's network if Status reports
    user_namespaces_host_network, and the pod's root MUST be the host user of the mapping.

    Source: RuntimeFeatures.user_namespaces_host_network, RuntimeHandlerFeatures.user_namespaces.
    """
    if not runtime.stub.Status(cri.StatusRequest()).features.user_namespaces_host_network:
        unsupported("user namespaces with host network: Status does not report them")
    namespaces = with_user_namespace(network=cri.NODE)
    pod = sandboxes.attempt(sandboxes.config(namespaces=namespaces))

    container = containers.attempt(containers.config(namespaces=namespaces), in_sandbox=pod)

    # uid_map: first id inside, first id outside, number of ids
    assert container.output("cat", "/proc/self/uid_map").split()[:2] == ["0", str(FIRST_ID)]


@requirement("RT-20")
@requires(Capability.SAME_HOST)
def test_options_of_mounts_are_as_reported(
    runtime: Runtime, containers: Containers, host_folder: Path
) -> None:
    """A mount MUST have the requested mount_options if Status reports mount_options.

    Source: RuntimeFeatures.mount_options, Mount.mount_options.
    """
    if not runtime.stub.Status(cri.StatusRequest()).features.mount_options:
        unsupported("mount options: Status does not report them")
    options = {"noexec", "nosuid", "nodev"}
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder), mount_options=sorted(options))

    container = containers.attempt(containers.config(mounts=[mount]))

    assert options - set(container.mount_at("/mounted").options) == set()
