"""Each rule about one message notices a message that breaks it, and accepts a sound one."""

from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.responses.list_responses import LISTS
from critests.responses.response_judge import RULES, ResponseJudge
from critests.responses.rules import Response
from critests.responses.time_rules import OPTIONAL_TIMES, TIMES

NOW = 1_800_000_000 * 10**9
Fields = Any
"""Fields of messages have many types."""
Request = Any
Received = Any
ENDPOINT = "unix:///run/sound.sock"
META = cri.ContainerMetadata(name="c")


def aspects(message: Received, request: Request = None) -> set[str]:
    """Return the aspects that a response breaks; without a request, to an empty one or to `OF_ONE`."""
    rpc, usual = RPCS.get(type(message).__name__, ("Any", cri.VersionRequest()))
    request = usual if request is None else request
    response = Response(rpc, ENDPOINT, request, message, NOW / 1e9 - 1, NOW / 1e9)
    judge = ResponseJudge()
    judge.succeeded(response)
    return {violation.aspect for violation in judge.take()}


def status(**fields: Fields) -> cri.ContainerStatusResponse:
    values: dict[str, Any] = {
        "id": "c1",
        "metadata": META,
        "created_at": NOW,
        "image": cri.ImageSpec(image="localhost/i:1"),
        "image_ref": "sha256:1",
    }
    return cri.ContainerStatusResponse(status=cri.ContainerStatus(**{**values, **fields}))


def sandbox(**fields: Fields) -> cri.PodSandboxStatusResponse:
    values: dict[str, Any] = {"id": "s1", "created_at": NOW, "metadata": cri.PodSandboxMetadata(name="p")}
    return cri.PodSandboxStatusResponse(status=cri.PodSandboxStatus(**{**values, **fields}))


def image(**fields: Fields) -> cri.ListImagesResponse:
    values: dict[str, Any] = {"id": "sha256:1", "size": 1, "repo_tags": ["localhost/i:1"]}
    return cri.ListImagesResponse(images=[cri.Image(**{**values, **fields})])


def container(**fields: Fields) -> cri.Container:
    values: dict[str, Any] = {
        "id": "c1",
        "pod_sandbox_id": "s1",
        "created_at": NOW,
        "metadata": META,
        "image_ref": "sha256:1",
    }
    return cri.Container(**{**values, **fields})


def stats(**fields: Fields) -> cri.ContainerStatsResponse:
    values: dict[str, Any] = {"attributes": cri.ContainerAttributes(id="c1")}
    return cri.ContainerStatsResponse(stats=cri.ContainerStats(**{**values, **fields}))


def pod_stats(**fields: Fields) -> cri.PodSandboxStatsResponse:
    attributes = cri.PodSandboxAttributes(id="s1")
    return cri.PodSandboxStatsResponse(
        stats=cri.PodSandboxStats(attributes=attributes, linux=cri.LinuxPodSandboxStats(**fields))
    )


def filesystems(*mountpoints: str) -> cri.ImageFsInfoResponse:
    usages = [
        cri.FilesystemUsage(timestamp=NOW, fs_id=cri.FilesystemIdentifier(mountpoint=each))
        for each in mountpoints
    ]
    return cri.ImageFsInfoResponse(image_filesystems=usages)


def conditions(*pairs: tuple[str, bool]) -> cri.StatusResponse:
    listed = [cri.RuntimeCondition(type=name, status=good) for name, good in pairs]
    return cri.StatusResponse(status=cri.RuntimeStatus(conditions=listed))


def labelled(selector: str) -> cri.ContainerFilter:
    return cri.ContainerFilter(label_selector={"colour": selector})


