"""CMD, GEN: devices, file systems and files that a container's process has by default, and environment values
that are not text.
"""

from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    refused_with,
    requirement,
    requires,
)

DEVICES = {
    "null": "1:3",
    "zero": "1:5",
    "full": "1:7",
    "random": "1:8",
    "urandom": "1:9",
    "tty": "5:0",
    "ptmx": "5:2",
}
"""The default devices below /dev, with major and minor number in hexadecimal."""
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - what a container finds there
OPENS_SETTINGS = (
    # writes nothing; `true` is not a special builtin: after a failed redirection of one, a POSIX shell exits
    "find /proc/sys -type f | while read -r name; do"
    ' case $name in */kernel/hostname) echo "tried $name";; esac;'
    ' { true >>"$name"; } 2>/dev/null && echo "opened $name"; done; true'
)
FILE_SYSTEMS = {"/proc": "proc", "/sys": "sysfs", "/dev/pts": "devpts", SHARED_MEMORY: "tmpfs"}


@requirement("CMD-17/present")
def test_default_devices_exist(running_container: Container) -> None:
    """A container MUST have the devices null, zero, full, random, urandom, tty and ptmx.

    Source: the default devices of the OCI runtime specification for Linux.
    """
    devices = {
        # -L, as /dev/ptmx may be a link to pts/ptmx
        name: running_container.exec("stat", "-L", "-c", "%F %t:%T", f"/dev/{name}").stdout.decode().strip()
        for name in DEVICES
    }

    assert devices == {name: f"character special file {numbers}" for name, numbers in DEVICES.items()}


@requirement("CMD-17/present")
def test_default_links_in_dev_exist(running_container: Container) -> None:
    """A container MUST have the links fd, stdin, stdout and stderr in /dev.

    Source: the symbolic links in /dev of the OCI runtime specification for Linux.
    """
    links = {
        name: running_container.exec("readlink", f"/dev/{name}").stdout.decode().strip() for name in LINKS
    }

    assert links == LINKS


@requirement("CMD-17/present")
def test_default_file_systems_are_mounted(runtime: Runtime, running_container: Container) -> None:
    """A container MUST have the file systems proc, sysfs and devpts at /proc, /sys and /dev/pts, and a
    writable tmpfs at /dev/shm.

    Source: the default file systems of the OCI runtime specification for Linux.
    """
    kinds = {place: mount.kind for place, mount in running_container.mounts().items()}
    if SHARED_MEMORY in kinds and not runtime.has(Capability.SHARED_KERNEL):
        # a sandbox with its own kernel mounts shared memory of the host through another file system
        kinds[SHARED_MEMORY] = FILE_SYSTEMS[SHARED_MEMORY]

    assert {place: kinds.get(place, "nothing") for place in FILE_SYSTEMS} == FILE_SYSTEMS
    # whatever kind of file system it is, the container can write to it
    script = f"echo text > {SHARED_MEMORY}/file && cat {SHARED_MEMORY}/file; rm -f {SHARED_MEMORY}/file"
    assert running_container.output("/bin/sh", "-c", script) == "text"


@requirement("CMD-17/mqueue")
def test_message_queues_are_mounted(running_container: Container) -> None:
    """A container SHOULD have an mqueue file system at /dev/mqueue.

    Source: not stated by the CRI; every runtime mounts it.
    """
    mounts = running_container.mounts()

    assert "/dev/mqueue" in mounts
    assert mounts["/dev/mqueue"].kind == "mqueue"


@requirement("CMD-18")
@requires(Capability.SHARED_KERNEL)
def test_sys_and_cgroups_are_read_only(running_container: Container) -> None:
    """An unprivileged container MUST have /sys and every cgroup file system read-only.

    Source: LinuxContainerSecurityContext.privileged, the only field that makes them writable.
    """
    mounts = [
        mount
        for mount in running_container.mounts().values()
        # the second kind is that of version 2
        if mount.place == "/sys" or mount.kind in {"cgroup", "cgroup2"}
    ]

    assert "/sys" in {mount.place for mount in mounts}
    assert [mount.place for mount in mounts if not mount.read_only] == []


