"""Changes to what an OCI runtime reads, and the faults that are derived from its specification."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from critests_proof.language import oci_document
from critests_proof.language.faults import FaultError, OciFault, parse_fault
from critests_proof.language.oci_document import OciChange
from critests_proof.matrix import load
from critests_proof.oci_faults import OCI_FAULTS, faults_below
from critests_proof.proxy import oci_proxy
from critests_proof.proxy.oci_proxy import FaultsBelow

from critests import catalogue
from critests.node.wrappers.stand_in import OciWrapper
from critests.run.collected_tests import SUITE

BUNDLE: dict[str, Any] = {
    "process": {"user": {"uid": 0}, "capabilities": {"bounding": ["CAP_A", "CAP_B"]}},
    "mounts": [{"destination": "/proc"}, {"destination": "/x", "options": ["ro", "bind"]}],
    "linux": {
        "sysctl": {"net.a": "1", "net.b": "2"},
        "resources": {"devices": [{"allow": False, "access": "rwm"}, {"allow": True, "access": "r"}]},
    },
    "annotations": {"io.kubernetes.cri.container-type": "container"},
}
SETS = ("process", "capabilities")
SHM = ("mounts", 1)
RULES = ("linux", "resources", "devices")


def change(text: str) -> OciChange:
    fault = parse_fault(text)
    assert isinstance(fault, OciFault)
    return fault.change


# whatever JSON holds
def at(document: Any, *keys: str | int) -> Any:  # noqa: ANN401 - see above
    for key in keys:
        document = document[key]
    return document


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("bundle.process.user.uid: set 7", ("process", "user", "uid"), 7),
        ("bundle.process.user.uid: add 2", ("process", "user", "uid"), 2),
        ("bundle.process.oomScoreAdj: set 9", ("process", "oomScoreAdj"), 9),
        ("bundle.linux.resources.memory.limit: set 5", ("linux", "resources", "memory"), {"limit": 5}),
        ("bundle.process.user: clear", ("process",), {"capabilities": BUNDLE["process"]["capabilities"]}),
        ('bundle.process.capabilities.bounding: drop "CAP_A"', (*SETS, "bounding"), ["CAP_B"]),
        ("bundle.process.capabilities.bounding: drop-all", (*SETS, "bounding"), []),
        ('bundle.process.capabilities.ambient: append "CAP_C"', (*SETS, "ambient"), ["CAP_C"]),
        ("bundle.mounts[destination=/x]: clear", ("mounts",), [{"destination": "/proc"}]),
        ('bundle.mounts[destination=/x].options: replace "ro" "rw"', (*SHM, "options"), ["rw", "bind"]),
        ('bundle.linux.sysctl["net.b"]: set "3"', ("linux", "sysctl"), {"net.a": "1", "net.b": "3"}),
        ('bundle.linux.resources.devices[allow=true].access: set "w"', (*RULES, 1, "access"), "w"),
        ('bundle.linux.resources.devices[].access: set "w"', (*RULES, 0, "access"), "w"),
    ],
)  # fmt: skip
def test_a_change(text: str, keys: tuple[str | int, ...], value: object) -> None:
    document = json.loads(json.dumps(BUNDLE))
    assert OciChange.from_json(json.loads(json.dumps(change(text).to_json()))).apply(document)
    assert at(document, *keys) == value


@pytest.mark.parametrize(
    "text",
    [
        "bundle.hostname: clear",
        "bundle.process.user.uid: set 0",
        "bundle.mounts[destination=/sys]: clear",
        "bundle.process.rlimits.soft: add 1",
        "sandbox-bundle.process.user.uid: set 7",
        "bundle.linux.devices[].minor: set 7",
        "bundle.linux.devices[]: set 7",
    ],
)
def test_a_change_that_finds_nothing_to_do(text: str) -> None:
    document = json.loads(json.dumps(BUNDLE))
    assert not change(text).apply(document)
    assert document == BUNDLE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bundle.process.cwd: lose", "nothing that is done to an OCI document is called 'lose'"),
        ("bundle.process.cwd: set", "set takes 1 values, not 0"),
        ("bundle.process.cwd: set /tmp", "is not JSON"),
        ('bundle.process.user.uid: add "a"', "add takes a number"),
        ("bundle.mounts[]: drop-all", "elements of a list can be cleared and set"),
        ("bundle: clear", "a path is missing"),
        ("bundle.process cwd: clear", "is no path"),
        ("exec.cwd: clear when nth=2", "take no conditions"),
    ],
)
def test_a_change_that_makes_no_sense(text: str, says: str) -> None:
    with pytest.raises(FaultError, match=says):
        parse_fault(text)


def test_the_program_says_whether_it_changed_something(tmp_path: Path) -> None:
    bundle, changes = tmp_path / "config.json", tmp_path / "changes"
    bundle.write_text(json.dumps(BUNDLE), encoding="utf-8")
    changes.write_text(json.dumps([change("bundle.process.user.uid: set 7").to_json()]), encoding="utf-8")
    command = [sys.executable, "-I", "-S", oci_document.__file__, str(changes), str(bundle)]
    assert subprocess.run(command, check=False).returncode == 0
    assert json.loads(bundle.read_bytes())["process"]["user"]["uid"] == 7
    assert subprocess.run(command, check=False).returncode == 1


def test_faults_are_set_in_the_wrapper_and_counted(tmp_path: Path) -> None:
    real = tmp_path / "runc"
    real.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    real.chmod(0o755)
    bundle = tmp_path / "config.json"
    wrapper = OciWrapper(tmp_path / "wrapped", real)
    faults = FaultsBelow(wrapper)

    def create() -> int:
        bundle.write_text(json.dumps(BUNDLE), encoding="utf-8")
        subprocess.run([wrapper.path, "create", "--bundle", tmp_path, "abc"], check=True)
        return int(json.loads(bundle.read_bytes())["process"]["user"]["uid"])

    fault = parse_fault("bundle.process.user.uid: set 7")
    assert isinstance(fault, OciFault)
    faults.set((fault,))
    assert (create(), faults.hits()) == (7, 1)
    with faults.honest():
        assert create() == 0
    assert faults.hits() == 1
    faults.set(())
    assert (create(), faults.hits()) == (0, 0)


def test_faults_in_what_an_update_hands_over_concern_who_updates() -> None:
    fault = parse_fault("update.cpu.quota: add 10000")
    assert isinstance(fault, OciFault)
    document: dict[str, Any] = {"cpu": {"quota": 50_000}}

    assert (fault.operation, fault.change.apply(document)) == ("update", True)

    assert document == {"cpu": {"quota": 60_000}}
    reached = {fault.id: str(fault.reach) for fault in faults_below()}
    assert reached["oci-update-cpu-quota-is-lost"] == "UpdateContainerResources.response"


def test_the_derived_faults_break_what_the_catalogue_has() -> None:
    known = catalogue.load()
    faults = load(OCI_FAULTS)
    assert len(faults.entries) >= 150
    for entry in faults.entries:
        assert entry.breaks
        assert known.select(entry.breaks), entry.where


def test_cgroups_that_faults_have_moved_containers_to_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu" / oci_proxy.ELSEWHERE / "c").mkdir(parents=True)
    (tmp_path / "cpu" / "of-others").mkdir()
    monkeypatch.setattr(oci_proxy, "cgroup_hierarchies", lambda: [tmp_path / "cpu", tmp_path / "memory"])

    oci_proxy.remove_elsewhere()

    assert [path.name for path in (tmp_path / "cpu").iterdir()] == ["of-others"]


def test_faults_move_containers_only_to_where_they_are_removed() -> None:
    files = [*Path(oci_proxy.__file__).parent.glob("*.toml"), *SUITE.rglob("*.toml")]

    moved = [line for file in files for line in file.read_text("utf-8").splitlines() if "cgroupsPath" in line]

    assert moved
    assert [line for line in moved if f'"/{oci_proxy.ELSEWHERE}/' not in line] == []
