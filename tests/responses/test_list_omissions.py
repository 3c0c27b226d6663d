"""Lists and statuses know every object that exists."""

import pytest

from critests.api import api_pb2 as cri
from tests.responses.recorded_calls import NOW, RUNNING, Client


@pytest.fixture
def client() -> Client:
    return Client()


def test_a_list_omits_no_container_that_exists(client: Client) -> None:
    client.created()

    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse())

    assert client.violations() == {"CTA-17 ListContainersResponse.containers"}


@pytest.mark.parametrize(
    ("wanted", "violations"),
    [
        (cri.ContainerFilter(id="c1"), {"CTA-18 ListContainersResponse.containers"}),
        (cri.ContainerFilter(id="c"), set()),
        (cri.ContainerFilter(pod_sandbox_id="s1"), {"CTA-18 ListContainersResponse.containers"}),
        (cri.ContainerFilter(label_selector={"l": "1"}), {"CTA-19 ListContainersResponse.containers"}),
        (cri.ContainerFilter(label_selector={"l": "2"}), set()),
        (cri.ContainerFilter(pod_sandbox_id="s2"), set()),
        (cri.ContainerFilter(state=cri.ContainerStateValue(state=RUNNING)), set()),
    ],
)
def test_a_filter_omits_no_container_that_matches(
    client: Client, wanted: cri.ContainerFilter, violations: set[str]
) -> None:
    client.created()

    client.call("ListContainers", cri.ListContainersRequest(filter=wanted), cri.ListContainersResponse())

    assert client.violations() == violations


@pytest.mark.parametrize("beginning", ["c", "c1"])
def test_a_removal_may_have_the_beginning_of_an_id(client: Client, beginning: str) -> None:
    client.created()

    client.call(
        "RemoveContainer",
        cri.RemoveContainerRequest(container_id=beginning),
        cri.RemoveContainerResponse(),
    )
    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse())

    assert client.violations() == set()


def test_a_container_that_exists_has_a_status(client: Client) -> None:
    client.created()
    request = cri.ContainerStatusRequest(container_id="c1")

    client.judge.failed("ContainerStatus", "unix:///a", request, "NOT_FOUND", NOW + 1, NOW + 2)

    assert client.violations() == {"CTA-01 ContainerStatusResponse.status"}


def test_a_list_may_omit_what_is_removed_meanwhile(client: Client) -> None:
    client.created()
    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse(), NOW + 10)
    client.judge.failed(
        "RemovePodSandbox",
        "unix:///a",
        cri.RemovePodSandboxRequest(pod_sandbox_id="s1"),
        "DEADLINE_EXCEEDED",
        NOW + 10.5,
        NOW + 12,
    )

    assert client.violations() == set()


def test_a_list_may_omit_what_a_lost_daemon_forgot(client: Client) -> None:
    client.created()
    client.judge.failed("Version", "unix:///a", cri.VersionRequest(), "UNAVAILABLE", NOW + 1, NOW + 1)

    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse())

    assert client.violations() == set()


def test_a_runtime_that_tests_restart_may_forget_objects(client: Client) -> None:
    client.judge.lasting = "unix:///other"
    client.created()

    client.call("ListContainers", cri.ListContainersRequest(), cri.ListContainersResponse())

    assert client.violations() == set()
