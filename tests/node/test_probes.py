"""A missing capability of the machine is distinguished from one of the runtime."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from critests.catalogue.words import Capability
from critests.client.deadlines import Deadlines
from critests.node.observing import probes
from critests.node.observing.capabilities import ProbeResult
from critests.node.observing.probes import ContainerProbes
from tests.client.streaming.fake_server import Peer, serving
from tests.criserver import CriServer
from tests.criserver.connected import PULLED, connected, requests_in


def shared_processes(server: CriServer, tmp_path: Path) -> ProbeResult:
    return container_fact(server, tmp_path, Capability.SHARED_PROCESSES)


def container_fact(
    server: CriServer, tmp_path: Path, capability: Capability, *, scale: float = 1
) -> ProbeResult:
    with connected(server, pulls=True, deadlines=Deadlines(scale)) as connection:
        requests = requests_in(tmp_path)
        probe = ContainerProbes(connection, "", requests, image=lambda: PULLED, daemon=lambda: 1)
        return probe.all()[capability]()


def test_timeout_of_a_host_port_scales_with_the_deadlines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[float] = []

    def connected(_address: str, _port: int, seconds: float) -> bool:
        timeouts.append(seconds)
        return True

    monkeypatch.setattr(probes, "_takes_connection", connected)

    container_fact(CriServer(), tmp_path, Capability.HOST_PORTS)
    container_fact(CriServer(), tmp_path, Capability.HOST_PORTS, scale=4)

    assert timeouts == [probes.PORT_SECONDS, 4 * probes.PORT_SECONDS]


@pytest.mark.parametrize(
    ("wrong", "present"), [(["fails=CreateContainer"], True), ([], False)], ids=["rejected", "accepted"]
)
def test_cdi_is_present_if_an_unknown_device_is_rejected(
    wrong: list[str], present: bool, tmp_path: Path
) -> None:
    assert container_fact(CriServer(wrong=wrong), tmp_path, Capability.CDI).present is present


@pytest.mark.parametrize(
    ("held", "wrong", "present"),
    [
        ((), ["no-shared-processes"], False),
        ((), ["fails=RunPodSandbox"], True),
        ((), [], True),
        (("SYS_RESOURCE",), ["fails=RunPodSandbox"], True),
    ],
    ids=[
        "root cannot lower the score",
        "no pod can run",
        "the runtime works without it",
        "the runtime fails for another reason",
    ],
)
def test_shared_processes_are_absent_only_if_the_daemon_lacks_cap_sys_resource(
    held: tuple[str, ...], wrong: list[str], present: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "process_capabilities", lambda _: SimpleNamespace(permitted=held))
    fact = shared_processes(CriServer(wrong=wrong), tmp_path)
    assert fact.present is present
    assert ("lacks CAP_SYS_RESOURCE" in fact.evidence) is not present


def test_shared_processes_are_unknown_if_the_daemon_has_exited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exited(_: int) -> None:
        raise ProcessLookupError("there is no process 1")

    monkeypatch.setattr(probes, "process_capabilities", exited)

    assert shared_processes(CriServer(), tmp_path).present is None


@pytest.mark.parametrize(
    ("boot_id", "daemon_pid", "same_host", "shared_kernel"),
    [
        (probes.BOOT_ID.read_text(encoding="ascii"), None, True, True),
        ("another-boot\n", 7, True, False),
        ("another-boot\n", None, False, False),
    ],
    ids=["the same kernel", "a guest kernel", "another machine"],
)
def test_a_guest_kernel_is_distinguished_from_another_machine(
    boot_id: str, daemon_pid: int | None, same_host: bool, shared_kernel: bool
) -> None:
    # the only attribute that the probe uses
    anything: Any = SimpleNamespace(exec=lambda *_: SimpleNamespace(stdout=boot_id.encode()))
    probe = ContainerProbes(anything, "", anything, image=pytest.fail, daemon=lambda: daemon_pid)

    facts = probe.machine_of(anything)

    assert facts[Capability.SAME_HOST].present is same_host
    assert facts[Capability.SHARED_KERNEL].present is shared_kernel


@pytest.mark.parametrize(
    ("daemon", "container", "labels"),
    [
        ("system_u:system_r:container_runtime_t:s0", b"system_u:system_r:container_t:s0:c1,c2\0", True),
        ("system_u:system_r:container_runtime_t:s0", b"system_u:system_r:container_runtime_t:s0\0", False),
        ("", b"system_u:system_r:container_t:s0:c1,c2\0", True),
        ("system_u:system_r:container_runtime_t:s0", b"", False),
    ],
    ids=["labels containers", "labels no containers", "daemon not visible", "no label visible"],
)
def test_a_runtime_without_labels_is_distinguished_from_one_with_selinux(
    daemon: str, container: bytes, labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "text_of", lambda _: daemon)
    anything: Any = SimpleNamespace(exec=lambda *_: SimpleNamespace(stdout=container))
    probe = ContainerProbes(anything, "", anything, image=pytest.fail, daemon=lambda: 7)

    assert probe.labels_of(anything).present is labels


def reject(peer: Peer) -> None:
    peer.read_head()
    peer.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!")


@pytest.mark.parametrize(
    ("play", "works", "evidence"),
    [
        (Peer.accept_websocket, True, "it chose v4.channel.k8s.io"),
        (lambda peer: peer.accept_websocket(""), False, "it chose none"),
        (reject, False, "HTTP 403"),
        (lambda peer: peer.read_head(), None, "closed the connection"),
    ],
    ids=["switches", "switches to no subprotocol", "rejects", "does not respond"],
)
def test_exec_websocket_is_present_if_the_server_switches_to_the_subprotocol(
    play: Callable[[Peer], object], works: bool | None, evidence: str
) -> None:
    with serving(play) as url:
        runtime = SimpleNamespace(Exec=lambda _: SimpleNamespace(url=url))
        connection: Any = SimpleNamespace(runtime=runtime)
        anything: Any = SimpleNamespace(id="container")
        probe = ContainerProbes(connection, "", anything, image=pytest.fail, daemon=lambda: 7)

        fact = probe.exec_websocket(anything)

    assert fact.present is works
    assert evidence in fact.evidence
