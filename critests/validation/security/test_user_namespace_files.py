"""UNS, MNT, VOL, SYS: files in a pod with a user namespace of its own, and calls that must work in it."""

import os
import secrets
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_ID,
    FIRST_PROCESS,
    IDS,
    MAPPING,
    Capability,
    Containers,
    Images,
    RecordVariant,
    Runtime,
    Sandboxes,
    SharedContainers,
    Streams,
    first_process,
    lingering,
    may_be_refused,
    requirement,
    requires,
    unsupported,
    with_user_namespace,
)
from critests.validation.security.contexts import pod_context

NOBODY = 65534
"""The overflow ID, which the kernel shows for an ID without a mapping."""
BUSYBOX = "/bin/busybox"
ROOT_COMMANDS = (
    "chown 0:0 /mounted/of-root",
    "mknod /mounted/device b 7 0",
    "mount -t ext4 /dev/loop0 /mnt",
)
"""Commands for root of the host, with a mount of a directory of `owned`. Major 7 is the loop device."""
ATTEMPTS = "; ".join(f"{each} && echo '{each}'" for each in ROOT_COMMANDS) + "; echo tried"
"""Prints each command that succeeds."""


def owned(folder: Path) -> Path:
    """Return a directory of the host that every user may write to, with a file of root and one of user
    1000.
    """
    folder.chmod(0o777)
    # users other than root must be able to reach it
    folder.parent.chmod(0o755)
    for name, owner in (("of-root", 0), ("of-tester", 1000)):
        (folder / name).write_text("of the host\n")
        os.chown(folder / name, owner, owner)
    return folder


@requirement("UNS-07")
@requires(Capability.USER_NAMESPACES)
def test_files_of_the_image_are_owned_by_root_inside(shared_containers: SharedContainers) -> None:
    """Files of the image MUST have the image's owners in a user namespace, and root MUST be able to change
    its own.

    Source: UserNamespace; the image's layers define the owners.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    questions = {
        "owner": f"stat -c %u:%g {BUSYBOX} /home/tester",
        "change": "touch /new && chown 1000:2000 /new && stat -c %u:%g /new",
    }

    process = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, questions=questions)

    assert process.answer("owner").split() == ["0:0", "1000:1000"]
    assert process.answer("change") == "1000:2000"


@requirement("UNS-07")
@requires(Capability.USER_NAMESPACES, Capability.SHARED_KERNEL, Capability.ROOT)
def test_files_of_the_image_are_owned_by_mapped_ids_on_the_node(
    containers: Containers, shared_containers: SharedContainers
) -> None:
    """Files of the image, and those that a container creates, MUST have the mapped owners on the node.

    Source: UserNamespace; the image's layers define the owners.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    mark = secrets.token_hex(8)
    containers.running(
        in_sandbox=pod, first=f"touch /new; chown 1000:2000 /new; echo {mark}", wait_for_log=mark
    )

    root = Path(f"/proc/{first_process(mark)}/root")

    stats = [(root / path).stat() for path in ("bin/busybox", "home/tester", "new")]
    owners = [(stat.st_uid - FIRST_ID, stat.st_gid - FIRST_ID) for stat in stats]
    assert owners == [(0, 0), (1000, 1000), (1000, 2000)]


@requirement("UNS-09")
@requires(Capability.USER_NAMESPACES, Capability.SAME_HOST, Capability.ROOT)
@pytest.mark.parametrize("mapping", [False, True], ids=["without", "with"])
def test_files_of_the_host_have_the_mapped_owners(
    shared_containers: SharedContainers, host_folder: Path, *, mapping: bool
) -> None:
    """Files of a host path MUST appear as owned by nobody in a user namespace if the mount maps no IDs, and
    by their owners if it does.

    Source: Mount.uidMappings and gidMappings.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    mappings = [MAPPING] if mapping else []
    mount = cri.Mount(
        container_path="/mounted",
        host_path=str(owned(host_folder)),
        uidMappings=mappings,
        gidMappings=mappings,
    )

    process = shared_containers.process(
        FIRST_PROCESS,
        in_sandbox=pod,
        mounts=[mount],
        questions={"owners": "stat -c %u:%g /mounted/of-root /mounted/of-tester"},
    )

    expected = ["0:0", "1000:1000"] if mapping else [f"{NOBODY}:{NOBODY}"] * 2
    assert process.answer("owners").split() == expected


@requirement("MNT-24")
@requires(Capability.USER_NAMESPACES, Capability.SAME_HOST, Capability.ROOT)
def test_files_written_through_a_mapped_mount_have_the_same_owners(
    containers: Containers, shared_containers: SharedContainers, host_folder: Path
) -> None:
    """Files that root of a user namespace creates through a mount with mapped IDs MUST belong to root on the
    host, and those that it gives to user and group 1000 MUST belong to these.

    Source: Mount.uidMappings and gidMappings.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    mount = cri.Mount(
        container_path="/mounted",
        host_path=str(owned(host_folder)),
        uidMappings=[MAPPING],
        gidMappings=[MAPPING],
    )

    containers.exited(
        in_sandbox=pod,
        mounts=[mount],
        script=lingering("cd /mounted && touch by-root for-tester && chown 1000:1000 for-tester"),
    )

    stats = {name: (host_folder / name).stat() for name in ("by-root", "for-tester")}
    owners = {name: (stat.st_uid, stat.st_gid) for name, stat in stats.items()}
    assert owners == {"by-root": (0, 0), "for-tester": (1000, 1000)}


