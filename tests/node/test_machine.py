import hashlib
import json
import os
import platform
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from critests.node.cgroups.cgroup_mounts import cgroup_facts
from critests.node.host.listeners import binary_of_process, pid_of_socket
from critests.node.host.mount_table import mount_of
from critests.node.host.privileges import process_capabilities
from critests.node.observing import kubelet
from critests.node.observing.kubelet import endpoint_of, live_kubelet
from critests.node.observing.machine_facts import fingerprint
from tests.node.machine_snapshot import MachineChange, MachineSnapshot, difference, mentioning

ENDPOINT = "unix:///run/containerd/containerd.sock"
OURS = {"io.kubernetes.pod.uid": "1", "critests.run": "1-abc"}
THEIRS = {
    "io.kubernetes.pod.uid": "2",
    "io.kubernetes.pod.namespace": "kube-system",
    "io.kubernetes.pod.name": "dns",
}


def test_the_fingerprint_is_json_and_does_not_name_the_machine() -> None:
    text = json.dumps(fingerprint())
    facts = json.loads(text)
    assert facts["architecture"] == platform.machine()
    assert facts["memory_bytes"] > 1 << 20
    assert facts["cgroup"]["version"] == cgroup_facts().version
    assert facts["cpu"]["count"] >= facts["cpu"]["usable"] >= 1
    name = socket.gethostname()
    assert f'"{name}"' not in text


def test_capabilities_of_a_process_are_read() -> None:
    assert process_capabilities(os.getpid()) == process_capabilities()
    assert process_capabilities().effective <= process_capabilities().permitted
    with pytest.raises(ProcessLookupError):
        process_capabilities(2**22 + 1)


def test_the_binary_behind_a_socket_is_found(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        pid = pid_of_socket(tmp_path / "s")
    executable = Path(sys.executable).resolve()
    assert pid == os.getpid()
    listener = binary_of_process(pid)
    assert Path(listener.binary) == executable
    assert listener.sha256 == hashlib.sha256(executable.read_bytes()).hexdigest()
    assert listener.version == f"Python {platform.python_version()}"


def test_missing_socket_is_an_error_and_missing_process_is_unknown(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError):
        pid_of_socket(tmp_path / "none")
    assert binary_of_process(2**22 + 1).binary == ""


def proc_with(directory: Path, processes: Mapping[int, tuple[str, list[str]]]) -> Path:
    for pid, (name, arguments) in processes.items():
        (directory / str(pid)).mkdir(parents=True)
        (directory / str(pid) / "comm").write_text(f"{name}\n")
        (directory / str(pid) / "cmdline").write_text("\0".join([*arguments, ""]))
    directory.mkdir(exist_ok=True)
    return directory


@pytest.mark.parametrize(
    ("name", "arguments", "signs"),
    [
        ("kubelet", ["/usr/bin/kubelet"], 1),
        ("kubelet", ["/usr/bin/kubelet", "--container-runtime-endpoint=unix:///var/run/crio/crio.sock"], 0),
        ("kubelet", ["kubelet", "--container-runtime-endpoint", "/run/containerd/containerd.sock"], 1),
        ("kubelet", ["kubelet", "--config", "/missing.yaml"], 1),
        ("k3s-server", ["/usr/local/bin/k3s", "server"], 0),
        ("kubelite", ["/snap/kubelite"], 1),
        ("python3", ["python3", "kubelet"], 0),
    ],
)
def test_kubelet_counts_if_it_uses_the_endpoint(
    tmp_path: Path, name: str, arguments: list[str], signs: int
) -> None:
    assert len(live_kubelet(ENDPOINT, [], proc=proc_with(tmp_path / "proc", {7: (name, arguments)}))) == signs


def test_the_kubelets_configuration_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/kubelet.yaml").write_text("containerRuntimeEndpoint: unix:///run/crio/crio.sock\n")
    assert (
        endpoint_of(["kubelet", "--config=/etc/kubelet.yaml"], proc_root=tmp_path)
        == "unix:///run/crio/crio.sock"
    )
    (tmp_path / "etc/kubelet.yaml").write_text("kind: KubeletConfiguration\n")
    assert (
        endpoint_of(["kubelet", "--config=/etc/kubelet.yaml"], proc_root=tmp_path) == kubelet.DEFAULT_ENDPOINT
    )


def test_pods_with_the_suites_label_are_no_sign_of_a_kubelet(tmp_path: Path) -> None:
    proc = proc_with(tmp_path / "proc", {})
    assert live_kubelet(ENDPOINT, [OURS, {"app": "x"}], proc=proc) == []
    (sign,) = live_kubelet(ENDPOINT, [OURS, THEIRS, THEIRS], proc=proc)
    assert (
        sign.evidence
        == "the runtime has pods with the kubelet's labels that are not ours: kube-system/dns and 1 more"
    )


def test_difference_lists_added_and_removed_things() -> None:
    before = MachineSnapshot({"mount": frozenset({"/a", "/b"}), "cgroup": frozenset()})
    after = MachineSnapshot({"mount": frozenset({"/a"}), "cgroup": frozenset({"/k8s.io"})})
    changes = difference(before, after)
    assert [str(change) for change in changes] == ["gone: mount /b", "left behind: cgroup /k8s.io"]
    assert mentioning(changes, ["k8s"]) == [MachineChange("cgroup", "/k8s.io", appeared=True)]


def test_mount_of_a_path_is_the_last_of_the_deepest_mounts_above_it(tmp_path: Path) -> None:
    """Mounts elsewhere, which another runtime may unmount while the table is read, do not matter."""
    table = [
        ("/", "/", "rw - ext4 /dev/vda rw"),
        ("/", str(tmp_path), "rw - overlay overlay rw"),
        ("/", str(tmp_path), "rw,nodev - tmpfs tmpfs rw"),
        ("/", f"{tmp_path}-of-another/rootfs", "rw - overlay overlay rw"),
    ]

    assert mount_of(tmp_path / "is" / "not" / "there", table) == (str(tmp_path), "rw,nodev - tmpfs tmpfs rw")
    assert mount_of(tmp_path.parent, table) == ("/", "rw - ext4 /dev/vda rw")
    assert mount_of(tmp_path, []) == ("", "")
