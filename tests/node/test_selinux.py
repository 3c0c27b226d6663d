"""Labels come from the policy; the tests need no SELinux in the kernel."""

import os
from pathlib import Path

import pytest

from critests.node.run_state import run_directories
from critests.node.starting import selinux
from critests.node.starting.selinux import label_directories, label_like
from tests.node.footprints import footprint_in
from tests.programs import program


@pytest.fixture
def labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The labels that were set, by directory; the policy has labels for two paths."""
    recorded: dict[str, bytes] = {}
    policy = program(
        tmp_path / "bin/matchpathcon",
        "case $2 in\n"
        "/run/runtime) echo system_u:object_r:runtime_run_t:s0;;\n"
        "/run) echo system_u:object_r:var_run_t:s0;;\n"
        "*) echo '<<none>>';;\nesac",
    )
    monkeypatch.setenv("PATH", f"{policy.parent}:{os.environ['PATH']}")

    def record(path: Path, name: str, value: bytes) -> None:
        assert name == "security.selinux"
        recorded[str(path)] = value

    monkeypatch.setattr(os, "setxattr", record)
    return recorded


def test_directory_gets_the_label_of_its_well_known_path(labels: dict[str, bytes], tmp_path: Path) -> None:
    label_like(tmp_path, "/run/runtime")

    assert labels == {str(tmp_path): b"system_u:object_r:runtime_run_t:s0\0"}


@pytest.mark.parametrize("twin", ["", "/run/nobody"])
def test_no_label_is_set_without_one_in_the_policy(
    twin: str, labels: dict[str, bytes], tmp_path: Path
) -> None:
    label_like(tmp_path, twin)

    assert labels == {}


@pytest.mark.parametrize("mode", ["enforcing", "permissive", ""])
def test_directories_of_a_runtime_are_labelled_if_selinux_is_enabled(
    mode: str, labels: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selinux, "selinux_mode", lambda: mode)
    runs = tmp_path / "runs"
    monkeypatch.setattr(run_directories, "RUNS", runs)
    state, root = runs / "1-abc/node/containerd-a1b2c3", tmp_path / "root"
    footprint = footprint_in(tmp_path, state=state)

    label_directories(footprint, ("/run/runtime", "/run/runtime"))

    own = {str(state), str(root), str(footprint.sockets)}
    above = {str(runs), str(runs / "1-abc"), str(runs / "1-abc/node"), str(footprint.sockets.parent)}
    assert {path for path, label in labels.items() if b"runtime_run_t" in label} == (own if mode else set())
    assert {path for path, label in labels.items() if b"var_run_t" in label} == (above if mode else set())
