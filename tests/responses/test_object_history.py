"""A response must not contradict what earlier calls of the same client established."""

from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.responses.figure_history import MachineSize
from tests.responses.recorded_calls import EXITED, META, NOW, NS, POD, RUNNING, Client


@pytest.fixture
def client() -> Client:
    return Client()


def test_the_life_of_a_container_breaks_no_rule(client: Client) -> None:
    client.run_sandbox()
    client.sandbox()
    client.created()
    client.status()
    client.listed()
    client.changed("StartContainer")
    client.status(state=RUNNING, started_at=NOW * NS)
    client.stats(cpu=5, faults=7, memory=1)
    client.stats(cpu=6, faults=7, memory=1)
    client.changed("StopContainer")
    for _ in range(2):
        client.status(state=EXITED, started_at=NOW * NS, finished_at=NOW * NS, exit_code=3)
    client.changed("StopPodSandbox")
    client.sandbox(ip="", state=cri.SANDBOX_NOTREADY)
    client.changed("RemoveContainer")
    client.changed("RemovePodSandbox")
    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse())
    client.call("ListPodSandbox", cri.ListPodSandboxRequest(), cri.ListPodSandboxResponse())

    assert client.violations() == set()


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("CTA-01 ContainerStatus.metadata", {"metadata": cri.ContainerMetadata(name="c")}),
        ("CTA-02 ContainerStatus.labels", {"labels": {"l": "2"}}),
        ("CTA-02 ContainerStatus.annotations", {"annotations": {}}),
        ("CTA-10 ContainerStatus.log_path", {"log_path": "/logs/c"}),
        ("STP-12 ContainerStatus.stop_signal", {"stop_signal": cri.SIGNAL_SIGTERM}),
        ("CTA-09/required ContainerStatus.mounts", {"mounts": []}),
        ("CTA-09/required Mount.readonly", {"mounts": [cri.Mount(container_path="/m")]}),
        (
            "CTA-09/recommended Mount.propagation",
            {
                "mounts": [
                    cri.Mount(container_path="/m/", readonly=True, propagation=cri.PROPAGATION_BIDIRECTIONAL)
                ]
            },
        ),
        (
            "CTA-06/if-set ImageSpec.user_specified_image",
            {"image": cri.ImageSpec(image="i", user_specified_image="j")},
        ),
    ],
)
def test_a_status_reports_what_was_requested(client: Client, field: str, fields: dict[str, Any]) -> None:
    client.created()

    client.status(**fields)

    assert client.violations() == {field}


def test_a_list_reports_what_was_requested(client: Client) -> None:
    client.created()

    client.listed(pod_sandbox_id="s2", metadata=cri.ContainerMetadata(name="x"))

    assert client.violations() == {"CTA-23/equal Container.pod_sandbox_id", "CTA-23/equal Container.metadata"}


def test_a_repeated_creation_preserves_the_first_configuration(client: Client) -> None:
    client.created()
    client.call(
        "CreateContainer",
        cri.CreateContainerRequest(config=cri.ContainerConfig(metadata=META, labels={"l": "2"})),
        cri.CreateContainerResponse(container_id="c1"),
    )

    client.status()

    assert client.violations() == set()


def test_a_state_never_goes_back(client: Client) -> None:
    client.status(state=RUNNING, started_at=NOW * NS)

    client.status(started_at=0)

    assert "CTA-26 ContainerStatus.state" in client.violations()


def test_states_of_overlapping_calls_have_no_order(client: Client) -> None:
    client.status(started=NOW, state=EXITED, finished_at=NOW * NS, started_at=NOW * NS)
    client.status(started=NOW - 0.5, state=RUNNING, started_at=NOW * NS)

    assert client.violations() == set()


