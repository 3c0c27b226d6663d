"""DEV: devices that a container requests by the names of the Container Device Interface."""

from pathlib import Path

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Images
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.node import cdi
from critests.node.cdi import CdiFolder
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import blocked, unsupported
from critests.validation.resources.devices import attempts, spare_device

pytestmark = requires(Capability.CDI)
PATH = "/dev/critests-cdi"


def naming(config: cri.ContainerConfig, *names: str) -> cri.ContainerConfig:
    """Return a configuration that requests devices by name."""
    config.CDI_devices.extend(cri.CDIDevice(name=name) for name in names)
    return config


def variable(container: Container, name: str) -> str:
    """Return an environment variable of a container's first process."""
    container.until_its_command_runs()
    environment = container.output("cat", "/proc/1/environ").replace("\\x00", "\0").split("\0")
    values = [pair.partition("=")[2] for pair in environment if pair.startswith(f"{name}=")]
    return ",".join(values)


@requirement("DEV-10")
def test_a_named_device_sets_variables(containers: Containers, cdi_folder: CdiFolder) -> None:
    """A device MUST set the environment variables that its specification names.

    Source: ContainerConfig.CDI_devices; env of the CDI specification.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})

    container = containers.running(naming(containers.config(), f"{kind}=one"))

    assert variable(container, "CDI_ONE") == "first"


@requirement("DEV-10")
def test_variables_of_a_named_device_win(
    containers: Containers, images: Images, cdi_folder: CdiFolder
) -> None:
    """An environment variable that the device's specification names MUST have its value, also where the image
    or the container names it too.

    Source: ContainerConfig.CDI_devices; containerEdits of the CDI specification, which change what there is.
    """
    kind = cdi_folder.write({"one": cdi.variables("FROM_IMAGE=device", "CDI_ONE=device")})
    config = containers.config(image=images.pull("process"), envs={"CDI_ONE": "container"})

    container = containers.running(naming(config, f"{kind}=one"))

    assert variable(container, "FROM_IMAGE").split(",")[-1] == "device"
    assert variable(container, "CDI_ONE").split(",")[-1] == "device"


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_a_named_device_brings_its_nodes(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A device MUST bring the device nodes that its specification names, with their permissions.

    Source: ContainerConfig.CDI_devices; deviceNodes of the CDI specification.
    """
    device = spare_device()
    kind = cdi_folder.write({"one": cdi.node(PATH, str(device.make_node(host_folder / "node")), "r")})

    container = containers.exited(naming(containers.config(script=attempts(PATH)), f"{kind}=one"))

    assert container.log_lines("stdout") == [
        f"character special file {device.numbers}",
        "reads",
        "cannot write",
    ]


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_a_named_device_brings_its_mounts(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A device MUST bring the mounts that its specification names, with their options.

    Source: ContainerConfig.CDI_devices; mounts of the CDI specification.
    """
    (host_folder / "library").write_text("of the driver\n")
    kind = cdi_folder.write({"one": cdi.mount("/driver", str(host_folder))})

    container = containers.running(naming(containers.config(), f"{kind}=one"))

    assert container.output("cat", "/driver/library") == "of the driver"
    assert container.exec("touch", "/driver/written").exit_code != 0


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_a_named_device_runs_its_hooks(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A device MUST run the hooks that its specification names, as the container is created.

    Source: ContainerConfig.CDI_devices; hooks of the CDI specification.
    """
    kind = cdi_folder.write({"one": counting(host_folder / "ran")})

    containers.running(naming(containers.config(), f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-11")
def test_a_device_that_nobody_has_described_is_refused(runtime: Runtime, containers: Containers) -> None:
    """CreateContainer MUST fail for a device that no specification describes.

    Source: ContainerConfig.CDI_devices.
    """
    config = naming(containers.config(), f"{cdi.VENDOR}/nothing=nobody")

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))


@requirement("DEV-11")
def test_a_missing_device_of_a_described_kind_is_refused(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """CreateContainer MUST fail for a device that the specification of its kind does not describe, also where
    another one that is requested is described.

    Source: ContainerConfig.CDI_devices.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})
    config = naming(containers.config(), f"{kind}=one", f"{kind}=two")

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))


@requirement("DEV-12")
def test_a_broken_specification_does_not_stand_in_the_way(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """A specification that cannot be read MUST NOT stand in the way of containers that do not use it.

    Source: ContainerConfig.CDI_devices.
    """
    cdi_folder.place(f"{cdi.VENDOR}/broken", '{"cdiVersion": "0.5.0", "kind": ')
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})

    without = runtime.stub.CreateContainer(containers.creation(plain := containers.config()))
    using = naming(containers.config(), f"{kind}=one")
    with_another = runtime.stub.CreateContainer(containers.creation(using))

    assert containers.adopt(without.container_id, plain).state() == cri.CONTAINER_CREATED
    assert containers.adopt(with_another.container_id, using).state() == cri.CONTAINER_CREATED


@requirement("DEV-13")
def test_a_changed_specification_is_picked_up(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """A specification that is changed MUST be picked up while the daemon runs.

    Source: the CDI specification; its directories are watched or read again.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=before")})
    before = containers.running(naming(containers.config(), f"{kind}=one"))
    cdi_folder.write({"one": cdi.variables("CDI_ONE=after")}, kind)

    def changed() -> str:
        container = containers.attempt(naming(containers.config(), f"{kind}=one"))
        return variable(container, "CDI_ONE")

    assert variable(before, "CDI_ONE") == "before"
    runtime.eventually("the changed specification", changed, 10, lambda value: value == "after")


@requirement("DEV-14")
@requires(Capability.SAME_HOST)
def test_several_devices_of_one_kind_are_merged(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """Several devices of one kind SHOULD each take effect, and what their specification says for all of them
    once.

    Source: judgement; containerEdits of the CDI specification.
    """
    kind = cdi_folder.write(
        {"one": cdi.variables("CDI_ONE=first"), "two": cdi.variables("CDI_TWO=second")},
        everywhere=counting(host_folder / "ran"),
    )

    container = containers.running(naming(containers.config(), f"{kind}=one", f"{kind}=two"))

    assert (variable(container, "CDI_ONE"), variable(container, "CDI_TWO")) == ("first", "second")
    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-14")
@requires(Capability.SAME_HOST)
def test_a_device_that_is_named_twice_takes_effect_once(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A device that is requested twice SHOULD take effect once.

    Source: judgement; ContainerConfig.CDI_devices.
    """
    kind = cdi_folder.write({"one": counting(host_folder / "ran")})

    containers.running(naming(containers.config(), f"{kind}=one", f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-16")
@requires(Capability.SAME_HOST)
def test_a_device_of_field_and_annotation_takes_effect_once(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A device that is requested by the field and by an annotation SHOULD take effect once.

    Source: ContainerConfig.CDI_devices; the kubelet sends both.
    """
    kind = cdi_folder.write({"one": counting(host_folder / "ran")})
    config = containers.config(annotations={"cdi.k8s.io/critests": f"{kind}=one"})

    containers.running(naming(config, f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-17")
@requires(Capability.SAME_HOST)
def test_a_gpu_of_the_machine_can_be_used(containers: Containers, cdi_folder: CdiFolder) -> None:
    """A container that names a GPU of the machine MUST have its device nodes, to read and to write, and the
    files of its driver.

    Source: ContainerConfig.CDI_devices; the specification that the tool of the GPU's vendor writes.
    """
    gpu = cdi.gpu_of_the_machine()
    if gpu is None:
        blocked(
            "needs a GPU that a CDI specification of this machine describes (nvidia-ctk cdi generate"
            " --output=/etc/cdi/nvidia.yaml)"
        )
    cdi_folder.place(gpu.name.partition("=")[0], gpu.text)
    cdi_folder.until_read()

    container = containers.running(naming(containers.config(), gpu.name))

    usable = "".join(f"test -c {path}; : <>{path}; " for path in gpu.nodes)
    there = "".join(f"test -e {path}; " for path in gpu.files)
    assert container.output("/bin/sh", "-ec", f"{usable}{there}echo all") == "all"


@requirement("DEV-19")
@disruptive
@requires(Capability.SAME_HOST)
def test_a_named_device_outlives_a_restart(own_runtime: OwnRuntime, host_folder: Path) -> None:
    """A container SHOULD keep its device when the daemon is restarted, and new containers SHOULD get it.

    Source: judgement; ContainerConfig.CDI_devices.
    """
    device = spare_device()
    folder = CdiFolder(own_runtime.daemon.cdi_folder)
    kind = folder.write({"one": cdi.node(PATH, str(device.make_node(host_folder / "node")))})
    home, makes = own_runtime.sandbox(), own_runtime.containers
    before = makes.running(naming(makes.config(), f"{kind}=one"), in_sandbox=home)

    own_runtime.restart()

    after = makes.running(naming(makes.config(), f"{kind}=one"), in_sandbox=home)
    for container in (before, after):
        assert container.output("/bin/sh", "-c", attempts(PATH)).splitlines()[1:] == ["reads", "writes"]


def counting(file: Path) -> cdi.Edits:
    """Return the change that adds a line to a file of the host when a container is created."""
    return cdi.hook("createRuntime", "/bin/sh", "-c", f"echo x >> {file}")


def runs_of(file: Path) -> int:
    """Return how often a hook of `counting` has run."""
    return len(file.read_text(encoding="ascii").splitlines()) if file.exists() else 0


@requirement("DEV-15")
def test_a_device_may_be_named_by_an_annotation(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """A runtime that takes devices by annotation MUST give a container what the specification says of them,
    and refuse a device that nobody has described.

    Source: the CDI specification, annotations `cdi.k8s.io/`.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})
    container = containers.running(annotations={"cdi.k8s.io/critests": f"{kind}=one"})
    if not variable(container, "CDI_ONE"):
        unsupported("devices by annotation: a container with one is as without")

    missing = containers.config(annotations={"cdi.k8s.io/critests": f"{kind}=two"})

    assert variable(container, "CDI_ONE") == "first"
    runtime.refusal(runtime.stub.CreateContainer, containers.creation(missing))
