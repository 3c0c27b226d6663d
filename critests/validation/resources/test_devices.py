"""DEV: device nodes that a container requests, verified by opening them."""

import secrets
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    CAPABILITIES,
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandboxes,
    blocked,
    lingering,
    process_capabilities,
    refused_with,
    requirement,
    requires,
)
from critests.validation.resources.devices import Device, open_script, spare_device
from critests.validation.security.daemon import blocked_without_daemon_capabilities

pytestmark = requires(Capability.SAME_HOST)
PATH = "/dev/critests"


@pytest.fixture
def device() -> Device:
    """A device that containers do not have by default."""
    return spare_device()


@pytest.fixture
def node(device: Device, host_folder: Path) -> Path:
    """A node of that device, created for the test, which every user may read and write."""
    return device.create_node(host_folder / "node")


def device_request(node: Path, permissions: str = "rw", path: str = PATH) -> cri.Device:
    """Return the request for a device."""
    return cri.Device(host_path=str(node), container_path=path, permissions=permissions)


def opened_at(containers: Containers, path: str, *devices: cri.Device) -> list[str]:
    """Return what the first process of a container finds at a path: kind and numbers of the device, and
    whether it can be opened for reading and writing.
    """
    container = containers.exited(script=lingering(open_script(path)), devices=devices)
    return container.log_lines("stdout")


@requirement("DEV-01")
def test_a_requested_device_is_present_and_usable(containers: Containers, device: Device, node: Path) -> None:
    """A requested device MUST be at its path with the numbers of the host's device, and MUST be usable with
    the requested permissions.

    Source: Device.
    """
    config = containers.config(first=f"{open_script(PATH)}; echo done", devices=[device_request(node, "rwm")])

    container = containers.attempt(config)

    assert container.wait_for_log("done") == [
        f"character special file {device.numbers}",
        "reads",
        "writes",
        "done",
    ]


@requirement("DEV-01")
def test_a_requested_device_can_be_used_by_an_exec(containers: Containers, node: Path) -> None:
    """A requested device MUST be usable by a command run with ExecSync.

    Source: Device, ExecSync.
    """
    container = containers.running(devices=[device_request(node)])

    assert container.output("/bin/sh", "-c", open_script(PATH)).splitlines()[1:] == ["reads", "writes"]


@requirement("DEV-02")
@pytest.mark.parametrize(
    ("permissions", "expected"),
    [("r", ["reads", "cannot write"]), ("w", ["cannot read", "writes"])],
    ids=["read only", "write only"],
)
def test_a_device_can_only_be_opened_as_permitted(
    containers: Containers, node: Path, permissions: str, expected: list[str]
) -> None:
    """A device MUST NOT be opened in a way that its `permissions` exclude.

    Source: Device.permissions.
    """
    assert opened_at(containers, PATH, device_request(node, permissions))[1:] == expected


@requirement("DEV-03")
def test_a_device_that_was_not_requested_cannot_be_used(
    runtime: Runtime, containers: Containers, device: Device
) -> None:
    """A device that was not requested MUST NOT be usable, even if the container can create a node for it.

    Source: Device; LinuxContainerSecurityContext.privileged, which alone opens all devices.
    """
    # if the sandbox has its own kernel, these numbers belong to another device there
    runtime.require_host_kernel()
    script = f"mknod -m 666 /made c {device.major} {device.minor} && {open_script('/made')}"
    container = containers.exited(
        script=lingering(script),
        security_context=cri.LinuxContainerSecurityContext(
            capabilities=cri.Capability(add_capabilities=["MKNOD"])
        ),
    )

    assert container.log_lines("stdout")[1:] == ["cannot read", "cannot write"]


@requirement("DEV-04/renamed")
def test_a_device_may_have_another_path_in_the_container(
    containers: Containers, device: Device, node: Path
) -> None:
    """A device SHOULD be at the requested `container_path`, and not at the host's path.

    Source: Device.container_path.
    """
    # in directories that /dev does not have: the runtime must create them
    container = containers.running(devices=[device_request(node, path="/dev/deep/er/device")])

    found = container.output("stat", "-c", "%F %t:%T", "/dev/deep/er/device")
    assert found == f"character special file {device.numbers}"
    assert container.exec("test", "-e", str(node)).exit_code == 1


