"""DEV, PRV: devices as the runtime's own configuration sets them: their owner, and whether privileged
containers have those of the host.
"""

from pathlib import Path

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    DeviceOwnership,
    NoHostDevices,
    OwnRuntime,
    configured,
    disruptive,
    requirement,
    requires,
)
from critests.validation.resources.devices import spare_device
from critests.validation.security.daemon import blocked_without_daemon_capabilities

pytestmark = [requires(Capability.SAME_HOST), disruptive]
PATH = "/dev/critests"
USER, GROUP = 1000, 2002  # GROUP is not the group that /etc/passwd of the image has for USER
OWNER = f"{USER}:{GROUP}"
PRIVILEGED = cri.LinuxContainerSecurityContext(privileged=True)


def run_with_device(runtime: OwnRuntime, folder: Path) -> Container:
    """Run a container with a device as a user that is not root."""
    node = spare_device().create_node(folder / "node")
    context = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=USER), run_as_group=cri.Int64Value(value=GROUP)
    )
    device = cri.Device(host_path=str(node), container_path=PATH, permissions="rw")
    return runtime.container(devices=[device], security_context=context)


@requirement("DEV-08")
@configured(DeviceOwnership())
def test_devices_belong_to_the_user_if_configured(own_runtime: OwnRuntime, host_folder: Path) -> None:
    """A device SHOULD belong to the user and group of its container if the runtime is configured so.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_group; not stated by the CRI.
    """
    container = run_with_device(own_runtime, host_folder)

    assert container.output("stat", "-c", "%u:%g", PATH) == OWNER


@requirement("DEV-08")
def test_devices_belong_to_root_by_default(own_runtime: OwnRuntime, host_folder: Path) -> None:
    """A device SHOULD have the host's owner and group in the container by default.

    Source: not stated by the CRI; otherwise every user could use devices that are for root alone.
    """
    assert own_runtime.daemon.pid
    container = run_with_device(own_runtime, host_folder)

    assert container.output("stat", "-c", "%u:%g", PATH) == "0:0"


@requirement("PRV-10")
@requires(Capability.SHARED_KERNEL)
@configured(NoHostDevices())
def test_privileged_containers_have_no_devices_of_the_host_if_configured(
    own_runtime: OwnRuntime,
) -> None:
    """A privileged container SHOULD NOT have the devices of the host if the runtime is configured so.

    Source: not stated by the CRI; runtimes of virtual machines cannot pass them through.
    """
    device = spare_device()
    pod = own_runtime.sandbox(security_context=cri.LinuxSandboxSecurityContext(privileged=True))

    containers = own_runtime.containers
    with blocked_without_daemon_capabilities(own_runtime):
        container = containers.attempt(containers.config(security_context=PRIVILEGED), in_sandbox=pod)

    assert container.exec("test", "-e", f"/dev/{device.name}").exit_code == 1
    assert container.exec("test", "-c", "/dev/null").exit_code == 0
