"""Faults in what passes between a runtime and the suite's plugins."""

import re
import socket
from collections.abc import Iterator

import pytest
from critests_proof.language.faults import FaultError, PluginFault, parse_fault
from critests_proof.proxy.effects import make_effect
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.api import nri_pb2 as nri
from critests.node.nri.nri_plugin import TAMPERINGS, NriPlugin
from tests.node.nri.test_plugin import Peer

POD = nri.PodRequest(pod=nri.PodSandbox(id="p", uid="mine", ips=["192.0.2.1", "192.0.2.2"]))


def fault(text: str) -> PluginFault:
    read = parse_fault(text)
    assert isinstance(read, PluginFault)
    return read


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("plugin.RunPod: swallow", "plugins know no call 'RunPod'"),
        ("plugin.RunPodSandbox: delay 2s", "can only be swallowed"),
        ("plugin.RunPodSandbox: swallow when nth=2", "take no conditions"),
        ("plugin.RunPodSandbox.pod.uid: reverse", "is one of clear, set, drop-first, drop-all; not reverse"),
        ("plugin.RunPodSandbox.pod.uidd: clear", "uidd"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FaultError, match=re.escape(complaint)):
        parse_fault(text)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('plugin.RunPodSandbox.pod.uid: set "another"', {"uid": "another"}),
        ("plugin.RunPodSandbox.pod.ips: drop-first", {"ips": ["192.0.2.2"]}),
        ("plugin.RunPodSandbox.pod.ips: drop-all", {"ips": []}),
    ],
)
def test_a_field_is_changed(text: str, changed: dict[str, object]) -> None:
    message = nri.PodRequest.FromString(POD.SerializeToString())

    assert fault(text).change(message)
    assert {name: getattr(message.pod, name) for name in changed} == changed


def test_what_is_so_already_is_no_change() -> None:
    assert not fault('plugin.RunPodSandbox.pod.uid: set "mine"').change(POD)


@pytest.fixture
def plugin_and_peer() -> Iterator[tuple[NriPlugin, Peer]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        plugin = NriPlugin(ours, "test", "07")
        yield plugin, Peer(theirs)
        plugin.close()


@pytest.mark.parametrize("old", [False, True], ids=["request of its own", "state change"])
def test_a_plugin_does_not_hear_what_is_swallowed(plugin_and_peer: tuple[NriPlugin, Peer], old: bool) -> None:
    plugin, peer = plugin_and_peer
    method = "StateChange" if old else "RunPodSandbox"
    request = nri.StateChangeEvent(event=nri.RUN_POD_SANDBOX, pod=POD.pod) if old else POD
    hits: list[str] = []

    effect = make_effect(fault("plugin.RunPodSandbox: swallow"), hits.append)
    answer = peer.call(method, request)
    effect.close()
    peer.call(method, request)

    assert not answer.status.code
    assert hits == ["plugin.RunPodSandbox: swallow"]
    assert [event.name for event in plugin.received] == ["RunPodSandbox"]
    assert not TAMPERINGS


def test_a_call_of_a_plugin_is_swallowed(plugin_and_peer: tuple[NriPlugin, Peer]) -> None:
    plugin, _ = plugin_and_peer
    effect = make_effect(fault("plugin.UpdateContainers: swallow"), lambda _: None)

    answer = plugin.update(nri.UpdateContainersRequest())

    effect.close()
    assert answer == nri.UpdateContainersResponse()


def test_of_two_proxies_with_one_fault_the_last_one_acts() -> None:
    text = "plugin.RunPodSandbox: swallow"
    first, second = FaultProxy("unix:///nowhere"), FaultProxy("unix:///nowhere")
    first.faults = (text,)
    second.faults = (text,)

    [tampering] = TAMPERINGS.values()
    passes = tampering("RunPodSandbox", POD)
    first.faults = ()
    still_there = list(TAMPERINGS)
    hits = second.hits
    second.faults = ()

    assert (passes, still_there, hits, TAMPERINGS) == (False, [text], {text: 1}, {})