@requirement("CMD-18")
def test_kernel_settings_are_read_only(running_container: Container) -> None:
    """An unprivileged container MUST NOT be able to open files below /proc/sys for writing if
    `readonly_paths` has /proc/sys.

    Source: LinuxContainerSecurityContext.readonly_paths, to which the kubelet adds /proc/sys.
    """
    assert "/proc/sys" in running_container.config.linux.security_context.readonly_paths

    lines = running_container.output("sh", "-c", OPENS_SETTINGS).splitlines()

    assert "tried /proc/sys/kernel/hostname" in lines
    assert [line for line in lines if line.startswith("opened")] == []


@requirement("CMD-19/caller-wins")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("name", ["hosts", "hostname", "resolv.conf"])
def test_requested_files_in_etc_replace_those_of_the_runtime(
    containers: Containers, host_folder: Path, name: str
) -> None:
    """A requested mount at /etc/hosts, /etc/hostname or /etc/resolv.conf MUST replace the runtime's own file.

    Source: ContainerConfig.mounts; the kubelet mounts /etc/hosts this way.
    """
    # valid as a hosts file, and its comment identifies it
    (host_folder / name).write_text("127.0.0.1 localhost # written by the caller\n")

    container = containers.running(
        mounts=[cri.Mount(container_path=f"/etc/{name}", host_path=str(host_folder / name))]
    )

    assert container.output("cat", f"/etc/{name}") == "127.0.0.1 localhost # written by the caller"


@requirement("CMD-19/files")
def test_hostname_and_resolver_files_exist(sandbox: Sandbox, running_container: Container) -> None:
    """A container SHOULD have /etc/hostname with the pod's hostname, and /etc/resolv.conf.

    Source: PodSandboxConfig.hostname and dns_config.
    """
    assert running_container.output("cat", "/etc/hostname") == sandbox.config.hostname
    assert running_container.exec("test", "-f", "/etc/resolv.conf").exit_code == 0


@requirement("CMD-19/hosts")
def test_hosts_file_of_the_runtime(running_container: Container, record_variant: RecordVariant) -> None:
    """CreateContainer MAY create /etc/hosts if the request does not mount one; if it does, the file has
    localhost.

    Source: ContainerConfig.mounts; not stated by the CRI, the kubelet mounts its own.
    """
    response = running_container.exec("sh", "-c", "test ! -e /etc/hosts || cat /etc/hosts")

    record_variant("is made" if response.stdout else "is not there")
    assert response.exit_code == 0
    assert not response.stdout or b"localhost" in response.stdout


@requirement("GEN-15/taken")
def test_environment_that_is_not_utf_8_fails_no_container(containers: Containers) -> None:
    """A value in `envs` that is not valid UTF-8 SHOULD NOT prevent a container from running.

    Source: KeyValue.value, which is bytes; the kubelet passes on what a Secret holds.
    """
    # no byte of UTF-8 is 0xFE or 0xFF
    envs = [cri.KeyValue(key="RAW", value=b"\xff\xfe")]

    container = containers.attempt(containers.config(envs=envs))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("GEN-15/preserved")
def test_form_of_environment_that_is_not_utf_8(containers: Containers, record_variant: RecordVariant) -> None:
    """A value in `envs` that is not valid UTF-8 MAY be rejected or changed; other values in `envs` MUST be
    unchanged.

    Source: KeyValue.value.
    """
    raw, text = b"\xff\xfe", "gr\u00fcn".encode()
    envs = [cri.KeyValue(key="RAW", value=raw), cri.KeyValue(key="TEXT", value=text)]

    try:
        container = containers.attempt(containers.config(envs=envs))
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        return

    output = container.exec("/bin/sh", "-c", 'printf "%s|%s" "$RAW" "$TEXT"').stdout
    raw_value, _, text_value = output.partition(b"|")
    record_variant("preserved" if raw_value == raw else "changed")
    assert text_value == text
