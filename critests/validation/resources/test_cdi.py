"""DEV: devices that a container requests by names of the Container Device Interface."""

from pathlib import Path

from critests.api import api_pb2 as cri
from critests.node.observing import cdi
from critests.node.observing.cdi import CdiFolder
from critests.testing import (
    Capability,
    Container,
    Containers,
    Images,
    OwnRuntime,
    Runtime,
    blocked,
    disruptive,
    requirement,
    requires,
    unsupported,
)
from critests.validation.resources.devices import open_script, spare_device

pytestmark = requires(Capability.CDI)
PATH = "/dev/critests-cdi"


def with_devices(config: cri.ContainerConfig, *names: str) -> cri.ContainerConfig:
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
def test_cdi_device_sets_variables(containers: Containers, cdi_folder: CdiFolder) -> None:
    """A CDI device MUST set the environment variables of its specification.

    Source: ContainerConfig.CDI_devices; env of the CDI specification.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})

    container = containers.running(with_devices(containers.config(), f"{kind}=one"))

    assert variable(container, "CDI_ONE") == "first"


@requirement("DEV-10")
def test_variables_of_a_cdi_device_override_others(
    containers: Containers, images: Images, cdi_folder: CdiFolder
) -> None:
    """A CDI device MUST override variables of the image and the container with those of its specification.

    Source: ContainerConfig.CDI_devices; containerEdits of the CDI specification, which edit a container.
    """
    kind = cdi_folder.write({"one": cdi.variables("FROM_IMAGE=device", "CDI_ONE=device")})
    config = containers.config(image=images.pull("process"), envs={"CDI_ONE": "container"})

    container = containers.running(with_devices(config, f"{kind}=one"))

    assert variable(container, "FROM_IMAGE").split(",")[-1] == "device"
    assert variable(container, "CDI_ONE").split(",")[-1] == "device"


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_cdi_device_adds_its_device_nodes(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A CDI device MUST add the device nodes of its specification, with their permissions.

    Source: ContainerConfig.CDI_devices; deviceNodes of the CDI specification.
    """
    device = spare_device()
    kind = cdi_folder.write({"one": cdi.node(PATH, str(device.create_node(host_folder / "node")), "r")})

    container = containers.exited(with_devices(containers.config(script=open_script(PATH)), f"{kind}=one"))

    assert container.log_lines("stdout") == [
        f"character special file {device.numbers}",
        "reads",
        "cannot write",
    ]


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_device_node_of_a_cdi_device_has_its_owner_and_mode(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """The device nodes of a CDI device MUST have the owner, group and mode of its specification.

    Source: ContainerConfig.CDI_devices; fileMode, uid and gid of deviceNodes in the CDI specification.
    """
    host_node = str(spare_device().create_node(host_folder / "node"))
    edits = cdi.node(PATH, host_node, fileMode=0o640, uid=1234, gid=4321)
    kind = cdi_folder.write({"one": edits})

    container = containers.running(with_devices(containers.config(), f"{kind}=one"))

    assert container.output("stat", "-c", "%a %u:%g", PATH) == "640 1234:4321"


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_cdi_device_adds_its_mounts(containers: Containers, cdi_folder: CdiFolder, host_folder: Path) -> None:
    """A CDI device MUST add the mounts of its specification, with their options.

    Source: ContainerConfig.CDI_devices; mounts of the CDI specification.
    """
    (host_folder / "library").write_text("of the driver\n")
    kind = cdi_folder.write({"one": cdi.mount("/driver", str(host_folder))})

    container = containers.running(with_devices(containers.config(), f"{kind}=one"))

    assert container.output("cat", "/driver/library") == "of the driver"
    assert container.exec("touch", "/driver/written").exit_code != 0


@requirement("DEV-10")
@requires(Capability.SAME_HOST)
def test_cdi_device_runs_its_hooks(containers: Containers, cdi_folder: CdiFolder, host_folder: Path) -> None:
    """A CDI device MUST add the hooks of its specification, which run when the container is created.

    Source: ContainerConfig.CDI_devices; hooks of the CDI specification.
    """
    kind = cdi_folder.write({"one": counting_hook(host_folder / "ran")})

    containers.running(with_devices(containers.config(), f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-11")
def test_cdi_device_without_a_specification_is_refused(runtime: Runtime, containers: Containers) -> None:
    """CreateContainer MUST fail for a CDI device that no specification describes.

    Source: ContainerConfig.CDI_devices.
    """
    config = with_devices(containers.config(), f"{cdi.VENDOR}/nothing=nobody")

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))


@requirement("DEV-11")
def test_cdi_device_missing_from_its_specification_is_refused(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """CreateContainer MUST fail for a CDI device that the specification of its kind lacks, even if it
    describes another requested device.

    Source: ContainerConfig.CDI_devices.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})
    config = with_devices(containers.config(), f"{kind}=one", f"{kind}=two")

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))


@requirement("DEV-12")
def test_invalid_cdi_specification_does_not_affect_others(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """CreateContainer MUST succeed for containers that do not use an invalid CDI specification.

    Source: ContainerConfig.CDI_devices.
    """
    # JSON that ends too early
    cdi_folder.place(f"{cdi.VENDOR}/broken", '{"cdiVersion": "0.5.0", "kind": ')
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})

    without = runtime.stub.CreateContainer(containers.creation(plain := containers.config()))
    using = with_devices(containers.config(), f"{kind}=one")
    with_another = runtime.stub.CreateContainer(containers.creation(using))

    assert containers.adopt(without.container_id, plain).state() == cri.CONTAINER_CREATED
    assert containers.adopt(with_another.container_id, using).state() == cri.CONTAINER_CREATED


@requirement("DEV-13")
def test_changed_cdi_specification_takes_effect(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """A change of a CDI specification MUST take effect without a restart of the daemon.

    Source: the CDI specification; runtimes watch its directories or read them again.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=before")})
    before = containers.running(with_devices(containers.config(), f"{kind}=one"))
    cdi_folder.write({"one": cdi.variables("CDI_ONE=after")}, kind)

    def value_in_a_new_container() -> str:
        container = containers.attempt(with_devices(containers.config(), f"{kind}=one"))
        return variable(container, "CDI_ONE")

    assert variable(before, "CDI_ONE") == "before"
    runtime.eventually(
        # a runtime that watches the directory notices a change a moment later
        "the changed specification",
        value_in_a_new_container,
        10,
        lambda value: value == "after",
    )


@requirement("DEV-14")
@requires(Capability.SAME_HOST)
def test_several_cdi_devices_of_one_kind_are_merged(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """Several CDI devices of one kind SHOULD each take effect, and the edits for all of them once.

    Source: judgement; containerEdits of the CDI specification.
    """
    kind = cdi_folder.write(
        {"one": cdi.variables("CDI_ONE=first"), "two": cdi.variables("CDI_TWO=second")},
        everywhere=counting_hook(host_folder / "ran"),
    )

    container = containers.running(with_devices(containers.config(), f"{kind}=one", f"{kind}=two"))

    assert (variable(container, "CDI_ONE"), variable(container, "CDI_TWO")) == ("first", "second")
    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-14")
@requires(Capability.SAME_HOST)
def test_cdi_device_requested_twice_takes_effect_once(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A CDI device that is requested twice SHOULD take effect once.

    Source: judgement; ContainerConfig.CDI_devices.
    """
    kind = cdi_folder.write({"one": counting_hook(host_folder / "ran")})

    containers.running(with_devices(containers.config(), f"{kind}=one", f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-16")
@requires(Capability.SAME_HOST)
def test_cdi_device_of_field_and_annotation_takes_effect_once(
    containers: Containers, cdi_folder: CdiFolder, host_folder: Path
) -> None:
    """A CDI device that is requested by `CDI_devices` and by an annotation SHOULD take effect once.

    Source: ContainerConfig.CDI_devices; the kubelet sends both.
    """
    kind = cdi_folder.write({"one": counting_hook(host_folder / "ran")})
    config = containers.config(annotations={"cdi.k8s.io/critests": f"{kind}=one"})

    containers.running(with_devices(config, f"{kind}=one"))

    assert runs_of(host_folder / "ran") == 1


@requirement("DEV-17")
@requires(Capability.SAME_HOST)
def test_a_gpu_of_the_machine_can_be_used(containers: Containers, cdi_folder: CdiFolder) -> None:
    """A container that requests a GPU of the machine MUST have its device nodes, readable and writable, and
    the files of its driver.

    Source: ContainerConfig.CDI_devices; the specification that the GPU vendor's tool writes.
    """
    gpu = cdi.gpu_of_the_machine()
    if gpu is None:
        blocked(
            "needs a GPU that a CDI specification of this machine describes (nvidia-ctk cdi generate"
            " --output=/etc/cdi/nvidia.yaml)"
        )
    cdi_folder.place(gpu.name.partition("=")[0], gpu.text)
    cdi_folder.until_read()

    container = containers.running(with_devices(containers.config(), gpu.name))

    usable = "".join(f"test -c {path}; : <>{path}; " for path in gpu.nodes)
    present = "".join(f"test -e {path}; " for path in gpu.files)
    assert container.output("/bin/sh", "-ec", f"{usable}{present}echo all") == "all"


@requirement("DEV-19")
@disruptive
@requires(Capability.SAME_HOST)
def test_cdi_device_is_retained_over_a_restart(own_runtime: OwnRuntime, host_folder: Path) -> None:
    """A container SHOULD retain its CDI device over a restart of the daemon, and new ones SHOULD get it.

    Source: judgement; ContainerConfig.CDI_devices.
    """
    device = spare_device()
    folder = CdiFolder(own_runtime.daemon.cdi_folder)
    kind = folder.write({"one": cdi.node(PATH, str(device.create_node(host_folder / "node")))})
    pod, containers = own_runtime.sandbox(), own_runtime.containers
    before = containers.running(with_devices(containers.config(), f"{kind}=one"), in_sandbox=pod)

    own_runtime.restart()

    after = containers.running(with_devices(containers.config(), f"{kind}=one"), in_sandbox=pod)
    for container in (before, after):
        assert container.output("/bin/sh", "-c", open_script(PATH)).splitlines()[1:] == ["reads", "writes"]


def counting_hook(file: Path) -> cdi.Edits:
    """Return an edit whose hook appends a line to a file of the host when a container is created."""
    return cdi.hook("createRuntime", "/bin/sh", "-c", f"echo x >> {file}")


def runs_of(file: Path) -> int:
    """Return how many times a hook of `counting_hook` has run."""
    return len(file.read_text(encoding="ascii").splitlines()) if file.exists() else 0


@requirement("DEV-15")
def test_cdi_device_may_be_requested_by_an_annotation(
    runtime: Runtime, containers: Containers, cdi_folder: CdiFolder
) -> None:
    """A runtime that accepts CDI devices by annotation MUST apply their specification, and reject a device
    that no specification describes.

    Source: the CDI specification, annotations `cdi.k8s.io/`.
    """
    kind = cdi_folder.write({"one": cdi.variables("CDI_ONE=first")})
    container = containers.running(annotations={"cdi.k8s.io/critests": f"{kind}=one"})
    if not variable(container, "CDI_ONE"):
        unsupported("devices by annotation: the runtime ignores the annotation")

    missing = containers.config(annotations={"cdi.k8s.io/critests": f"{kind}=two"})

    assert variable(container, "CDI_ONE") == "first"
    runtime.refusal(runtime.stub.CreateContainer, containers.creation(missing))