@requirement("MNT-25")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_mapped_mounts_that_are_not_supported_are_refused(
    runtime: Runtime, containers: Containers, sandboxes: Sandboxes, host_folder: Path
) -> None:
    """A mount with mapped IDs MUST be rejected by a handler that does not offer them, or have the mapping: it
    is never mounted without.

    Source: Mount.uidMappings, RuntimeHandlerFeatures.user_namespaces.
    """
    if runtime.has(Capability.USER_NAMESPACES):
        unsupported("the handler offers user namespaces, and with them mounts that map ids")
    mount = cri.Mount(
        container_path="/mounted",
        host_path=str(owned(host_folder)),
        uidMappings=[MAPPING],
        gidMappings=[MAPPING],
    )

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))
        config = containers.config(mounts=[mount], namespaces=with_user_namespace())
        container = containers.attempt(config, in_sandbox=pod)
        owner = container.output("stat", "-c", "%u:%g", "/mounted/of-root")
        mapping = container.output("cat", "/proc/self/uid_map").split()
        assert (owner, mapping) == ("0:0", ["0", str(FIRST_ID), str(IDS)])


@requirement("UNS-12")
@requires(Capability.USER_NAMESPACES)
def test_sessions_work_in_a_pod_with_a_user_namespace(
    shared_containers: SharedContainers, streams: Streams
) -> None:
    """ExecSync, Exec and the log MUST work in a pod with a user namespace as in any other.

    Source: RuntimeService, which excludes no call for a user namespace.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    container = shared_containers.container(in_sandbox=pod, questions={"logged": "echo logged"})
    runtime = shared_containers.runtime
    request = cri.ExecRequest(container_id=container.id, cmd=["echo", "streamed"], stdout=True, stderr=True)

    streamed = streams.open(runtime.stub.Exec, request).finish().stdout

    assert streamed == b"streamed\n"
    assert runtime.stub.ExecSync(container.exec_request("echo", "by exec")).stdout == b"by exec\n"
    assert "logged" in container.wait_for_log("logged")


@requirement("UNS-12")
@requires(Capability.USER_NAMESPACES)
def test_stats_of_a_pod_with_a_user_namespace(runtime: Runtime, shared_containers: SharedContainers) -> None:
    """ContainerStats MUST report a container in a user namespace as any other.

    Source: ContainerStatsRequest.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    container = shared_containers.container(in_sandbox=pod)

    stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats

    assert stats.attributes.id == container.id
    assert stats.memory.working_set_bytes.value > 0


@requirement("UNS-13")
@requires(Capability.USER_NAMESPACES)
def test_standard_output_can_be_opened_by_name(
    containers: Containers, shared_containers: SharedContainers
) -> None:
    """A process in a user namespace SHOULD be able to open /dev/stdout and /dev/stderr, as programs do.

    Source: not stated by the CRI.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())

    container = containers.exited(
        in_sandbox=pod, script=lingering("echo to stdout > /dev/stdout; echo to stderr > /dev/stderr")
    )

    assert container.log_lines("stdout") == ["to stdout"]
    assert container.log_lines("stderr") == ["to stderr"]


@requirement("UNS-16")
@requires(Capability.USER_NAMESPACES, Capability.SAME_HOST, Capability.ROOT)
def test_root_of_a_user_namespace_has_no_privileges_on_the_host(
    containers: Containers, shared_containers: SharedContainers, host_folder: Path
) -> None:
    """Root of a user namespace MUST NOT be able to change the owner of a file of the host's root, or create
    or mount a device, even with the capabilities for it.

    Source: UserNamespace: its IDs and capabilities have no effect outside.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    security_context = cri.LinuxContainerSecurityContext(
        capabilities=cri.Capability(add_capabilities=["SYS_ADMIN", "MKNOD", "CHOWN"])
    )
    container = containers.exited(
        in_sandbox=pod,
        security_context=security_context,
        mounts=[cri.Mount(container_path="/mounted", host_path=str(owned(host_folder)))],
        script=lingering(ATTEMPTS),
    )

    assert container.log_lines("stdout") == ["tried"]
    assert sorted(path.name for path in host_folder.iterdir()) == ["of-root", "of-tester"]


