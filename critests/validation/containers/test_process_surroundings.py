"""CMD, GEN: the devices, file systems, files and values that are no text, as the process of a container finds
them.
"""

from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires

DEVICES = {
    "null": "1:3",
    "zero": "1:5",
    "full": "1:7",
    "random": "1:8",
    "urandom": "1:9",
    "tty": "5:0",
    "ptmx": "5:2",
}
"""Major and minor numbers, hexadecimal; those that a container finds in /dev."""
LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - what a container finds there
OPENS_SETTINGS = (
    # nothing is written, and `true` is no special builtin, of which a shell that cannot redirect it ends
    "find /proc/sys -type f | while read -r name; do"
    ' case $name in */kernel/hostname) echo "looked at $name";; esac;'
    ' { true >>"$name"; } 2>/dev/null && echo "opened $name"; done; true'
)
FILE_SYSTEMS = {"/proc": "proc", "/sys": "sysfs", "/dev/pts": "devpts", SHARED_MEMORY: "tmpfs"}


@requirement("CMD-17/present")
def test_devices_that_every_program_expects_are_there(running_container: Container) -> None:
    """A container MUST have the devices null, zero, full, random, urandom, tty and ptmx.

    Source: the default devices of the OCI runtime specification for Linux.
    """
    found = {
        name: running_container.exec("stat", "-L", "-c", "%F %t:%T", f"/dev/{name}").stdout.decode().strip()
        for name in DEVICES
    }

    assert found == {name: f"character special file {numbers}" for name, numbers in DEVICES.items()}


@requirement("CMD-17/present")
def test_links_that_every_program_expects_are_there(running_container: Container) -> None:
    """A container MUST have the links fd, stdin, stdout and stderr in /dev.

    Source: the symbolic links in /dev of the OCI runtime specification for Linux.
    """
    found = {
        name: running_container.exec("readlink", f"/dev/{name}").stdout.decode().strip() for name in LINKS
    }

    assert found == LINKS


@requirement("CMD-17/present")
def test_file_systems_that_every_program_expects_are_there(
    runtime: Runtime, running_container: Container
) -> None:
    """A container MUST have /proc, /sys, /dev/pts and /dev/shm, each with its own file system; in the last
    files can be made.

    Source: the default file systems of the OCI runtime specification for Linux.
    """
    found = {place: mount.kind for place, mount in running_container.mounts().items()}
    if SHARED_MEMORY in found and not runtime.has(Capability.SHARED_KERNEL):
        # memory of the host's comes into a kernel of the sandbox's own by another file system
        found[SHARED_MEMORY] = FILE_SYSTEMS[SHARED_MEMORY]

    assert {place: found.get(place, "nothing") for place in FILE_SYSTEMS} == FILE_SYSTEMS
    made = f"echo kept > {SHARED_MEMORY}/made && cat {SHARED_MEMORY}/made; rm -f {SHARED_MEMORY}/made"
    assert running_container.output("/bin/sh", "-c", made) == "kept"


@requirement("CMD-17/mqueue")
def test_message_queues_are_there(running_container: Container) -> None:
    """A container SHOULD have the file system of message queues at /dev/mqueue.

    Source: not stated by the CRI; every runtime mounts it.
    """
    found = running_container.mounts()

    assert "/dev/mqueue" in found
    assert found["/dev/mqueue"].kind == "mqueue"


@requirement("CMD-18")
@requires(Capability.SHARED_KERNEL)
def test_sys_and_cgroups_are_read_only(running_container: Container) -> None:
    """An unprivileged container MUST find /sys and every cgroup file system read-only.

    Source: LinuxContainerSecurityContext.privileged, which alone makes them writable.
    """
    found = running_container.mounts()

    kept = [mount for mount in found.values() if mount.place == "/sys" or mount.kind in {"cgroup", "cgroup2"}]
    assert "/sys" in {mount.place for mount in kept}
    assert [mount.place for mount in kept if not mount.read_only] == []


@requirement("CMD-18")
def test_kernel_settings_are_read_only(running_container: Container) -> None:
    """An unprivileged container MUST NOT be able to open anything below /proc/sys for writing where the
    request lists it as read-only.

    Source: LinuxContainerSecurityContext.readonly_paths, in which the kubelet lists it.
    """
    assert "/proc/sys" in running_container.config.linux.security_context.readonly_paths

    lines = running_container.output("sh", "-c", OPENS_SETTINGS).splitlines()

    assert "looked at /proc/sys/kernel/hostname" in lines
    assert [line for line in lines if line.startswith("opened")] == []


@requirement("CMD-19/caller-wins")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("name", ["hosts", "hostname", "resolv.conf"])
def test_a_mount_of_the_caller_wins(containers: Containers, host_folder: Path, name: str) -> None:
    """A mount on /etc/hosts, /etc/hostname or /etc/resolv.conf that the caller asks for MUST win over the
    runtime's own.

    Source: ContainerConfig.mounts; the kubelet mounts /etc/hosts so.
    """
    (host_folder / name).write_text("127.0.0.1 localhost # written by the caller\n")

    container = containers.running(
        mounts=[cri.Mount(container_path=f"/etc/{name}", host_path=str(host_folder / name))]
    )

    assert container.output("cat", f"/etc/{name}") == "127.0.0.1 localhost # written by the caller"


@requirement("CMD-19/files")
def test_hostname_and_resolver_files_are_there(sandbox: Sandbox, running_container: Container) -> None:
    """A container SHOULD find /etc/hostname with the pod's hostname, and /etc/resolv.conf.

    Source: PodSandboxConfig.hostname and dns_config.
    """
    assert running_container.output("cat", "/etc/hostname") == sandbox.config.hostname
    assert running_container.exec("test", "-f", "/etc/resolv.conf").exit_code == 0


@requirement("CMD-19/hosts")
def test_hosts_made_by_the_runtime(running_container: Container, observe: Observe) -> None:
    """A runtime MAY make an /etc/hosts where the caller mounts none; if it does, localhost is in it.

    Source: ContainerConfig.mounts; the CRI does not say, the kubelet mounts its own.
    """
    answer = running_container.exec("sh", "-c", "test ! -e /etc/hosts || cat /etc/hosts")

    observe("is made" if answer.stdout else "is not there")
    assert answer.exit_code == 0
    assert not answer.stdout or b"localhost" in answer.stdout


@requirement("GEN-15/taken")
def test_environment_that_is_no_text_fails_no_container(containers: Containers) -> None:
    """A value of an environment variable that is no valid UTF-8 SHOULD NOT keep a container from running.

    Source: KeyValue.value, which is bytes; the kubelet passes on what a Secret holds.
    """
    envs = [cri.KeyValue(key="RAW", value=b"\xff\xfe")]

    container = containers.attempt(containers.config(envs=envs))

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("GEN-15/kept")
def test_environment_that_is_no_text(containers: Containers, observe: Observe) -> None:
    """A value of an environment variable that is no valid UTF-8 MAY be refused or changed; what stands beside
    it MUST come through.

    Source: KeyValue.value.
    """
    raw, text = b"\xff\xfe", "gr\u00fcn".encode()
    envs = [cri.KeyValue(key="RAW", value=raw), cri.KeyValue(key="TEXT", value=text)]

    try:
        container = containers.attempt(containers.config(envs=envs))
    except grpc.RpcError as error:
        observe(f"refused with {refused_with(error).name}")
        return

    told, _, beside = container.exec("/bin/sh", "-c", 'printf "%s|%s" "$RAW" "$TEXT"').stdout.partition(b"|")
    observe("kept" if told == raw else "changed")
    assert beside == text
