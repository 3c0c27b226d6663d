"""Which things of this machine are recognised as traces of a removed sandbox or container."""

import base64
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.node.cleanup import object_leftovers
from critests.node.cleanup.object_leftovers import ObjectNames, Places, Trace, TraceKind, traces_of
from critests.node.host.mounting import mount, unmount
from tests.node.waiting_process import waiting_process


@pytest.fixture
def object_id() -> str:
    return secrets.token_hex(32)


def kinds(traces: list[Trace]) -> list[TraceKind]:
    return [trace.kind for trace in traces]


def test_nothing_is_found_of_an_object_without_traces(object_id: str, tmp_path: Path) -> None:
    assert traces_of([ObjectNames(object_id)], Places((tmp_path,))) == []


def test_files_are_found_by_name(object_id: str, tmp_path: Path) -> None:
    exit_file = tmp_path / "exits" / object_id
    exit_file.parent.mkdir()
    exit_file.write_text("0")

    assert traces_of([ObjectNames(object_id)], Places((tmp_path,))) == [
        Trace(TraceKind.FILE, str(exit_file), object_id)
    ]


def test_dangling_links_are_found(object_id: str, tmp_path: Path) -> None:
    (tmp_path / object_id).symlink_to("/nonexistent")

    assert kinds(traces_of([ObjectNames(object_id)], Places((tmp_path,)))) == [TraceKind.FILE]


@pytest.mark.parametrize("folder", ["snapshots", "rootfs"])
def test_contents_of_images_and_root_file_systems_are_not_looked_at(
    object_id: str, tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder / object_id).mkdir(parents=True)

    assert traces_of([ObjectNames(object_id)], Places((tmp_path,))) == []


def test_processes_are_found_by_their_command_line(object_id: str) -> None:
    with waiting_process("shim", object_id) as shim:
        (trace,) = traces_of([ObjectNames(object_id)], Places())

    assert trace.kind is TraceKind.PROCESS
    assert trace.thing.startswith(f"{shim.pid} (")


