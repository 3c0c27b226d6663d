"""SEL, VOL: the SELinux label of a container's processes and files, on a kernel with SELinux and a runtime
that uses it.
"""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    STREAMING_EXEC,
    Capability,
    Containers,
    Images,
    ProcessEvidence,
    RecordVariant,
    Runtime,
    SharedContainers,
    requirement,
    requires,
)
from critests.validation.security.contexts import context, pod_context
from critests.validation.security.daemon import privileged_process

pytestmark = requires(Capability.SELINUX, Capability.SHARED_KERNEL)

LEVEL = "s0:c11,c22"
COMPLETE_LABEL = cri.SELinuxOption(user="system_u", role="system_r", type="container_t", level=LEVEL)
INVALID_LABELS = {
    "no such type": cri.SELinuxOption(
        user="system_u", role="system_r", type="critests_no_such_type_t", level=LEVEL
    ),
    "no such level": cri.SELinuxOption(
        user="system_u", role="system_r", type="container_t", level="nonsense"
    ),
}
SYSTEM_FILES = ["/dev/shm", "/etc/hosts", "/etc/resolv.conf"]  # noqa: S108 - in the container
"""Paths that a runtime mounts into containers by itself."""
WITHOUT_CATEGORIES = "s0"
"""The level without categories, which every container may read."""
REQUESTED = context(selinux_options=COMPLETE_LABEL)
REQUESTED_FOR_THE_POD = pod_context(selinux_options=COMPLETE_LABEL)
COMMANDS = (EXEC, STREAMING_EXEC)


def type_of(label: str) -> str:
    """Return the type of a label, `user:role:type:level`."""
    return label.split(":")[2]


def level_of(label: str) -> str:
    """Return the level of a label, which may contain colons."""
    return label.split(":", 3)[-1]


def label_of(path: str) -> str:
    """Return a shell command that prints the label of a file, as busybox has no such program."""
    read = f"/bin/sys getxattr ={path} =security.selinux % 255 , write 1 % '$'"
    # getxattr(2) returns the label with a zero byte at its end; grep selects its line
    return rf"{read} | tr '\000' '\n' | grep :"


def is_readable(file: str, process: ProcessEvidence) -> bool:
    """Return whether a process may read a file with a label."""
    return level_of(file) in {level_of(process.label), WITHOUT_CATEGORIES}


@requirement("SEL-01")
def test_process_has_the_requested_selinux_label(shared_containers: SharedContainers) -> None:
    """The first process MUST have the user, role, type and level of the request.

    Source: LinuxContainerSecurityContext.selinux_options.
    """
    process = shared_containers.process(FIRST_PROCESS, security_context=REQUESTED)

    assert process.label == f"system_u:system_r:container_t:{LEVEL}"


@requirement("SEL-02")
def test_containers_of_a_pod_share_a_level_of_their_own(shared_containers: SharedContainers) -> None:
    """The containers of a pod without options MUST share a level that no other pod has.

    Source: LinuxContainerSecurityContext.selinux_options.
    """
    pod = shared_containers.sandbox()

    # with equal settings, both would be the same shared container
    first = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, envs={"NUMBER": "1"})
    second = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, envs={"NUMBER": "2"})
    elsewhere = shared_containers.process(FIRST_PROCESS)

    assert level_of(first.label) == level_of(second.label)
    assert level_of(first.label) != level_of(elsewhere.label)


@requirement("SEL-03")
@pytest.mark.parametrize("invalid", INVALID_LABELS)
def test_unknown_selinux_label_is_refused(containers: Containers, invalid: str) -> None:
    """CreateContainer or StartContainer MUST fail for a label that the policy does not define.

    Source: LinuxContainerSecurityContext.selinux_options.
    """
    config = containers.config(security_context=context(selinux_options=INVALID_LABELS[invalid]))

    containers.refusal(config)


@requirement("SEL-04")
def test_containers_have_the_selinux_level_of_their_pod(shared_containers: SharedContainers) -> None:
    """A container without options of its own SHOULD have the level of its sandbox.

    Source: LinuxSandboxSecurityContext.selinux_options. Not stated by the CRI for containers; the shared
    files of a pod have the sandbox's level, and a container with another level could not read them.
    """
    pod = shared_containers.sandbox(security_context=REQUESTED_FOR_THE_POD)

    process = shared_containers.process(FIRST_PROCESS, in_sandbox=pod)

    assert level_of(process.label) == LEVEL


