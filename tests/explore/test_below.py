"""Disturbances below the calls last for one step."""

import contextlib
import http.client
import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from critests.explore.disturbances import Disturbances, SequenceImages, started_again
from critests.images.registry import RegistryServer
from critests.lifecycle.waiting import eventually
from critests.model.steps import REGISTRY
from critests.node.wrappers.actions import Action, Delay
from critests.node.wrappers.hanging import sleeping


class RecordedPlan:
    """Replaces a wrapper, and records what is planned."""

    def __init__(self) -> None:
        self.now: list[str] = []

    @contextlib.contextmanager
    def planned(self, actions: Mapping[str, Sequence[Action]]) -> Iterator[None]:
        self.now += actions
        yield
        self.now.clear()


@pytest.fixture
def images() -> Iterator[SequenceImages]:
    with RegistryServer(0) as server:
        yield SequenceImages(server.client(), "run")


def status_of(name: str) -> int:
    """Return the HTTP status of a pull."""
    address, _, rest = name.partition("/")
    repository, _, tag = rest.rpartition(":")
    with contextlib.closing(http.client.HTTPConnection(address, timeout=10)) as connection:
        connection.request("GET", f"/v2/{repository}/manifests/{tag}")
        with connection.getresponse() as response:
            return response.status


def layer_of(name: str) -> int:
    """Return the HTTP status of a request for the only layer of an image."""
    address, _, rest = name.partition("/")
    repository, _, tag = rest.rpartition(":")
    with contextlib.closing(http.client.HTTPConnection(address, timeout=10)) as connection:
        connection.request("GET", f"/v2/{repository}/manifests/{tag}")
        manifest = json.loads(connection.getresponse().read())
    with contextlib.closing(http.client.HTTPConnection(address, timeout=10)) as connection:
        connection.request("GET", f"/v2/{repository}/blobs/{manifest['layers'][0]['digest']}")
        with connection.getresponse() as response:
            return response.status


def test_every_sequence_has_its_own_images(images: SequenceImages) -> None:
    first = images()
    second = images()

    assert {status_of(name) for names in second.values() for name in names} == {200}
    assert {status_of(name) for names in first.values() for name in names} == {404}


def test_no_pull_succeeds_while_the_registry_fails(images: SequenceImages) -> None:
    names = [name for names in images().values() for name in names]

    with Disturbances(cast("Any", None), cast("Any", None), images).failing(REGISTRY):
        assert {status_of(name) for name in names} == {500}
    assert {status_of(name) for name in names} == {200}


def test_pull_hangs_with_the_registry_and_completes_afterwards(images: SequenceImages) -> None:
    name = images()["image-1"][0]
    assert images.registry is not None
    repository = name.partition("/")[2].rpartition(":")[0]
    disturbances = Disturbances(cast("Any", None), cast("Any", None), images)

    with ThreadPoolExecutor(1) as client:
        with disturbances.hanging(REGISTRY):
            layer = client.submit(layer_of, name)
            eventually(
                "the request for the layer",
                lambda: layer.running() and images.registry.requests(repository),  # type: ignore[union-attr]  # it is there, see above
                10,
            )
            assert not layer.done()
        assert layer.result(10) == 200


@pytest.mark.parametrize(("operation", "oci", "cni"), [("kill", ["kill"], []), ("ADD", [], ["ADD"])])
def test_an_operation_fails_or_hangs_in_the_wrapper_that_has_it(
    images: SequenceImages, operation: str, oci: list[str], cni: list[str]
) -> None:
    wrappers = SimpleNamespace(oci=RecordedPlan(), cni=RecordedPlan())
    runtime = SimpleNamespace(wrappers=wrappers)

    disturbances = Disturbances(cast("Any", runtime), cast("Any", None), images)
    for disturbed in (disturbances.failing, disturbances.hanging):
        with disturbed(operation):
            assert (wrappers.oci.now, wrappers.cni.now) == (oci, cni)
        assert (wrappers.oci.now, wrappers.cni.now) == ([], [])


def test_hanging_operation_continues_after_the_step(images: SequenceImages) -> None:
    started = []

    @contextlib.contextmanager
    def planned(actions: Mapping[str, Sequence[Action]]) -> Iterator[None]:
        (delay,) = actions["create"]
        assert isinstance(delay, Delay)
        started.append(subprocess.Popen(["sleep", f"{delay.seconds:.6f}"]))
        # a program that was just started has no command line yet
        eventually("the command line of the sleep", lambda: sleeping(delay), 10)
        yield

    runtime = SimpleNamespace(wrappers=SimpleNamespace(oci=SimpleNamespace(planned=planned)))

    with Disturbances(cast("Any", runtime), cast("Any", None), images).hanging("create"):
        assert started[0].poll() is None
    assert started[0].wait(10) == -signal.SIGKILL


def test_daemon_is_killed_before_it_is_started_again() -> None:
    done: list[str] = []
    runtime = SimpleNamespace(kill=lambda: done.append("kill"), start_again=lambda: done.append("start"))
    version = SimpleNamespace(Version=lambda _: "1.0")
    connection = SimpleNamespace(runtime=version, deadlines=SimpleNamespace(scale=1.0))

    started_again(cast("Any", runtime), cast("Any", connection))

    assert done == ["kill", "start"]
