"""A small, fixed sample of the derived faults on a real containerd: one of every kind, all noticed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from critests_proof.derived import KINDS
from critests_proof.oci_faults import all_faults

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("containerd") is None, reason="needs root and a containerd"
    ),
]
FAULTS = (
    "StopContainer.request.timeout:ignored",
    "ContainerStatus.response.status.exit_code:wrong",
    "StopContainer:does-nothing",
    "StopContainer:hangs",
    "ListPodSandbox:filter-ignored",
    "GetContainerEvents.CONTAINER_STARTED_EVENT:twice",
    "Exec.stream:swap-channels",
    "log:swap-streams",
    "oci-directory-is-another-first",
    "command-update-is-swallowed",
    "network-address-is-another",
)
TESTS = (
    "test_stop_keeps_the_exit_code_of_a_process_that_handles_the_signal",
    "test_list_filters_sandboxes_by_labels",
    "test_every_client_gets_every_event",
    "test_exec_separates_stdout_and_stderr",
    "test_records_name_the_stream_they_came_from",
    "test_process_starts_in_its_working_directory",
    "test_update_of_cpu_limits_takes_effect",
    "test_pods_created_concurrently_have_unique_addresses",
)


@pytest.mark.nightly("a run for each kind of fault")
def test_a_fault_of_every_kind_is_noticed(tmp_path: Path) -> None:
    report = tmp_path / "audit.json"
    command = [sys.executable, "-m", "critests_proof", "sweep", "--cri-node=containerd"]
    command += [f"--cri-sweep-faults={fault}" for fault in FAULTS]
    command += [f"--cri-json={report}", "-k", " or ".join(TESTS), f"--cri-results={tmp_path}"]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd=tmp_path)

    outcomes = {fault["fault"]: fault["outcome"] for fault in json.loads(report.read_text())["faults"]}
    assert set(outcomes) == set(FAULTS), ended.stdout + ended.stderr
    # an old containerd has no GetContainerEvents
    event = outcomes.pop("GetContainerEvents.CONTAINER_STARTED_EVENT:twice")
    assert event in {"noticed", "not offered"}, ended.stdout
    assert set(outcomes.values()) == {"noticed"}, ended.stdout
    assert ended.returncode == 0, ended.stderr


def test_the_sample_has_every_kind() -> None:
    kinds = {fault.kind for fault in all_faults() if fault.id in FAULTS}
    assert kinds == set(KINDS)