@pytest.fixture
def mounted(object_id: str, tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("makes a mount")
    point = tmp_path / object_id
    point.mkdir()
    mount(point, kind="tmpfs")
    yield point
    unmount(point)


def test_mounts_are_found_and_not_looked_into(object_id: str, mounted: Path) -> None:
    (mounted / object_id).touch()

    assert traces_of([ObjectNames(object_id)], Places((mounted.parent,))) == [
        Trace(TraceKind.MOUNT, str(mounted), object_id)
    ]


def test_pinned_namespaces_are_found_by_the_name_of_the_pin(mounted: Path) -> None:
    names = ObjectNames("sandbox", pins=frozenset({mounted.name}))

    assert traces_of([names], Places()) == [Trace(TraceKind.NAMESPACE, str(mounted), "sandbox")]


def test_cgroups_are_found_at_any_depth(object_id: str, tmp_path: Path) -> None:
    scope = tmp_path / "kubepods.slice" / "pod.slice" / f"crio-{object_id}.scope"
    scope.mkdir(parents=True)
    (tmp_path / "other").mkdir()

    assert traces_of([ObjectNames(object_id)], Places(cgroups=(tmp_path,))) == [
        Trace(TraceKind.CGROUP, str(scope), object_id)
    ]


def test_of_the_pods_of_runs_only_the_cgroup_of_the_own_one_is_looked_at(
    object_id: str, tmp_path: Path
) -> None:
    for pod in ("own", "other"):
        (tmp_path / "critests" / "run" / pod / object_id).mkdir(parents=True)

    found = traces_of([ObjectNames(object_id, pod_cgroup="/critests/run/own")], Places(cgroups=(tmp_path,)))
    everywhere = traces_of([ObjectNames(object_id)], Places(cgroups=(tmp_path,)))

    assert [trace.thing for trace in found] == [f"{tmp_path}/critests/run/own/{object_id}"]
    assert len(everywhere) == 2


def test_units_are_found(object_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_leftovers, "UNITS", tmp_path)
    (tmp_path / f"cri-containerd-{object_id}.scope").touch()

    assert kinds(traces_of([ObjectNames(object_id)], Places())) == [TraceKind.UNIT]


@pytest.mark.parametrize(("program", "found"), [("containerd-shim-x-v1", True), ("tail", False)])
def test_open_files_of_shims_and_monitors_are_found(
    object_id: str, tmp_path: Path, program: str, *, found: bool
) -> None:
    log = tmp_path / f"{object_id}.log"
    with log.open("w") as file, waiting_process(program, stdout=file):
        by_name = kinds(traces_of([ObjectNames(object_id)], Places()))
        by_log = kinds(traces_of([ObjectNames("container", log=str(log))], Places()))

    assert by_name == by_log == [TraceKind.OPEN_FILE] * found


def test_network_of_a_sandbox_is_known_by_the_result_of_its_plugins(
    object_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_leftovers, "CNI_RESULTS", tmp_path)
    monkeypatch.setattr(object_leftovers, "_has_peer", lambda link: link == "veth1")
    ipam = {"type": "host-local", "dataDir": f"{tmp_path}/leases"}
    result = {
        "config": base64.b64encode(json.dumps({"plugins": [{"ipam": ipam}]}).encode()).decode(),
        "networkName": "pods",
        "result": {
            "interfaces": [
                {"name": "bridge0"},
                {"name": "veth1"},
                {"name": "eth0", "sandbox": "/run/netns/cni-1"},
            ]
        },
    }
    (tmp_path / f"pods-{object_id}-eth0").write_text(json.dumps(result))
    (tmp_path / f"pods-{secrets.token_hex(32)}-eth0").write_text("{}")
    (tmp_path / f"broken-{object_id}-eth0").write_text("[")

    assert ObjectNames.of_sandbox(object_id) == ObjectNames(
        object_id, frozenset({"cni-1"}), frozenset({"veth1"}), frozenset({tmp_path / "leases/pods"})
    )


def test_leases_are_found_by_their_content(object_id: str, tmp_path: Path) -> None:
    (tmp_path / "10.0.0.2").write_text(f"{object_id}\r\neth0")
    (tmp_path / "10.0.0.3").write_text("another\r\neth0")
    names = ObjectNames(object_id, leases=frozenset({tmp_path, tmp_path / "missing"}))

    assert traces_of([names], Places()) == [Trace(TraceKind.ADDRESS, f"{tmp_path}/10.0.0.2", object_id)]


def test_interfaces_are_found(object_id: str) -> None:
    names = ObjectNames(object_id, links=frozenset({"lo", "missing0"}))

    assert traces_of([names], Places()) == [Trace(TraceKind.LINK, "lo", object_id)]


def test_rules_are_found_for_pods_with_host_ports(object_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_leftovers, "nat_rules", lambda: [f'-A X --comment "id: {object_id}"', "-A Y"])

    assert kinds(traces_of([ObjectNames(object_id, host_ports=True)], Places())) == [TraceKind.RULE]
    assert traces_of([ObjectNames(object_id)], Places()) == []


def test_shape_is_the_same_for_equal_things_of_different_objects() -> None:
    one, other = (
        [
            Trace(TraceKind.PROCESS, f"{number} (/usr/bin/shim -id {id_})", id_),
            Trace(TraceKind.CGROUP, f"/sys/fs/cgroup/memory/{number}/crio-{id_}", id_),
            Trace(
                TraceKind.FILE, f"/run/critests/1795865534-a44fc{number}/node/crio-b7fc6{number}/x/{id_}", id_
            ),
        ]
        for number, id_ in ((1, "0" * 64), (2, "f" * 64))
    )

    assert [trace.shape for trace in one] == [trace.shape for trace in other]
    assert len({trace.shape for trace in one}) == 3