@requirement("DEV-04/renamed")
@pytest.mark.parametrize("path", [PATH, "/dev/full"], ids=["new", "of another device"])
def test_a_device_has_its_path_in_a_privileged_container(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, device: Device, node: Path, path: str
) -> None:
    """A requested device SHOULD be at its `container_path` in a privileged container; if another device of
    the host has this path, the request may be rejected.

    Source: Device.container_path, LinuxContainerSecurityContext.privileged.
    """
    pod = sandboxes.ready(security_context=cri.LinuxSandboxSecurityContext(privileged=True))
    config = containers.config(
        devices=[device_request(node, path=path)],
        security_context=cri.LinuxContainerSecurityContext(privileged=True),
    )
    try:
        container = containers.attempt(config, in_sandbox=pod)
    except grpc.RpcError as error:
        refused_with(error)
        block_if_the_daemon_lacks_capabilities(runtime)
        assert path != PATH
    else:
        found = container.output("stat", "-c", "%F %t:%T", path)
        assert found == f"character special file {device.numbers}"


@requirement("DEV-04/empty")
def test_form_of_a_device_without_a_path_in_the_container(
    containers: Containers, node: Path, record_variant: RecordVariant
) -> None:
    """A device without `container_path` MAY be rejected, be at the host's path, or be missing; other
    containers are not affected.

    Source: Device.container_path; runtimes differ.
    """
    config = containers.config(devices=[device_request(node, path="")])

    try:
        container = containers.attempt(config)
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        container = containers.running()
    else:
        present = container.exec("test", "-c", str(node)).exit_code == 0
        record_variant("is at the host's path" if present else "is not there")
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("DEV-05")
@pytest.mark.usefixtures("limits")
def test_a_device_that_the_host_lacks_is_refused(containers: Containers, host_folder: Path) -> None:
    """CreateContainer or StartContainer SHOULD reject a device that the host does not have.

    Source: judgement; a container that runs without it fails later, for no visible reason.
    """
    containers.refusal(containers.config(devices=[device_request(host_folder / "missing")]))


@requirement("DEV-06")
def test_a_directory_adds_the_devices_in_it(
    containers: Containers, device: Device, host_folder: Path
) -> None:
    """A directory as `host_path` SHOULD add all device nodes in it, and they SHOULD be usable.

    Source: not stated by the CRI; users request directories such as /dev/snd in this way.
    """
    (host_folder / "several").mkdir()
    for name in ("first", "second"):
        device.create_node(host_folder / "several" / name)

    container = containers.running(devices=[device_request(host_folder / "several")])

    for name in ("first", "second"):
        assert container.output("/bin/sh", "-c", open_script(f"{PATH}/{name}")).splitlines() == [
            f"character special file {device.numbers}",
            "reads",
            "writes",
        ]


@requirement("DEV-06")
def test_a_symbolic_link_adds_its_target_device(
    containers: Containers, device: Device, node: Path, host_folder: Path
) -> None:
    """A symbolic link as `host_path` SHOULD add the device that it resolves to.

    Source: not stated by the CRI; stable names such as those in /dev/disk are links.
    """
    (host_folder / "link").symlink_to(node)

    assert opened_at(containers, PATH, device_request(host_folder / "link")) == [
        f"character special file {device.numbers}",
        "reads",
        "writes",
    ]


@requirement("DEV-07")
@pytest.mark.usefixtures("limits")
def test_invalid_device_permissions_are_refused(containers: Containers, node: Path) -> None:
    """CreateContainer or StartContainer SHOULD reject `permissions` with an unknown letter.

    Source: Device.permissions.
    """
    # the device controller of cgroups has r, w and m (mknod)
    containers.refusal(containers.config(devices=[device_request(node, "rx")]))


