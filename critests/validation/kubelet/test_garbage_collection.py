"""K8S: what the kubelet's garbage collection removes: exited containers, stopped sandboxes, unused images."""

from critests.api import api_pb2 as cri
from critests.testing import (
    POD_UID,
    Capability,
    Images,
    MintedImage,
    Registry,
    Runtime,
    requirement,
    requires,
    single,
)
from critests.validation.kubelet.pods import KubeletPod


def image_of(container: cri.Container) -> str:
    """Return the id of a listed container's image as the kubelet reads it: the image reference if the runtime
    reports no id.
    """
    return container.image_id or container.image_ref


@requirement("K8S-03")
def test_exited_containers_are_collected_by_age(runtime: Runtime, pod: KubeletPod) -> None:
    """ListContainers MUST report when exited containers were created, and RemoveContainer MUST remove only
    the one it names: the newest exited one and the running one stay.

    Source: ListContainers, RemoveContainer; how the kubelet collects containers.
    """
    sandbox = pod.start()
    for attempt in range(3):
        pod.run(sandbox, "app", attempt, script=f"exit {attempt + 1}").exited()
    running = pod.run(sandbox, "app", attempt=3)
    before = running.status()

    exited = cri.ContainerFilter(state=cri.ContainerStateValue(state=cri.CONTAINER_EXITED))
    listed = runtime.stub.ListContainers(cri.ListContainersRequest(filter=exited)).containers
    dead = sorted(
        (each for each in listed if each.labels.get(POD_UID) == pod.uid), key=lambda each: each.created_at
    )
    # the kubelet retains the newest exited one of each container by default
    for each in dead[:-1]:
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=each.id))

    pod.await_states("app/2 EXITED", "app/3 RUNNING", "sandbox/0 READY")
    assert [each.metadata.attempt for each in dead] == [0, 1, 2]
    newest = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=dead[-1].id)).status
    assert newest.exit_code == 3
    assert running.status().started_at == before.started_at


@requirement("K8S-03")
def test_stopped_sandboxes_without_containers_are_collected(runtime: Runtime, pod: KubeletPod) -> None:
    """RemovePodSandbox MUST remove a stopped sandbox without containers, and MUST NOT affect the next attempt
    of its pod.

    Source: ListPodSandbox, ListContainers, RemovePodSandbox; how the kubelet collects sandboxes.
    """
    old = pod.start()
    pod.run(old, "app", script="exit 0").exited()
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=old.id))
    new = pod.start(attempt=1)
    app = pod.run(new, "app", attempt=1)
    address = new.status().network.ip

    sandboxes = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    containers = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    for each in containers:
        if each.labels.get(POD_UID) == pod.uid and each.state == cri.CONTAINER_EXITED:
            runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=each.id))
    for listed in sandboxes:
        if listed.labels.get(POD_UID) == pod.uid and listed.state == cri.SANDBOX_NOTREADY:
            # the kubelet stops a sandbox again before it removes it, in case the first stop failed
            runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=listed.id))
            runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=listed.id))

    pod.await_states("app/1 RUNNING", "sandbox/1 READY")
    assert new.status().network.ip == address
    assert app.output("echo", "alive") == "alive"


@requirement("K8S-04")
def test_the_image_of_a_container_is_found_in_the_list_of_images(
    runtime: Runtime, registry: Registry, pod: KubeletPod
) -> None:
    """Container.image_id, or image_ref if it is empty, MUST be the id of exactly one image in ListImages: by
    it the kubelet knows which images are in use.

    Source: Container.image_id, Container.image_ref, Image.id; how the kubelet collects images.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", image=registry.pull(registry.mint()))

    listed = runtime.images.ListImages(cri.ListImagesRequest()).images
    entry = app.entry()

    assert [image.id for image in listed].count(image_of(entry)) == 1


@requirement("K8S-04")
@requires(Capability.IMAGE_VOLUMES)
def test_the_image_of_a_volume_is_found_in_the_list_of_images(
    runtime: Runtime, registry: Registry, pod: KubeletPod
) -> None:
    """The `image` of an image volume in ContainerStatus MUST be the id of exactly one image in ListImages, if
    the request had the reference that PullImage returned: by it the kubelet knows that the image is in use.

    Source: ContainerStatus.mounts, Mount.image, Image.id; how the kubelet collects images.
    """
    volume = registry.pull(registry.mint("volume"))
    mount = cri.Mount(container_path="/volume", image=volume.spec(), readonly=True)
    app = pod.run(pod.start(), "app", mounts=[mount])

    listed = runtime.images.ListImages(cri.ListImagesRequest()).images
    reported = single("its volume", [each for each in app.status().mounts if each.HasField("image")])

    assert [image.id for image in listed].count(reported.image.image) == 1


@requirement("K8S-04")
def test_unused_images_are_collected_and_used_ones_stay(
    runtime: Runtime, registry: Registry, images: Images, pod: KubeletPod
) -> None:
    """RemoveImage by id MUST remove an image that no container uses according to the lists, and images in use
    MUST remain usable for the next attempt at their container.

    Source: ImageFsInfo, ListImages, ListContainers, RemoveImage; how the kubelet collects images.
    """

    def pulled(name: str) -> MintedImage:
        minted = registry.mint(repository=name, changes={"files": [{"path": name}]})
        registry.pull(minted)
        return minted

    used, unused = pulled("used"), pulled("unused")
    image = registry.pull(used)
    sandbox = pod.start()
    app = pod.run(sandbox, "app", image=image, script="exit 0")
    app.exited()
    ours = {images.id_of(used.reference), images.id_of(unused.reference)}

    filesystems = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest()).image_filesystems
    listed = {each.id for each in runtime.images.ListImages(cri.ListImagesRequest()).images}
    containers = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    collected = (listed & ours) - {image_of(each) for each in containers}
    for each in collected:
        runtime.images.RemoveImage(cri.RemoveImageRequest(image=cri.ImageSpec(image=each)))
    pod.run(sandbox, "app", attempt=1, image=image)

    assert len(filesystems) > 0
    assert images.look_up(unused.reference) is None
    left = {each.id for each in runtime.images.ListImages(cri.ListImagesRequest()).images}
    assert left & ours == ours - collected
    assert len(collected) == 1
    pod.await_states("app/0 EXITED", "app/1 RUNNING", "sandbox/0 READY")