@requirement("PRV-09")
@requires(Capability.USER_NAMESPACES, Capability.SAME_HOST, Capability.ROOT)
def test_a_privileged_container_of_a_user_namespace_has_no_privileges_on_the_host(
    sandboxes: Sandboxes, containers: Containers, host_folder: Path
) -> None:
    """A privileged container in a pod with a user namespace SHOULD have its privileges in that namespace
    only, or be rejected.

    Source: LinuxContainerSecurityContext.privileged, UserNamespace: its IDs and capabilities have no effect
    outside.
    """
    config = containers.config(
        namespaces=with_user_namespace(),
        security_context=cri.LinuxContainerSecurityContext(privileged=True),
        mounts=[cri.Mount(container_path="/mounted", host_path=str(owned(host_folder)))],
        script=ATTEMPTS,
    )

    with may_be_refused():
        pod = sandboxes.attempt(
            sandboxes.config(namespaces=with_user_namespace(), security_context=pod_context(privileged=True))
        )
        container = containers.attempt(config, in_sandbox=pod)
        assert container.final_log_lines("stdout") == ["tried"]
    assert sorted(path.name for path in host_folder.iterdir()) == ["of-root", "of-tester"]


@requirement("UNS-17")
@requires(Capability.USER_NAMESPACES)
def test_sysctls_are_set_in_a_pod_with_a_user_namespace(shared_containers: SharedContainers) -> None:
    """Kernel parameters of a pod with a user namespace SHOULD have the requested values as in any other.

    Source: LinuxPodSandboxConfig.sysctls.
    """
    name = "net.ipv4.tcp_fin_timeout"
    pod = shared_containers.sandbox(namespaces=with_user_namespace(), sysctls={name: "33"})

    process = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, questions={name: f"sysctl -n {name}"})

    assert process.answer(name) == "33"


@requirement("SYS-09/mapped")
@requires(Capability.USER_NAMESPACES)
def test_ping_group_range_within_a_user_namespace(sandboxes: Sandboxes, containers: Containers) -> None:
    """The sysctl net.ipv4.ping_group_range SHOULD be set in a pod with a user namespace that has the groups.

    Source: LinuxPodSandboxConfig.sysctls.
    """
    pod = sandboxes.attempt(
        sandboxes.config(
            namespaces=with_user_namespace(), sysctls={"net.ipv4.ping_group_range": f"0 {IDS - 1}"}
        )
    )

    container = containers.exited(in_sandbox=pod, script=lingering("sysctl -n net.ipv4.ping_group_range"))

    assert container.log_lines("stdout")[0].split() == ["0", str(IDS - 1)]


@requirement("SYS-09/beyond")
@requires(Capability.USER_NAMESPACES)
def test_form_of_a_ping_group_range_beyond_a_user_namespace(
    sandboxes: Sandboxes, containers: Containers, record_variant: RecordVariant
) -> None:
    """The sysctl net.ipv4.ping_group_range with groups that the pod's user namespace lacks MAY be rejected,
    as by the kernel, or reduced to those that it has.

    Source: LinuxPodSandboxConfig.sysctls; the CRI does not say.
    """
    # the largest number that the kernel accepts here, 2^31 - 1; the namespace has 65,536 groups
    all_groups = {"net.ipv4.ping_group_range": "0 2147483647"}
    groups: list[str] = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace(), sysctls=all_groups))
        container = containers.exited(in_sandbox=pod, script=lingering("sysctl -n net.ipv4.ping_group_range"))
        groups = container.log_lines("stdout")[0].split()

    record_variant(f"reduced to {' to '.join(groups)}" if groups else "refused")
    assert not groups or groups[0] == "0"


@requirement("VOL-14")
@requires(Capability.USER_NAMESPACES, Capability.IMAGE_VOLUMES)
def test_an_image_volume_in_a_user_namespace(shared_containers: SharedContainers, images: Images) -> None:
    """An image volume with mapped IDs SHOULD show the image's owners in a user namespace.

    Source: Mount.image, uidMappings and gidMappings.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    mount = cri.Mount(
        container_path="/volume",
        image=images.pull("volume").spec(),
        readonly=True,
        uidMappings=[MAPPING],
        gidMappings=[MAPPING],
    )

    process = shared_containers.process(
        FIRST_PROCESS,
        in_sandbox=pod,
        mounts=[mount],
        questions={"file": "stat -c %u:%g /volume/hello; cat /volume/hello"},
    )

    assert process.answer("file").splitlines() == ["0:0", "hello from the image"]
