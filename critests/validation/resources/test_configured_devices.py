"""DEV, PRV: what a runtime's own configuration says of devices: whose they are, and whether privileged
containers have those of the host.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.node.kinds.told import DeviceOwnership, NoHostDevices
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement, requires
from critests.validation.resources.devices import spare_device
from critests.validation.security.daemon import as_far_as_the_daemon_can

pytestmark = [requires(Capability.SAME_HOST), disruptive]
PATH = "/dev/critests"
USER, GROUP = 1000, 2002
OWNER = f"{USER}:{GROUP}"
PRIVILEGED = cri.LinuxContainerSecurityContext(privileged=True)


@pytest.fixture
def owning_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that gives devices to the user of their container."""
    with shaped(request, runtime, Shape(told=(DeviceOwnership(),))) as own:
        yield own


@pytest.fixture
def withholding_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that gives privileged containers no devices of the host."""
    with shaped(request, runtime, Shape(told=(NoHostDevices(),))) as own:
        yield own


def with_a_device(runtime: OwnRuntime, folder: Path) -> Container:
    """Return a container of a user that is not root, with a device."""
    node = spare_device().make_node(folder / "node")
    context = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=USER), run_as_group=cri.Int64Value(value=GROUP)
    )
    device = cri.Device(host_path=str(node), container_path=PATH, permissions="rw")
    return runtime.container(devices=[device], security_context=context)


@requirement("DEV-08")
def test_devices_belong_to_the_user_where_it_is_configured(
    owning_runtime: OwnRuntime, host_folder: Path
) -> None:
    """Where a runtime is configured so, a device SHOULD belong to the user and the group of its container.

    Source: LinuxContainerSecurityContext.run_as_user and run_as_group; not stated by the CRI.
    """
    container = with_a_device(owning_runtime, host_folder)

    assert container.output("stat", "-c", "%u:%g", PATH) == OWNER


@requirement("DEV-08")
def test_devices_belong_to_root_where_nothing_is_configured(
    own_runtime: OwnRuntime, host_folder: Path
) -> None:
    """Where nothing else is configured, a device SHOULD belong to whom it belongs on the host.

    Source: not stated by the CRI; what is made for root alone would be given to every user.
    """
    assert own_runtime.daemon.pid
    container = with_a_device(own_runtime, host_folder)

    assert container.output("stat", "-c", "%u:%g", PATH) == "0:0"


@requirement("PRV-10")
@requires(Capability.SHARED_KERNEL)
def test_privileged_containers_have_no_devices_of_the_host_where_it_is_configured(
    withholding_runtime: OwnRuntime,
) -> None:
    """Where a runtime is configured so, a privileged container SHOULD NOT find the devices of the host.

    Source: not stated by the CRI; runtimes of virtual machines cannot hand them on.
    """
    device = spare_device()
    pod = withholding_runtime.sandbox(security_context=cri.LinuxSandboxSecurityContext(privileged=True))

    containers = withholding_runtime.containers
    with as_far_as_the_daemon_can(withholding_runtime):
        container = containers.attempt(containers.config(security_context=PRIVILEGED), in_sandbox=pod)

    assert container.exec("test", "-e", f"/dev/{device.name}").exit_code == 1
    assert container.exec("test", "-c", "/dev/null").exit_code == 0