@pytest.mark.parametrize(
    ("rpc", "field", "fields"),
    [
        ("StartContainer", "CTA-27 ContainerStatus.state", {}),
        ("StopContainer", "CTA-27 ContainerStatus.state", {"state": RUNNING, "started_at": NOW * NS}),
        ("RemoveContainer", "CTR-31/error ContainerStatus.state", {}),
    ],
)
def test_a_status_shows_the_change_of_the_call_before(
    client: Client, rpc: str, field: str, fields: dict[str, Any]
) -> None:
    client.created()
    if rpc == "StopContainer":
        client.changed("StartContainer")
    client.changed(rpc)

    client.status(**fields)

    assert client.violations() == {field}


@pytest.mark.parametrize("name", ["exit_code", "finished_at", "started_at", "created_at"])
def test_an_exited_container_stays_as_it_is(client: Client, name: str) -> None:
    values = {"exit_code": 3, "finished_at": NOW * NS, "started_at": NOW * NS, "created_at": NOW * NS}
    client.status(state=EXITED, **values)

    client.status(state=EXITED, **{**values, name: values[name] - 1})

    assert f"ContainerStatus.{name}" in {each.partition(" ")[2] for each in client.violations()}


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("SBA-02 PodSandboxStatus.metadata", {"metadata": cri.PodSandboxMetadata(name="p")}),
        ("SBA-04 PodSandboxStatus.labels", {"labels": {}}),
        ("SBA-05 PodSandboxStatus.annotations", {"annotations": {"a": "2"}}),
        ("SBA-07 PodSandboxStatus.runtime_handler", {"runtime_handler": ""}),
        ("SBA-08 NamespaceOption.pid", {"options": {"pid": cri.NODE}}),
    ],
)
def test_a_sandbox_reports_what_was_requested(client: Client, field: str, fields: dict[str, Any]) -> None:
    client.run_sandbox(ipc=cri.POD)

    client.sandbox(**fields)

    assert client.violations() == {field}


def test_the_user_namespace_of_a_sandbox_is_reported(client: Client) -> None:
    mapping = cri.IDMapping(host_id=65536, length=65536)
    client.run_sandbox(userns_options=cri.UserNamespace(mode=cri.POD, uids=[mapping], gids=[mapping]))

    client.sandbox()

    assert client.violations() == {"SBA-08 NamespaceOption.userns_options"}


def test_an_event_may_be_older_than_the_status(client: Client) -> None:
    client.status(state=RUNNING, started_at=NOW * NS)
    before_its_start = cri.ContainerStatus(
        id="c1", metadata=META, created_at=NOW * NS, image=cri.ImageSpec(image="i"), image_ref="i"
    )

    client.call(
        "GetContainerEvents",
        cri.GetEventsRequest(),
        cri.ContainerEventResponse(
            container_id="c1", created_at=NOW * NS, containers_statuses=[before_its_start]
        ),
    )

    assert client.violations() == set()


def test_a_stopped_sandbox_is_never_ready(client: Client) -> None:
    client.run_sandbox()
    client.changed("StopPodSandbox")

    client.sandbox()

    assert client.violations() == {"SBX-12 PodSandboxStatus.state"}


def test_the_address_of_a_ready_sandbox_is_constant(client: Client) -> None:
    client.sandbox(ip="10.0.0.2")
    client.sandbox(ip="10.0.0.3")

    assert client.violations() == {"SBA-11 PodSandboxStatus.network"}


@pytest.mark.parametrize(
    ("rpc", "field"),
    [
        ("StopPodSandbox", "SBX-12 ContainerStatus.state"),
        ("RemovePodSandbox", "SBX-21 ContainerStatus.state"),
    ],
)
def test_a_container_does_not_outlast_its_sandbox(client: Client, rpc: str, field: str) -> None:
    client.run_sandbox()
    client.created()
    client.changed("StartContainer")
    client.changed(rpc)

    client.status(state=RUNNING, started_at=NOW * NS)

    assert client.violations() == {field}


