"""A pull that fails because the daemon has ended is not blamed on the suite's registry."""

import os
import subprocess
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from critests.client.endpoint import EndpointError
from critests.record.reasons import ReasonCode
from critests.run.outcomes import Blocked, SetUpFailed
from critests.run.pulled_images import TestImages
from tests.refused import Refused


def images(pid: int | None, *, responds: bool) -> TestImages:
    def fails(_: object) -> None:
        raise Refused(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    def greet() -> None:
        if not responds:
            raise EndpointError("no response")

    minted = SimpleNamespace(reference="localhost:5010/a:b")
    registry = SimpleNamespace(address="127.0.0.1:5010", mint=lambda *_, **__: minted, requests=lambda _: [])
    context = SimpleNamespace(
        settings=SimpleNamespace(image_prefix="", of_node=()),
        registry=registry,
        run=SimpleNamespace(id="1-a"),
        names=SimpleNamespace(image_tags=list),
        daemon_pid=pid,
    )
    connection = SimpleNamespace(images=SimpleNamespace(PullImage=fails), greet=greet)
    return TestImages(cast("Any", connection), cast("Any", context))


def test_a_living_runtime_does_not_reach_the_registry() -> None:
    with pytest.raises(Blocked) as blocked:
        images(os.getpid(), responds=True).pull()

    why = blocked.value.why
    assert (why.code, why.where) == (ReasonCode.REGISTRY_UNREACHABLE, "127.0.0.1:5010")


@pytest.mark.parametrize("responds", [True, False], ids=["another process responds", "none responds"])
def test_a_runtime_that_has_ended_is_the_reason_itself(responds: bool) -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()

    with pytest.raises(SetUpFailed):
        images(process.pid, responds=responds).pull()
