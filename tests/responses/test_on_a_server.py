"""The judge on the calls of an ordinary client to the small CRI server, sound or wrong in one way."""

import contextlib
from functools import partial
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.call_recording import Recorder
from critests.responses.response_judge import ResponseJudge
from critests.run.response_findings import judge_call
from tests.criserver import CriServer
from tests.criserver.clients import Client
from tests.criserver.connected import connected


class Walk:
    """Calls of a client that expects nothing: pods and containers from their creation to their removal, and
    every list and status after each step.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.sandboxes: list[str] = []
        self.containers: list[str] = []

    def make(self) -> None:
        """Make all calls; a call that fails is one of the responses."""
        for name in ("first", "second"):
            with contextlib.suppress(grpc.RpcError):
                self.sandboxes.append(self.client.run_sandbox(name, colour=name))
            self._look()
        for sandbox in self.sandboxes:
            with contextlib.suppress(grpc.RpcError):
                config = {"labels": {"colour": "red"}, "annotations": {"note": "n"}}
                self.containers.append(
                    self.client.create_container(sandbox, ["sleep", "100"], "long", **config)
                )
                self._look()
                short = self.client.run_container(sandbox, ["sh", "-c", "exit 3"], "short", **config)
                self.containers.append(short)
                self.client.wait_exited(short)
            self._look()
        for verb, kind in (("Start", "Container"), ("Stop", "Container"), ("Remove", "Container")):
            # the containers of the last sandbox go with it
            self._each(f"{verb}{kind}", self.containers[: 2 if verb != "Start" else 4])
        self._each("StopPodSandbox", self.sandboxes)
        self._each("RemovePodSandbox", self.sandboxes)

    def _each(self, rpc: str, objects: list[str]) -> None:
        for identity in objects:
            request = getattr(cri, f"{rpc}Request")()
            setattr(request, "pod_sandbox_id" if "Sandbox" in rpc else "container_id", identity)
            with contextlib.suppress(grpc.RpcError):
                getattr(self.client.runtime, rpc)(request)
            self._look()

    def _look(self) -> None:
        runtime = self.client.runtime
        requests = [
            cri.ListPodSandboxRequest(),
            cri.ListContainersRequest(),
            cri.ListContainerStatsRequest(),
            cri.ListPodSandboxStatsRequest(),
            *(cri.PodSandboxStatusRequest(pod_sandbox_id=each) for each in self.sandboxes),
            *(cri.ContainerStatusRequest(container_id=each) for each in self.containers),
            *(
                cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=each))
                for each in self.sandboxes
            ),
        ]
        for request in requests:
            rpc = type(request).__name__.removesuffix("Request")
            with contextlib.suppress(grpc.RpcError):
                getattr(runtime, rpc)(request)


def noticed(folder: Path, *wrong: str) -> set[str]:
    judge = ResponseJudge()
    recorder = Recorder(partial(judge_call, judge))
    with connected(CriServer(wrong=wrong), recorder=recorder) as connection:
        Walk(Client(connection.runtime, connection.images, connection.channel, str(folder))).make()
    return {violation.aspect for violation in judge.take()}


def test_a_sound_server_breaks_no_rule(tmp_path: Path) -> None:
    assert noticed(tmp_path) == set()


@pytest.mark.parametrize(
    ("wrong", "aspect"),
    [
        ("lost=StopContainer", "CTA-27"),
        ("lost=RemoveContainer", "CTR-31/error"),
        ("filters-ignored", "CTA-18"),
        ("exit-code-of-another-container", "CTA-30"),
        ("exit-code-lost-with-the-sandbox", "CTA-30"),
        ("finish-time-changes", "CTA-30"),
        ("start-time-changes", "CTA-29"),
        ("annotations-lost-after-the-exit", "CTA-02"),
        ("running-in-a-stopped-sandbox", "SBX-12"),
        ("containers-outlive-their-sandbox", "SBX-21"),
        ("container-of-the-same-name-removed", "CTA-17"),
        ("status-of-another-sandbox", "SBA-01"),
        ("removed-sandbox-listed", "SBX-26/error"),
        ("removed-sandbox-has-a-status", "SBX-26/error"),
        ("creation-time-changes-when-stopped", "SBA-03"),
        ("creation-time-in-seconds", "SBA-03"),
        ("labels-lost-when-stopped", "SBA-04"),
        ("sandbox-stops-with-its-containers", "SBX-12"),
    ],
)
def test_a_wrong_server_is_noticed_without_a_test_of_it(tmp_path: Path, wrong: str, aspect: str) -> None:
    assert aspect in noticed(tmp_path, wrong)
