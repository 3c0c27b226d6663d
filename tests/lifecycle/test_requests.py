from dataclasses import replace
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, safe_hostname
from critests.lifecycle.run_label import RUN_LABEL, RunIdentity

RUN = RunIdentity("1795170000-aaaaaa")


@pytest.fixture
def builder(tmp_path: Path) -> RequestBuilder:
    return RequestBuilder(RUN, tmp_path, CgroupParents(RUN, CgroupDriver.CGROUPFS))


def test_a_pod_is_like_the_kubelet_s(builder: RequestBuilder) -> None:
    config = builder.sandbox("web", labels={"mine": "1"})

    assert config.labels == {
        RUN_LABEL: RUN.id,
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "critests",
        "io.kubernetes.pod.uid": config.metadata.uid,
        "mine": "1",
    }
    assert config.annotations["kubernetes.io/config.source"] == "api"
    assert config.linux.HasField("overhead")
    assert config.linux.resources.cpu_period == 100_000
    assert config.hostname == "web"
    assert Path(config.log_directory).is_dir()
    assert config.linux.cgroup_parent == f"/critests/{RUN.id}/pod{config.metadata.uid}"
    assert config.linux.security_context.namespace_options == cri.NamespaceOption(
        network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD
    )


def test_a_pod_on_the_hosts_network_has_no_hostname(builder: RequestBuilder) -> None:
    assert builder.sandbox(namespaces=cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER)).hostname == ""


def test_a_container_names_its_image_twice(builder: RequestBuilder) -> None:
    config = builder.container(ImageName("sha256:1", "registry/x:1"), "c", attempt=2, envs={"A": "ä"})

    assert (config.image.image, config.image.user_specified_image) == ("sha256:1", "registry/x:1")
    assert config.log_path == "c_2.log"
    assert config.envs[0].value == "ä".encode()


def test_a_container_has_the_kubelet_s_labels_and_annotations(builder: RequestBuilder) -> None:
    pod = builder.sandbox("web")

    config = builder.container(
        ImageName("x", "x"), "c", pod=pod.metadata, attempt=2, labels={"mine": "1"}, annotations={"my": "2"}
    )

    assert config.labels == {**pod.labels, "io.kubernetes.container.name": "c", "mine": "1"}
    assert config.annotations["io.kubernetes.container.restartCount"] == "2"
    assert config.annotations["my"] == "2"
    assert config.linux.resources.cpu_period == 100_000


def test_a_container_has_a_limit_for_every_size_of_huge_pages(builder: RequestBuilder) -> None:
    large = replace(builder, hugepages=["2MB", "1GB"])
    own = cri.LinuxContainerResources(hugepage_limits=[cri.HugepageLimit(page_size="2MB", limit=1 << 21)])

    by_default = large.container(ImageName("x", "x")).linux.resources
    requested = large.container(ImageName("x", "x"), resources=own).linux.resources

    assert [(each.page_size, each.limit) for each in by_default.hugepage_limits] == [("2MB", 0), ("1GB", 0)]
    assert requested.hugepage_limits == own.hugepage_limits


def test_a_privileged_container_has_no_masked_paths(builder: RequestBuilder) -> None:
    config = builder.container(
        ImageName("x", "x"), security_context=cri.LinuxContainerSecurityContext(privileged=True)
    )

    assert not config.linux.security_context.masked_paths
    assert config.linux.security_context.privileged


def test_a_container_is_unmasked_on_request(builder: RequestBuilder) -> None:
    context = builder.container(ImageName("x", "x"), unmasked=True).linux.security_context

    assert (list(context.masked_paths), list(context.readonly_paths)) == ([], [])


def test_the_runtime_s_default_profile_can_be_requested_although_it_is_zero(builder: RequestBuilder) -> None:
    default = cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault)

    config = builder.container(
        ImageName("x", "x"), security_context=cri.LinuxContainerSecurityContext(seccomp=default)
    )

    assert config.linux.security_context.seccomp == default


def test_the_cgroup_parent_follows_the_driver() -> None:
    uid = "0f-1"

    assert CgroupParents(RUN, CgroupDriver.SYSTEMD).of_pod(uid) == (
        "/critests_1795170000_aaaaaa.slice/critests_1795170000_aaaaaa-pod0f_1.slice"
    )
    assert CgroupParents(RUN, CgroupDriver.UNKNOWN).of_pod(uid) == ""


@pytest.mark.parametrize(
    ("name", "hostname"), [("Web_1", "web-1"), ("-x-", "x"), ("ä", "pod"), ("a" * 70, "a" * 63)]
)
def test_safe_hostname_is_a_valid_hostname(name: str, hostname: str) -> None:
    assert safe_hostname(name) == hostname


@pytest.mark.parametrize(
    ("written", "tag", "found"),
    [
        ("busybox:1", "docker.io/library/busybox:1", True),
        ("critests/busybox:1", "127.0.0.1:5010/critests/busybox:1", True),
        ("critests/busybox:1", "127.0.0.1:5010/critests/busybox:10", False),
        ("critests/busybox:1", "127.0.0.1:5010/more-critests/busybox:1", False),
        ("127.0.0.1:5010/busybox:1", "127.0.0.1:5010/busybox:1", True),
        ("127.0.0.1:5010/busybox:1", "docker.io/127.0.0.1:5010/busybox:1", False),
        ("localhost/busybox:1", "docker.io/localhost/busybox:1", False),
    ],
)
def test_only_a_name_without_a_registry_is_completed(written: str, tag: str, found: bool) -> None:
    assert ImageName("sha256:1", written).is_among(["other:1", tag]) is found
