"""The condition `user-namespaces`."""

import pytest

from critests.api import api_pb2 as cri
from critests.conditions.mapped_pods import with_user_namespace_of_pod
from critests.lifecycle.user_namespaces import MAPPING

ORDINARY = cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD)
MAPPED = cri.UserNamespace(mode=cri.POD, uids=[MAPPING], gids=[MAPPING])


def pod(options: cri.NamespaceOption = ORDINARY, *, privileged: bool = False) -> cri.PodSandboxConfig:
    context = cri.LinuxSandboxSecurityContext(namespace_options=options, privileged=privileged)
    return cri.PodSandboxConfig(linux=cri.LinuxPodSandboxConfig(security_context=context))


def creation(config: cri.PodSandboxConfig, *mounts: cri.Mount) -> cri.CreateContainerRequest:
    context = cri.LinuxContainerSecurityContext(namespace_options=ORDINARY)
    return cri.CreateContainerRequest(
        pod_sandbox_id="1",
        sandbox_config=config,
        config=cri.ContainerConfig(linux=cri.LinuxContainerConfig(security_context=context), mounts=mounts),
    )


def test_a_pod_and_its_containers_have_the_same_mapping() -> None:
    run, create = cri.RunPodSandboxRequest(config=pod()), creation(pod())

    changed, container = with_user_namespace_of_pod(run), with_user_namespace_of_pod(create)

    assert isinstance(changed, cri.RunPodSandboxRequest)
    assert isinstance(container, cri.CreateContainerRequest)
    for context in (
        changed.config.linux.security_context,
        container.config.linux.security_context,
        container.sandbox_config.linux.security_context,
    ):
        assert context.namespace_options.userns_options == MAPPED
    assert not run.config.linux.security_context.namespace_options.HasField("userns_options")
    assert create == creation(pod())


def test_mounts_of_host_paths_are_mapped() -> None:
    own = cri.IDMapping(host_id=5, container_id=0, length=1)
    changed = with_user_namespace_of_pod(
        creation(
            pod(),
            cri.Mount(host_path="/data", container_path="/data"),
            cri.Mount(image=cri.ImageSpec(image="x"), container_path="/image"),
            cri.Mount(host_path="/own", container_path="/own", uidMappings=[own], gidMappings=[own]),
        )
    )

    assert isinstance(changed, cri.CreateContainerRequest)
    assert [list(mount.uidMappings) for mount in changed.config.mounts] == [[MAPPING], [], [own]]
    assert [list(mount.gidMappings) for mount in changed.config.mounts] == [[MAPPING], [], [own]]


@pytest.mark.parametrize(
    "config",
    [
        pod(cri.NamespaceOption(network=cri.NODE)),
        pod(cri.NamespaceOption(pid=cri.NODE)),
        pod(cri.NamespaceOption(ipc=cri.NODE)),
        pod(cri.NamespaceOption(userns_options=cri.UserNamespace(mode=cri.NODE))),
        pod(privileged=True),
        cri.PodSandboxConfig(),
    ],
    ids=["network", "pid", "ipc", "of its own", "privileged", "minimal"],
)
def test_pods_that_may_have_none_stay_as_they_are(config: cri.PodSandboxConfig) -> None:
    for request in (cri.RunPodSandboxRequest(config=config), creation(config, cri.Mount(host_path="/data"))):
        assert with_user_namespace_of_pod(request) is request


def test_other_requests_stay_as_they_are() -> None:
    request = cri.StatusRequest()

    assert with_user_namespace_of_pod(request) is request
