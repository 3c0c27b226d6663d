"""The clients that work next to the tests."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.client.call_recording import READING
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.conditions.background import BackgroundProcess, BackgroundReport, BackgroundStart, work
from critests.lifecycle import run_label
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.lifecycle.requests import ImageName, pulling
from critests.lifecycle.run_label import RUN_LABEL, RunIdentity
from tests.criserver import CriServer, serve
from tests.criserver.clients import IMAGE


@pytest.fixture
def wrong() -> tuple[str, ...]:
    return ()


@pytest.fixture
def endpoint(wrong: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setattr(run_label, "DATA_HOME", tmp_path)
    with serve(CriServer(wrong=wrong)) as served:
        yield Endpoint.parse(served)


@pytest.fixture
def connection(endpoint: Endpoint) -> Iterator[Connection]:
    opened = connect(endpoint)
    yield opened
    opened.close()


def start(endpoint: Endpoint, *conditions: str) -> BackgroundStart:
    return BackgroundStart(
        conditions=list(conditions),
        seed=7,
        run=RunIdentity("1700000000-abcdef"),
        endpoint=endpoint,
        image_endpoint=endpoint,
        driver=CgroupDriver.UNKNOWN,
        image=ImageName(IMAGE, IMAGE),
    )


def worked_for(seconds: float, what: BackgroundStart) -> BackgroundReport:
    over = threading.Event()
    threading.Timer(seconds, over.set).start()
    return work(what, over)


def test_churn_creates_pods_of_the_run_and_leaves_none(endpoint: Endpoint, connection: Connection) -> None:
    connection.images.PullImage(pulling(IMAGE))
    over = threading.Event()
    reports: list[BackgroundReport] = []
    working = threading.Thread(target=lambda: reports.append(work(start(endpoint, "churn"), over)))
    working.start()

    listed: list[cri.Container] = []
    deadline = time.monotonic() + 20
    while not listed and time.monotonic() < deadline:
        listed += connection.runtime.ListContainers(cri.ListContainersRequest()).containers
    over.set()
    working.join()

    assert {each.labels[RUN_LABEL] for each in listed} == {"1700000000-abcdef"}
    assert {each.labels["critests.condition"] for each in listed} == {"churn"}
    calls = reports[0].calls["churn"]
    assert calls["RunPodSandbox OK"] == calls["RemovePodSandbox OK"] > 0
    assert not connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert not connection.runtime.ListContainers(cri.ListContainersRequest()).containers


def test_questions_are_about_everything_and_change_nothing(endpoint: Endpoint) -> None:
    asked = {key.partition(" ")[0] for key in worked_for(2, start(endpoint, "questions")).calls["questions"]}

    assert asked >= {
        "Version",
        "Status",
        "ListContainers",
        "ListPodSandboxStats",
        "ListImages",
        "ImageFsInfo",
    }
    assert all(READING.fullmatch(rpc) for rpc in asked)


@pytest.mark.parametrize(
    ("wrong", "aspects"), [((), set()), (("creation-time-in-seconds",), {"SBA-03"})], ids=["right", "wrong"]
)
def test_responses_to_the_clients_are_judged(
    endpoint: Endpoint, connection: Connection, aspects: set[str]
) -> None:
    connection.images.PullImage(pulling(IMAGE))

    report = worked_for(3, start(endpoint, "churn", "questions"))

    assert {each.aspect for each in report.violations} == aspects
    assert report.calls["questions"]["ListPodSandbox OK"] > 0
    again = BackgroundReport.from_json(report.to_json())
    assert [each.field for each in again.violations] == [each.field for each in report.violations]


def test_clients_of_events_come_and_go(endpoint: Endpoint) -> None:
    calls = worked_for(2, start(endpoint, "events")).calls["events"]

    assert calls["GetContainerEvents not read"] == 1
    assert sum(calls.values()) > 2


def test_the_process_counts_its_calls_and_ends_when_the_run_ends_it(endpoint: Endpoint) -> None:
    process = BackgroundProcess(start(endpoint, "questions"))
    time.sleep(3)

    assert process.stop().calls["questions"]["Version OK"] > 0
    assert process.stop() == process.stop()