@requirement("SEL-05/unconfined")
def test_a_privileged_process_has_a_type_of_its_own(
    runtime: Runtime, shared_containers: SharedContainers
) -> None:
    """A privileged process MUST NOT have the type that confines the processes of other containers.

    Source: LinuxContainerSecurityContext.privileged.
    """
    ordinary = shared_containers.process(FIRST_PROCESS)

    process = privileged_process(runtime, shared_containers)

    assert type_of(process.label) != type_of(ordinary.label)


@requirement("SEL-05/host-namespaces")
@pytest.mark.parametrize(
    "namespaces",
    [cri.NamespaceOption(pid=cri.NODE), cri.NamespaceOption(pid=cri.CONTAINER, ipc=cri.NODE)],
    ids=["pid", "ipc"],
)
def test_the_type_of_a_process_in_a_namespace_of_the_node(
    shared_containers: SharedContainers, record_variant: RecordVariant, namespaces: cri.NamespaceOption
) -> None:
    """A process in the PID or IPC namespace of the node MAY have the same type as any other, or a type of its
    own.

    Source: NamespaceOption.pid and ipc; the CRI does not say.
    """
    ordinary = shared_containers.process(FIRST_PROCESS)
    pod = shared_containers.sandbox(namespaces=namespaces)

    process = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, namespaces=namespaces)

    own = type_of(process.label) != type_of(ordinary.label)
    record_variant("a type of its own" if own else "the type of any other")
    assert level_of(process.label), "a label has user, role, type and level"


@requirement("SEL-06/given")
def test_requested_parts_of_a_label_are_applied(shared_containers: SharedContainers) -> None:
    """The process MUST have the requested level, even if the request has no other part of a label.

    Source: SELinuxOption.level.
    """
    partial = context(selinux_options=cri.SELinuxOption(level=LEVEL))

    process = shared_containers.process(FIRST_PROCESS, security_context=partial)

    assert level_of(process.label) == LEVEL


@requirement("SEL-06/missing")
def test_form_of_the_missing_parts_of_a_label(
    shared_containers: SharedContainers, record_variant: RecordVariant
) -> None:
    """The level MAY be the pod's or a new one if the request has only a type.

    Source: SELinuxOption; the CRI does not say.
    """
    partial = context(selinux_options=cri.SELinuxOption(type="container_t"))

    process = shared_containers.process(FIRST_PROCESS, security_context=partial)

    same = level_of(process.label) == level_of(shared_containers.process(FIRST_PROCESS).label)
    record_variant("the level is the pod's" if same else "the level is a new one")
    assert type_of(process.label) == "container_t"


@requirement("SEL-09")
@pytest.mark.parametrize("path", SYSTEM_FILES)
def test_files_that_the_runtime_mounts_have_the_label_of_the_pod(
    shared_containers: SharedContainers, path: str
) -> None:
    """Files that a runtime mounts into a container by itself MUST have the container's level, or no
    categories, and be readable.

    Source: LinuxContainerSecurityContext.selinux_options.
    """
    read = f"if [ -d {path} ]; then ls {path}; else cat {path}; fi > /dev/null"

    process = shared_containers.process(FIRST_PROCESS, questions={"label": label_of(path), "read": read})

    assert is_readable(process.answer("label"), process)
    assert process.exit_code("read") == 0


@requirement("SEL-10")
@pytest.mark.parametrize("seen_from", COMMANDS)
def test_commands_have_the_label_of_their_container(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A command run with ExecSync or Exec MUST have the label of its container.

    Source: LinuxContainerSecurityContext.selinux_options, ExecSync, Exec.
    """
    process = shared_containers.process(seen_from, security_context=REQUESTED)

    assert process.label == f"system_u:system_r:container_t:{LEVEL}"


@requirement("VOL-13")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_volume_has_the_label_of_its_container(
    shared_containers: SharedContainers, images: Images
) -> None:
    """An image volume SHOULD be readable in the container, and have its level, or no categories.

    Source: Mount.image.
    """
    volume = cri.Mount(container_path="/volume", image=images.pull("volume").spec(), readonly=True)
    questions = {"label": label_of("/volume"), "read": "cat /volume/hello"}

    process = shared_containers.process(FIRST_PROCESS, mounts=[volume], questions=questions)

    assert process.answer("read") == "hello from the image"
    assert is_readable(process.answer("label"), process)
