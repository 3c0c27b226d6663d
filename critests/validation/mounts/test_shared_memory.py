"""MNT: /dev/shm of a pod."""

import secrets
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandboxes,
    blocked,
    lingering,
    requirement,
    requires,
)

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of the container, and of the host


@requirement("MNT-28/shared")
def test_containers_of_a_pod_share_dev_shm(containers: Containers, sandboxes: Sandboxes) -> None:
    """The containers of a pod MUST share the memory at /dev/shm with each other, and not with other pods.

    Source: NamespaceOption.ipc, with POD.
    """
    # unique, as other tests share the sandbox and its memory
    name = f"{SHARED_MEMORY}/{secrets.token_hex(8)}"
    containers.running(first=f"echo shared > {name}; echo written", wait_for_log="written")
    in_same_pod = containers.exited(script=lingering(f"cat {name}"))
    in_other_pod = containers.exited(
        in_sandbox=sandboxes.ready(), script=lingering(f"cat {name} || echo nothing")
    )

    assert in_same_pod.log_lines("stdout") == ["shared"]
    assert in_other_pod.log_lines("stdout") == ["nothing"]


@requirement("MNT-28/size")
def test_size_of_dev_shm(
    runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """The shared memory of a pod MAY have any size; containerd and CRI-O give it 64 MiB.

    Source: not stated by the CRI.
    """
    found = running_container.mount_at(SHARED_MEMORY)

    sizes = [option for option in found.super_options if option.startswith("size=")]
    record_variant(sizes[0] if sizes else "not limited")
    if not runtime.has_guest_kernel:
        assert found.kind == "tmpfs"


@requirement("MNT-29")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_pod_with_the_ipc_namespace_of_the_node_has_its_dev_shm(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A container of a pod with the node's IPC namespace MUST find the node's /dev/shm.

    Source: NamespaceOption.ipc, with NODE.
    """
    memory = runtime.seen_by_daemon(Path(SHARED_MEMORY))
    if not memory.is_dir():
        blocked("the host has no /dev/shm")
    file = memory / f"critests-{secrets.token_hex(8)}"
    namespaces = cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.NODE)
    file.write_text("of the host\n")
    try:
        container = containers.exited(
            in_sandbox=sandboxes.ready(namespaces=namespaces),
            script=lingering(f"cat {SHARED_MEMORY}/{file.name}"),
        )
    finally:
        file.unlink()

    assert container.log_lines("stdout") == ["of the host"]
