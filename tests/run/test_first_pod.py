"""The first pod on a machine where SELinux enforces."""

from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.exit_codes import CannotTest
from critests.lifecycle.requests import ImageName
from critests.node.host import selinux_denials
from critests.run import first_pod
from critests.run.first_pod import check_first_pod
from tests.refused import Refused


class FakeRuntime:
    """Fails one RPC, and notes those that were called."""

    def __init__(self, failing: str = "", code: grpc.StatusCode = grpc.StatusCode.UNKNOWN) -> None:
        self.failing, self.code, self.called = failing, code, list[str]()

    def __getattr__(self, rpc: str) -> Any:  # noqa: ANN401 - a stub's RPC
        def call(_: object) -> object:
            self.called.append(rpc)
            if rpc == self.failing:
                raise Refused(self.code, "fork/exec /usr/lib/cni/bridge: permission denied")
            return SimpleNamespace(pod_sandbox_id="1", container_id="2")

        return call


def check(monkeypatch: pytest.MonkeyPatch, runtime: FakeRuntime, mode: str, *, private: bool = True) -> int:
    """Check the first pod, and return how often what the run made was removed."""
    removed: list[object] = []
    requests = SimpleNamespace(sandbox=cri.PodSandboxConfig, container=lambda *_, **__: cri.ContainerConfig())
    context: Any = SimpleNamespace(
        throwaway=private,
        gone=None,
        run=None,
        requests=lambda: requests,
        settings=SimpleNamespace(handlers=[""]),
    )
    connection: Any = SimpleNamespace(runtime=runtime)
    monkeypatch.setattr(first_pod, "selinux_mode", lambda: mode)
    monkeypatch.setattr(first_pod, "remove_run", lambda *_: removed.append(1))
    monkeypatch.setattr(selinux_denials, "denied_since", lambda _: ["crio (crio_t): read dir of x"])
    try:
        check_first_pod(connection, context, lambda: ImageName("plain", "plain"))
    finally:
        assert len(removed) == (mode == "enforcing" and private)
    return len(removed)


@pytest.mark.parametrize("rpc", ["RunPodSandbox", "CreateContainer", "StartContainer"])
def test_a_policy_that_denies_the_first_pod_is_no_finding_of_the_runtime(
    monkeypatch: pytest.MonkeyPatch, rpc: str
) -> None:
    with pytest.raises(CannotTest, match=r"bridge: permission denied\. SELinux denied: crio \(crio_t\)"):
        check(monkeypatch, FakeRuntime(rpc), "enforcing")


def test_a_daemon_that_ends_is_left_to_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, FakeRuntime("CreateContainer", grpc.StatusCode.UNAVAILABLE), "enforcing") == 1


def test_a_pod_that_runs_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, FakeRuntime(), "enforcing") == 1


@pytest.mark.parametrize(("mode", "private"), [("permissive", True), ("", True), ("enforcing", False)])
def test_elsewhere_the_first_pod_is_left_to_the_tests(
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    private: bool,
) -> None:
    runtime = FakeRuntime("RunPodSandbox")

    check(monkeypatch, runtime, mode, private=private)

    assert runtime.called == []
