"""Faults below the runtime that are in no document of the OCI runtime."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from critests_proof.language.faults import (
    BelowFault,
    CommandFault,
    FaultError,
    NetworkFault,
    is_of_the_network,
    parse_fault,
)
from critests_proof.matrix import load
from critests_proof.oci_faults import COMMAND_FAULTS, faults_below
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.proxy.oci_proxy import FaultsBelow

from critests import catalogue
from critests.node.wrappers.actions import SkipCommand
from critests.node.wrappers.stand_in import CniWrapper, OciWrapper

BELOW = {fault.id: fault for fault in faults_below() if fault.kind != "bundle"}
ECHO = '#!/bin/sh\necho "$*"\n'
PLUGIN = """#!/bin/sh
read -r config
ips='[{"address": "10.0.0.1/20"}, {"address": "fd00::1/64"}]'
[ "$CNI_COMMAND" = DEL ] || printf '{"ips": %s, "told": %s}' "$ips" "$config"
"""
CONFIG = {"runtimeConfig": {"portMappings": [{"hostPort": 1, "protocol": "udp"}, {"hostPort": 5}]}}


def fault(text: str) -> BelowFault:
    read = parse_fault(text)
    assert isinstance(read, BelowFault)
    return read


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def oci(tmp_path: Path) -> OciWrapper:
    return OciWrapper(tmp_path / "oci", program(tmp_path / "runc", ECHO))


@pytest.fixture
def cni(tmp_path: Path) -> CniWrapper:
    for name in ("bridge", "portmap"):
        program(tmp_path / "plugins" / name, PLUGIN)
    return CniWrapper(tmp_path / "cni", tmp_path / "plugins")


def run(path: Path, *arguments: str, command: str = "") -> str:
    return subprocess.run(
        [path, *arguments],
        check=True,
        text=True,
        capture_output=True,
        input=json.dumps(CONFIG) + "\n",
        env={"CNI_COMMAND": command},
    ).stdout.strip()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("oci.kil: swallow", "'kil' cannot be swallowed (did you mean kill?)"),
        ("oci.state: swallow", "'state' cannot be swallowed"),
        ("cni.ADD: swallow", "there are: DEL"),
        ("oci.kill: swallow TREM", "no signal is called 'TREM'"),
        ("oci.kill: instead KILL", "'instead TERM KILL'"),
        ("oci.update: swallow KILL", "a kill also for one signal"),
        ("oci.kill: delay 2s", "a command can be swallowed"),
        ("oci.kill: swallow when nth=2", "take no conditions"),
        ("cni-result.ips: reverse", "nothing that is done to an OCI document is called"),
        ("cni-result: clear", "a path is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FaultError, match=re.escape(complaint)):
        parse_fault(text)


def test_a_signal_is_known_in_every_form() -> None:
    assert fault("oci.kill: instead KILL TERM") == CommandFault(
        "oci.kill: instead KILL TERM", "oci", "kill", ("KILL", "SIGKILL", "9"), "15"
    )


@pytest.mark.parametrize(
    ("text", "signal", "done"),
    [
        ("oci.kill: swallow", "15", ""),
        ("oci.kill: swallow TERM", "SIGTERM", ""),
        ("oci.kill: swallow TERM", "KILL", "kill abc KILL"),
        ("oci.kill: instead KILL TERM", "9", "kill abc 15"),
    ],
)
def test_a_command_is_disturbed_and_counted(oci: OciWrapper, text: str, signal: str, done: str) -> None:
    faults = FaultsBelow(oci)
    faults.set((fault(text),))

    assert run(oci.path, "kill", "abc", signal) == done
    assert faults.hits() == (done != f"kill abc {signal}")
    with faults.honest():
        assert run(oci.path, "kill", "abc", signal) == f"kill abc {signal}"


def test_what_a_test_plans_itself_stays_where_no_fault_is_set(oci: OciWrapper) -> None:
    faults = FaultsBelow(oci)
    oci.plan({"start": [SkipCommand()]})

    faults.set(())

    assert run(oci.path, "start", "abc") == ""


def test_configurations_and_results_of_plugins_are_changed_and_counted(cni: CniWrapper) -> None:
    faults = FaultsBelow(cni)
    faults.set(
        tuple(
            map(
                fault,
                (
                    "cni-result.ips: keep-first",
                    "cni-config.runtimeConfig.portMappings[].hostPort: add 1",
                    "cni.bridge/DEL: swallow",
                ),
            )
        )
    )

    bridge, portmap = (json.loads(run(cni.plugins / name, command="ADD")) for name in ("bridge", "portmap"))
    run(cni.plugins / "bridge", command="DEL")

    assert bridge == {"ips": [{"address": "10.0.0.1/20"}], "told": CONFIG}
    assert [each["hostPort"] for each in portmap["told"]["runtimeConfig"]["portMappings"]] == [2, 6]
    assert len(portmap["ips"]) == 2
    assert faults.hits() == 3


def test_a_proxy_sets_each_fault_in_its_wrapper(oci: OciWrapper, cni: CniWrapper) -> None:
    proxy = FaultProxy("unix:///nowhere", oci_wrapper=oci, cni_wrapper=cni)
    proxy.faults = ("oci.update: swallow", "cni.DEL: swallow")

    assert run(oci.path, "update", "abc") == ""
    with proxy.honest():
        run(cni.plugins / "portmap", command="DEL")
        assert run(oci.path, "update", "abc") == "update abc"
    assert proxy.hits == {"oci.update: swallow": 1, "cni.DEL: swallow": 0}
    run(cni.plugins / "portmap", command="DEL")
    assert proxy.hits == {"oci.update: swallow": 1, "cni.DEL: swallow": 1}
    proxy.faults = ()
    assert run(oci.path, "update", "abc") == "update abc"


def test_they_are_faults_of_the_sweep_with_what_they_break() -> None:
    known = catalogue.load()

    assert {entry.id for entry in load(COMMAND_FAULTS).entries} == set(BELOW)
    for name, one in BELOW.items():
        assert one.kind == name.partition("-")[0], name
        for read in one.faults:
            assert isinstance(read, CommandFault | NetworkFault)
            assert is_of_the_network(read) == (one.kind == "network"), name
        assert all(known.select([broken]) for broken in one.breaks), name


@pytest.mark.parametrize(
    ("name", "reach"),
    [
        ("command-kill-is-swallowed", "StopContainer.response"),
        ("command-update-is-swallowed", "UpdateContainerResources.response"),
        ("command-resume-is-swallowed", "CheckpointContainer.response"),
        ("command-pause-is-swallowed", "CheckpointPod.response"),
        ("network-address-is-another", "PodSandboxStatus.response.status.network.ip"),
        ("network-addresses-are-lost", "RunPodSandbox.response"),
        ("network-port-mappings-are-lost", "RunPodSandbox.request.config.port_mappings"),
        ("network-del-of-ports-is-lost", "StopPodSandbox.response"),
    ],
)
def test_only_a_test_that_calls_for_a_command_is_tried(name: str, reach: str) -> None:
    assert str(BELOW[name].reach) == reach