OF_ONE = (
    cri.ContainerStatusRequest(container_id="c1"),
    cri.ContainerStatsRequest(container_id="c1"),
    cri.PodSandboxStatusRequest(pod_sandbox_id="s1"),
    cri.PodSandboxStatsRequest(pod_sandbox_id="s1"),
)
"""Requests about the container or the sandbox that the responses below are about."""
RPCS: dict[str, tuple[str, Request]] = {
    method.output_type.name: (
        method.name,
        next(
            (request for request in OF_ONE if type(request).__name__ == method.input_type.name),
            getattr(cri, method.input_type.name)(),
        ),
    )
    for service in cri.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
"""The RPC of a response, and the usual request."""
VERSION = cri.VersionResponse(
    version="0.1.0", runtime_name="r", runtime_version="1.0.0", runtime_api_version="v1"
)
READY = [("RuntimeReady", True), ("NetworkReady", True)]
RUNNING, EXITED = cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED
value = cri.UInt64Value

SOUND: list[tuple[Any, ...]] = [
    (status(),),
    (status(state=RUNNING, started_at=NOW),),
    (status(state=EXITED, started_at=NOW, finished_at=NOW, reason="Completed"),),
    # its start failed
    (status(state=EXITED, finished_at=NOW, exit_code=128, reason="Error"),),
    (status(), cri.ContainerStatusRequest(container_id="c")),
    (sandbox(network=cri.PodSandboxNetworkStatus(ip="10.0.0.2")),),
    (image(),),
    (cri.ListContainersResponse(containers=[container()]),),
    (stats(),),
    (cri.ContainerStatsResponse(),),
    (VERSION,),
    (conditions(*READY),),
    (filesystems("/var/lib/images"),),
    (cri.ExecResponse(url="http://127.0.0.1:1/exec/t"),),
    # a status without the record of the creation, and the event of a removal
    (status(state=cri.CONTAINER_UNKNOWN, created_at=0),),
    (
        cri.ContainerEventResponse(
            container_id="s1",
            created_at=NOW,
            container_event_type=cri.CONTAINER_DELETED_EVENT,
            pod_sandbox_status=cri.PodSandboxStatus(id="s1"),
        ),
    ),
]


@pytest.mark.parametrize("response", SOUND)
def test_a_sound_response_breaks_no_rule(response: tuple[Any, ...]) -> None:
    assert aspects(*response) == set()


BROKEN: list[tuple[Any, ...]] = [
    ("CTA-01", status(id="c2")),
    ("CTA-01", status(id=""), cri.ContainerStatusRequest()),
    ("CTR-01", cri.CreateContainerResponse()),
    ("CTR-01", status(exit_code=1)),
    ("CTR-01", status(finished_at=NOW)),
    ("CTR-01", status(started_at=NOW)),
    ("CTA-05", status(image=cri.ImageSpec())),
    ("CTA-07", status(image_ref="")),
    ("CTA-07", cri.ListContainersResponse(containers=[container(image_ref="")])),
    ("CTA-29", status(state=RUNNING)),
    ("CTA-29", status(state=RUNNING, started_at=NOW, finished_at=NOW)),
    ("CTA-29", status(state=RUNNING, started_at=NOW // 1000)),
    ("CTA-04", status(created_at=NOW // 10**9)),
    ("CTA-04", status(created_at=NOW + 10**15)),
    ("CTR-21", status(state=EXITED, started_at=NOW, finished_at=NOW - 1)),
    ("CTA-14", status(state=EXITED, finished_at=NOW)),
    ("CTA-15", cri.ContainerStatusResponse(info={"pid": "1"})),
    ("SBX-01", cri.RunPodSandboxResponse()),
    ("SBA-01", sandbox(id="s2")),
    ("SBA-01", sandbox(id=""), cri.PodSandboxStatusRequest()),
    ("SBA-03", sandbox(created_at=0)),
    ("SBA-09", sandbox(network=cri.PodSandboxNetworkStatus(ip="10.0.0.2/24"))),
    (
        "SBA-10",
        sandbox(
            network=cri.PodSandboxNetworkStatus(ip="10.0.0.2", additional_ips=[cri.PodIP(ip="10.0.0.2")])
        ),
    ),
    ("SBA-12", cri.PodSandboxStatusResponse(info={"pid": "1"})),
    ("SBA-23", cri.ListPodSandboxResponse(items=[cri.PodSandbox(created_at=NOW)])),
    ("CTA-23/equal", cri.ListContainersResponse(containers=[container(id="")])),
    ("CTA-23/equal", cri.ListContainersResponse(containers=[container(pod_sandbox_id="")])),
    ("IMS-04", image(id="")),
    ("IMS-05", image(size=0)),
    ("IMS-06", image(uid=cri.Int64Value(value=1), username="u")),
    ("IMS-06", image(uid=cri.Int64Value(value=-1))),
    ("IMS-07", image(repo_tags=["<none>:<none>"])),
    ("IMS-07", image(repo_tags=["localhost/i:1"] * 2)),
    ("IMS-07", image(repo_digests=["localhost/i:1"])),
    ("IMS-10", cri.ImageStatusResponse(info={"a": "b"})),
    ("IMS-13", cri.ListImagesResponse(images=[*image().images, *image().images])),
    ("LST-03", cri.StreamImagesResponse(images=[*image().images, *image().images])),
    ("IMG-08", cri.PullImageResponse()),
    ("IMF-01", filesystems()),
    ("IMF-01", filesystems("")),
    ("IMF-08", filesystems("/a", "/a")),
    ("SBA-24", cri.ListPodSandboxResponse(items=[cri.PodSandbox(id="s", created_at=NOW)] * 2)),
    (
        "SBA-16",
        cri.ListPodSandboxResponse(items=[cri.PodSandbox(id="s", created_at=NOW)]),
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id="x")),
    ),
    (
        "SBA-17",
        cri.StreamPodSandboxesResponse(pod_sandboxes=[cri.PodSandbox(id="s", created_at=NOW)]),
        cri.StreamPodSandboxesRequest(
            filter=cri.PodSandboxFilter(state=cri.PodSandboxStateValue(state=cri.SANDBOX_NOTREADY))
        ),
    ),
    (
        "SBA-22",
        cri.ListPodSandboxResponse(items=[cri.PodSandbox(id="s", created_at=NOW)]),
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector={"a": ""})),
    ),
    ("CTR-07/never-two", cri.ListContainersResponse(containers=[container(), container()])),
    (
        "CTR-07/never-two",
        cri.PodSandboxStatusResponse(containers_statuses=[status().status, status().status]),
    ),
    (
        "CTA-18",
        cri.ListContainersResponse(containers=[container()]),
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id="s2")),
    ),
    (
        "CTA-19",
        cri.StreamContainersResponse(containers=[container(labels={"colour": "redder"})]),
        cri.StreamContainersRequest(filter=labelled("red")),
    ),
    (
        "STA-16",
        cri.ListContainerStatsResponse(stats=[stats().stats]),
        cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(label_selector={"a": "b"})),
    ),
    (
        "STA-25",
        cri.ListPodSandboxStatsResponse(stats=[pod_stats().stats]),
        cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(id="s2")),
    ),
    ("STA-01", stats(), cri.ContainerStatsRequest(container_id="c2")),
    ("STA-18", pod_stats(), cri.PodSandboxStatsRequest(pod_sandbox_id="s2")),
    ("STA-02/set", stats(cpu=cri.CpuUsage(timestamp=NOW // 10**9))),
    ("STA-07", stats(memory=cri.MemoryUsage(usage_bytes=value(value=1), working_set_bytes=value(value=2)))),
    ("STA-07", stats(memory=cri.MemoryUsage(page_faults=value(value=1), major_page_faults=value(value=2)))),
    ("STA-11", stats(cpu=cri.CpuUsage(psi=cri.PsiStats(Some=cri.PsiData(Avg10=101))))),
    (
        "STA-11",
        stats(cpu=cri.CpuUsage(psi=cri.PsiStats(Some=cri.PsiData(Total=1), Full=cri.PsiData(Total=2)))),
    ),
    (
        "STA-20/others",
        pod_stats(
            network=cri.NetworkUsage(
                timestamp=NOW,
                default_interface=cri.NetworkInterfaceUsage(name="eth0"),
                interfaces=[cri.NetworkInterfaceUsage(name="eth0")],
            )
        ),
    ),
    (
        "STA-20/default",
        pod_stats(
            network=cri.NetworkUsage(
                timestamp=NOW, interfaces=[cri.NetworkInterfaceUsage(rx_bytes=value(value=1))]
            )
        ),
    ),
    ("STA-26", pod_stats(process=cri.ProcessUsage(process_count=value(value=1)))),
    ("RT-30", cri.VersionResponse(version="0.1.0")),
    ("RT-06", conditions(("RuntimeReady", True))),
    ("RT-11", conditions(*READY, ("X", True), ("X", True))),
    ("RT-08", conditions(("RuntimeReady", True), ("NetworkReady", False))),
    ("RT-12", cri.StatusResponse(info={"a": "b"})),
    ("RT-14/unique", cri.StatusResponse(runtime_handlers=[cri.RuntimeHandler(name="a")] * 2)),
    ("STR-01", cri.ExecResponse(url="/exec/token")),
    ("STR-01", cri.AttachResponse(url="http://127.0.0.1:1")),
    ("STR-01", cri.PortForwardResponse()),
    (
        "MET-03",
        cri.ListPodSandboxMetricsResponse(
            pod_metrics=[cri.PodSandboxMetrics(pod_sandbox_id="s", metrics=[cri.Metric(timestamp=NOW)])]
        ),
    ),
    (
        "MET-05",
        cri.ListPodSandboxMetricsResponse(
            pod_metrics=[
                cri.PodSandboxMetrics(pod_sandbox_id="s", metrics=[cri.Metric(name="m", timestamp=1)])
            ]
        ),
    ),
    (
        "MET-07/ids",
        cri.ListPodSandboxMetricsResponse(
            pod_metrics=[
                cri.PodSandboxMetrics(
                    pod_sandbox_id="s", container_metrics=[cri.ContainerMetrics(metrics=[])]
                )
            ]
        ),
    ),
    ("MET-01", cri.ListMetricDescriptorsResponse(descriptors=[cri.MetricDescriptor(name="m")])),
    (
        "MET-01",
        cri.ListMetricDescriptorsResponse(
            descriptors=[cri.MetricDescriptor(name="m", help="h", label_keys=["a-b"])]
        ),
    ),
    ("MET-01", cri.ListMetricDescriptorsResponse(descriptors=[cri.MetricDescriptor(name="m", help="h")] * 2)),
    ("CKP-16", cri.RestorePodResponse()),
    (
        "CKP-16",
        cri.RestorePodResponse(
            pod_sandbox_id="s", restored_containers=[cri.RestoredContainer(name="a", container_id="")]
        ),
    ),
    ("EVT-04/time", cri.ContainerEventResponse(container_id="c1", created_at=NOW // 1000)),
    (
        "EVT-14/pod",
        cri.ContainerEventResponse(
            container_id="s1",
            created_at=NOW,
            container_event_type=cri.CONTAINER_DELETED_EVENT,
            pod_sandbox_status=cri.PodSandboxStatus(id="s1", created_at=-1),
        ),
    ),
    (
        "EVT-14/container",
        cri.ContainerEventResponse(
            container_id="c1", created_at=NOW, containers_statuses=[status(started_at=-1).status]
        ),
    ),
    ("EVT-05", cri.ContainerEventResponse(created_at=NOW)),
    (
        "GEN-21",
        cri.ContainerEventResponse(
            container_id="c1", created_at=NOW, containers_statuses=[cri.ContainerStatus()]
        ),
    ),
]


@pytest.mark.parametrize("response", BROKEN)
def test_a_broken_response_is_a_violation_of_its_aspect(response: tuple[Any, ...]) -> None:
    aspect, *of_it = response
    assert aspect in aspects(*of_it)


def test_each_aspect_of_a_rule_has_a_broken_response() -> None:
    assert {rule.aspect for rule in RULES} <= {aspect for aspect, *_ in BROKEN}


@pytest.mark.parametrize("field", [*TIMES, *OPTIONAL_TIMES])
@pytest.mark.parametrize("time_ns", [NOW // 10**9, NOW // 1000, NOW + 10**15, -1])
def test_a_time_in_another_unit_or_in_the_future_is_a_violation(field: str, time_ns: int) -> None:
    name, _, attribute = field.partition(".")
    message = getattr(cri, name)(**{attribute: time_ns})

    assert {**TIMES, **OPTIONAL_TIMES}[field] in aspects(message)


@pytest.mark.parametrize("field", [field for kind in LISTS for field in kind.fields])
def test_an_entry_that_is_listed_twice_is_a_violation(field: str) -> None:
    name, _, attribute = field.partition(".")
    kind = next(kind for kind in LISTS if field in kind.fields)
    listed = getattr(cri, name)()
    for _ in range(2):
        kind.of(getattr(listed, attribute).add()).id = "o1"

    assert kind.twice in aspects(listed)
