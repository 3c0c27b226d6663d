"""MNT: options of single mounts, and SELinux labels."""

import os
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, Containers, RecordVariant, requirement, requires

LABEL = "security.selinux"


@requirement("MNT-26")
@requires(Capability.MOUNT_OPTIONS, Capability.SAME_HOST)
@pytest.mark.parametrize("option", ["noexec", "nosuid", "nodev"])
def test_a_requested_mount_option_is_applied(containers: Containers, host_folder: Path, option: str) -> None:
    """A mount MUST have the requested `mount_options` if the runtime offers the feature.

    Source: Mount.mount_options, RuntimeFeatures.mount_options.
    """
    program = host_folder / "program"
    program.write_text("#!/bin/sh\necho it runs\n")
    program.chmod(0o755)
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder), mount_options=[option])
    container = containers.running(mounts=[mount])

    # through a shell, as ExecSync itself may fail for a program that cannot be executed
    response = container.exec("/bin/sh", "-c", "/mounted/program")

    assert option in container.mount_at("/mounted").options
    assert (response.exit_code == 0) is (option != "noexec")


@requirement("MNT-27")
@requires(Capability.MOUNT_OPTIONS, Capability.SAME_HOST)
def test_an_unknown_mount_option_is_refused(containers: Containers, host_folder: Path) -> None:
    """CreateContainer or StartContainer MUST reject an unknown mount option if the runtime offers options.

    Source: Mount.mount_options.
    """
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder), mount_options=["no-such-option"])

    containers.refusal(containers.config(mounts=[mount]))


@requirement("MNT-23")
@requires(Capability.SELINUX, Capability.SHARED_KERNEL)
@pytest.mark.parametrize("relabel", [True, False], ids=["requested", "not-requested"])
def test_files_are_relabelled_only_on_request(
    containers: Containers, host_folder: Path, *, relabel: bool
) -> None:
    """A mount with `selinux_relabel` MUST relabel the files of the host so that the container may read them;
    without it, the files MUST retain their labels.

    Source: Mount.selinux_relabel.
    """
    file = host_folder / "file"
    file.write_text("labelled\n")
    before = os.getxattr(file, LABEL)

    container = containers.running(
        mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder), selinux_relabel=relabel)]
    )

    # a label is user:role:type:level, and the categories of the level separate containers
    own_level = container.output("cat", "/proc/self/attr/current").rstrip("\0").split(":", 3)[-1]
    label = os.getxattr(file, LABEL).rstrip(b"\0").decode()
    assert (label.split(":", 3)[-1] == own_level, os.getxattr(file, LABEL) == before) == (
        relabel,
        not relabel,
    )


@requirement("MNT-35")
@requires(Capability.SELINUX, Capability.SHARED_KERNEL)
def test_form_of_relabelling_for_an_unconfined_container(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A mount with `selinux_relabel` MAY leave the labels of the host as they are for a container of the type
    spc_t, which may read every file.

    Source: Mount.selinux_relabel; the CRI does not say.
    """
    file = host_folder / "file"
    file.write_text("labelled\n")
    before = os.getxattr(file, LABEL)
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder), selinux_relabel=True)
    unconfined = cri.LinuxContainerSecurityContext(selinux_options=cri.SELinuxOption(type="spc_t"))

    container = containers.running(mounts=[mount], security_context=unconfined)

    record_variant("files retain their labels" if os.getxattr(file, LABEL) == before else "relabelled")
    assert container.output("cat", "/mounted/file") == "labelled"
