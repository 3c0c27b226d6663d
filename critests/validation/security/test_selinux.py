"""SEL, VOL: the SELinux label of a container's processes and files, on a kernel with SELinux and a runtime
that uses it.
"""

from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.node.observing.machine_facts import selinux_mode
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
    Sandboxes,
    SharedContainers,
    blocked,
    refused_with,
    requirement,
    requires,
    unsupported,
)
from critests.validation.security.contexts import context, pod_context
from critests.validation.security.daemon import blocked_without_daemon_capabilities, privileged_process
from critests.validation.security.selinux_labels import (
    WITHOUT_CATEGORIES,
    label_of,
    labels_of_policy,
    level_of,
    role_and_type_of,
    type_of,
)

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
FILES = ["/", *SYSTEM_FILES]
"""Paths of which a runtime chooses the labels by itself."""
LABELS = {path: label_of(path) for path in FILES}
REQUESTED = context(selinux_options=COMPLETE_LABEL)
REQUESTED_FOR_THE_POD = pod_context(selinux_options=COMPLETE_LABEL)
COMMANDS = (EXEC, STREAMING_EXEC)
PRIVILEGED_OPTIONS = {"level": cri.SELinuxOption(level=LEVEL), "label": COMPLETE_LABEL, **INVALID_LABELS}


@pytest.fixture(scope="module")
def policy() -> dict[str, str]:
    """The labels of processes and files of containers in the node's policy."""
    return labels_of_policy()


def mounted(paths: Sequence[str], process: ProcessEvidence) -> list[str]:
    """Return the paths at which a container has a mount of its own; a runtime need not mount each."""
    return [path for path in paths if process.mount_at(path) is not None]


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


@requirement("SEL-05/unconfined")
def test_a_privileged_process_may_write_files_of_the_node(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, host_folder: Path
) -> None:
    """A privileged process MUST be able to write to a mounted directory of the node that is not relabelled.

    Source: LinuxContainerSecurityContext.privileged, with which SELinux restrictions are not applied.
    """
    if selinux_mode() != "enforcing":
        blocked("SELinux denies nothing here, as it is permissive")
    pod = sandboxes.ready(security_context=pod_context(privileged=True))
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder))
    config = containers.config(mounts=[mount], security_context=context(privileged=True))
    with blocked_without_daemon_capabilities(runtime):
        container = containers.attempt(config, in_sandbox=pod)

    response = container.exec("/bin/sh", "-c", "echo written > /mounted/file")

    assert (response.exit_code, response.stderr) == (0, b"")


@requirement("SEL-05/given")
@pytest.mark.parametrize("given", PRIVILEGED_OPTIONS)
def test_form_of_a_label_for_a_privileged_container(
    runtime: Runtime, shared_containers: SharedContainers, record_variant: RecordVariant, given: str
) -> None:
    """The label in the request of a privileged container MAY be applied, ignored or rejected.

    Source: LinuxContainerSecurityContext.privileged, with which SELinux restrictions are not applied; the CRI
    does not say what this means for selinux_options.
    """
    options = PRIVILEGED_OPTIONS[given]
    plain = privileged_process(runtime, shared_containers)
    try:
        process = privileged_process(runtime, shared_containers, selinux_options=options)
    except grpc.RpcError as error:
        record_variant(f"rejected with {refused_with(error).name}")
        return

    record_variant("ignored" if process.label == plain.label else "applied")
    assert level_of(process.label) in {level_of(plain.label), options.level}


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

    if process.mount_at(path) is None:
        unsupported(f"a file of the runtime at {path}: it mounts none")
    assert is_readable(process.answer("label"), process)
    assert process.exit_code("read") == 0


@requirement("SEL-11/process")
def test_process_has_the_role_and_type_of_the_policy(
    shared_containers: SharedContainers, policy: dict[str, str]
) -> None:
    """The first process of a container without options SHOULD have the role and type that the policy of the
    node has for containers.

    Source: LinuxContainerSecurityContext.selinux_options. Not stated by the CRI for a container without them;
    the rules of the policy are for this type.
    """
    process = shared_containers.process(FIRST_PROCESS)

    assert role_and_type_of(process.label) == role_and_type_of(policy["process"])


@requirement("SEL-11/files")
def test_files_have_the_role_and_type_of_the_policy(
    shared_containers: SharedContainers, policy: dict[str, str]
) -> None:
    """The root file system of a container, and the files that a runtime mounts by itself, SHOULD have the
    role and type that the policy of the node has for files of containers.

    Source: not stated by the CRI; the rules of the policy are for this type.
    """
    process = shared_containers.process(FIRST_PROCESS, questions=LABELS)

    found = {path: role_and_type_of(process.answer(path)) for path in mounted(FILES, process)}
    assert found == dict.fromkeys(found, role_and_type_of(policy["file"]))


@requirement("SEL-11/level")
def test_files_have_the_level_of_the_process(shared_containers: SharedContainers) -> None:
    """The root file system of a container, and the files that a runtime mounts by itself, SHOULD have the
    level of its process.

    Source: not stated by the CRI; files without categories are open to the containers of all pods.
    """
    process = shared_containers.process(FIRST_PROCESS, questions=LABELS)

    found = {path: level_of(process.answer(path)) for path in mounted(FILES, process)}
    assert found == dict.fromkeys(found, level_of(process.label))


@requirement("SEL-11/privileged")
def test_files_of_a_privileged_container_have_the_label_of_its_pod(
    runtime: Runtime, shared_containers: SharedContainers, policy: dict[str, str]
) -> None:
    """The files that a runtime mounts by itself into a privileged container SHOULD have the role and type of
    files of containers, and a level that the other containers of the pod may read.

    Source: not stated by the CRI; the containers of a pod share these files.
    """
    pod = shared_containers.sandbox(security_context=pod_context(privileged=True))
    ordinary = shared_containers.process(FIRST_PROCESS, in_sandbox=pod)

    privileged = privileged_process(runtime, shared_containers, questions=LABELS)

    labels = {path: privileged.answer(path) for path in mounted(SYSTEM_FILES, privileged)}
    found = {path: (role_and_type_of(label), is_readable(label, ordinary)) for path, label in labels.items()}
    assert found == dict.fromkeys(found, (role_and_type_of(policy["file"]), True))


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


@requirement("VOL-13")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_volume_is_readable_in_pods_of_different_levels(
    sandboxes: Sandboxes, containers: Containers, images: Images
) -> None:
    """One image SHOULD be readable as a volume in two pods with different levels at the same time.

    Source: Mount.image; not stated by the CRI for SELinux.
    """
    volume = cri.Mount(container_path="/volume", image=images.pull("volume").spec(), readonly=True)
    readers = []
    for level in LEVEL, "s0:c33,c44":
        options = cri.SELinuxOption(level=level)
        pod = sandboxes.ready(security_context=pod_context(selinux_options=options))
        config = containers.config(mounts=[volume], security_context=context(selinux_options=options))
        readers.append(containers.attempt(config, in_sandbox=pod))

    # in the first container only now, as the second mount may have changed the labels
    outputs = [reader.exec("cat", "/volume/hello").stdout for reader in readers]

    assert outputs == [b"hello from the image\n"] * 2