@requirement("DEV-09")
def test_a_device_requested_twice_is_present_once(containers: Containers, device: Device, node: Path) -> None:
    """A device that is requested twice SHOULD be present once.

    Source: not stated by the CRI; two device plugins may name the same one.
    """
    assert opened_at(containers, PATH, device_request(node), device_request(node)) == [
        f"character special file {device.numbers}",
        "reads",
        "writes",
    ]


@requirement("DEV-18/present")
def test_a_privileged_container_has_the_devices_of_the_host(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, device: Device
) -> None:
    """A privileged container MUST have the devices of the host, and MUST be able to open them.

    Source: LinuxContainerSecurityContext.privileged.
    """
    pod = sandboxes.ready(security_context=cri.LinuxSandboxSecurityContext(privileged=True))

    config = containers.config(security_context=cri.LinuxContainerSecurityContext(privileged=True))
    try:
        container = containers.attempt(config, in_sandbox=pod)
    except grpc.RpcError as error:
        refused_with(error)
        block_if_the_daemon_lacks_capabilities(runtime)
        raise

    assert container.output("/bin/sh", "-c", open_script(f"/dev/{device.name}")).splitlines() == [
        f"character special file {device.numbers}",
        "reads",
        "writes",
    ]


def block_if_the_daemon_lacks_capabilities(runtime: Runtime) -> None:
    """Block a test of a privileged container if the daemon lacks a capability, which it then cannot grant."""
    pid = runtime.context.daemon_pid
    lacking = set(CAPABILITIES) - process_capabilities(pid).permitted if pid is not None else set()
    if lacking:
        blocked(
            f"the daemon lacks CAP_{', CAP_'.join(sorted(lacking))} here, and cannot grant every capability"
        )


@requirement("DEV-20")
def test_form_of_a_regular_file_requested_as_a_device(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A regular file that is requested as a device MAY be rejected or ignored; it is never present as a
    device, and other containers are not affected.

    Source: Device.host_path; runtimes differ.
    """
    (host_folder / "file").write_text("no device\n")
    config = containers.config(devices=[device_request(host_folder / "file")])

    try:
        container = containers.attempt(config)
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        container = containers.running()
    else:
        record_variant("ignored")
    assert container.exec("test", "-e", PATH).exit_code == 1
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("DEV-21")
def test_mode_of_a_device_in_the_container(
    containers: Containers, device: Device, host_folder: Path, record_variant: RecordVariant
) -> None:
    """The mode of a device in the container MAY be that of the host's node, or another one.

    Source: Device; runtimes differ, and it decides what a process that is not root can do.
    """
    # different from 666, which some runtimes set for every device
    node = device.create_node(host_folder / "own-mode", 0o640)

    container = containers.running(devices=[device_request(node)])

    mode = container.output("stat", "-c", "%a", PATH)
    assert mode in {"640", "666"}
    record_variant("the host's" if mode == "640" else "read and write for all")


@pytest.fixture
def privileged(runtime: Runtime, sandboxes: Sandboxes, containers: Containers) -> Container:
    """A running privileged container."""
    pod = sandboxes.ready(security_context=cri.LinuxSandboxSecurityContext(privileged=True))
    config = containers.config(security_context=cri.LinuxContainerSecurityContext(privileged=True))
    with blocked_without_daemon_capabilities(runtime):
        return containers.attempt(config, in_sandbox=pod)


@requirement("DEV-18/hot-plug")
def test_form_of_a_device_of_the_host_that_appears_later(
    runtime: Runtime, privileged: Container, device: Device, record_variant: RecordVariant
) -> None:
    """A device that the host adds while a privileged container runs MAY be visible there or not; the
    container continues to run.

    Source: LinuxContainerSecurityContext.privileged; the CRI does not say.
    """
    name = f"critests-{secrets.token_hex(4)}"
    node = device.create_node(runtime.seen_by_daemon(Path("/dev")) / name)
    try:
        present = privileged.exec("test", "-c", f"/dev/{name}").exit_code == 0
    finally:
        node.unlink()

    record_variant("is seen" if present else "is not seen")
    assert privileged.state() == cri.CONTAINER_RUNNING