@pytest.mark.parametrize(
    "calls",
    [
        ("created", "StopPodSandbox", "StartContainer"),
        ("created", "StopContainer", "StartContainer"),
        ("RemovePodSandbox", "created"),
    ],
)
def test_a_creation_or_start_may_come_after_a_stop_or_removal(client: Client, calls: tuple[str, ...]) -> None:
    client.run_sandbox()
    for call in calls:
        client.created() if call == "created" else client.changed(call)

    client.status(state=RUNNING, started_at=NOW * NS)

    assert client.violations() == set()


def test_a_removed_sandbox_is_not_reported(client: Client) -> None:
    client.run_sandbox()
    client.changed("RemovePodSandbox")

    client.sandbox()

    assert client.violations() == {"SBX-26/error PodSandboxStatus.state"}


@pytest.mark.parametrize(
    ("field", "earlier", "later"),
    [
        ("STA-03 CpuUsage.usage_core_nano_seconds", {"cpu": 5}, {"cpu": 4}),
        ("STA-07 MemoryUsage.page_faults", {"faults": 5}, {"faults": 4}),
        ("STA-02/set CpuUsage.timestamp", {"at": NOW}, {"at": NOW - 1}),
    ],
)
def test_a_counter_never_falls(
    client: Client, field: str, earlier: dict[str, int], later: dict[str, int]
) -> None:
    client.stats(**earlier)
    client.stats(**later)

    assert field in client.violations()


def test_a_container_uses_no_more_than_the_machine_has(client: Client) -> None:
    client.judge.machine = MachineSize(cpus=2, memory_bytes=1000)
    client.created()
    client.status()

    client.stats(cpu=100 * NS, memory=1001)

    assert client.violations() == {
        "STA-03 CpuUsage.usage_core_nano_seconds",
        "STA-07 MemoryUsage.usage_bytes",
    }


def test_stats_report_the_labels_of_the_request(client: Client) -> None:
    client.created()
    client.run_sandbox()
    for rpc, message in (
        (
            "ListContainerStats",
            cri.ListContainerStatsResponse(
                stats=[cri.ContainerStats(attributes=cri.ContainerAttributes(id="c1", metadata=META))]
            ),
        ),
        (
            "ListPodSandboxStats",
            cri.ListPodSandboxStatsResponse(
                stats=[cri.PodSandboxStats(attributes=cri.PodSandboxAttributes(id="s1", metadata=POD))]
            ),
        ),
    ):
        client.call(rpc, getattr(cri, f"{rpc}Request")(), message)

    assert client.violations() == {
        f"{aspect} {kind}Attributes.{field}"
        for aspect, kind in (("STA-01", "Container"), ("STA-30", "PodSandbox"))
        for field in ("labels", "annotations")
    }


def test_a_metric_matches_its_descriptor_and_a_counter_never_falls(client: Client) -> None:
    descriptors = [cri.MetricDescriptor(name="m", help="h", label_keys=["id"])]
    client.call(
        "ListMetricDescriptors",
        cri.ListMetricDescriptorsRequest(),
        cri.ListMetricDescriptorsResponse(descriptors=descriptors),
    )
    found = []
    for name, labels, value in (("m", ["c1"], 5), ("m", ["c1"], 4), ("m", [], 1), ("n", ["c1"], 1)):
        metric = cri.Metric(
            name=name, label_values=labels, metric_type=cri.COUNTER, value=cri.UInt64Value(value=value)
        )
        pod = cri.PodSandboxMetrics(pod_sandbox_id="s1", metrics=[metric])
        client.call(
            "ListPodSandboxMetrics",
            cri.ListPodSandboxMetricsRequest(),
            cri.ListPodSandboxMetricsResponse(pod_metrics=[pod]),
        )
        found += [(each.aspect, each.difference.field) for each in client.judge.take()]

    assert found == [("MET-06/counters", "value m c1"), ("MET-03", "m"), ("MET-03", "n")]
