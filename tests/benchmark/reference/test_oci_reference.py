import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from critests.benchmark.reference.oci_reference import (
    CYCLE,
    STEPS,
    OciReference,
    OciReferenceFailed,
    measure_oci_runtime,
    remove_leftover_references,
)
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.host.binaries import search_path
from critests.node.host.mount_table import mount_table
from tests.programs import program

RUN = "1700000000-0c1bef"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def installed(name: str) -> Path:
    found = shutil.which(name, path=search_path())
    if found is None:
        pytest.skip(f"{name} is not installed")
    return Path(found)


def nothing_is_left(directory: Path) -> bool:
    cgroups = [hierarchy / "critests" / RUN for hierarchy in cgroup_hierarchies()]
    mounts = [point for _, point, _ in mount_table() if point.startswith(str(directory))]
    return (
        not any(path.exists() for path in cgroups)
        and not list(directory.glob("oci-reference*"))
        and not mounts
    )


@pytest.mark.runtime
@needs_root
@pytest.mark.parametrize("name", ["runc", "crun"])
def test_the_reference_is_measured_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    try:
        measured = measure_oci_runtime(installed(name), 3, tmp_path, RUN)
    except OciReferenceFailed as error:
        if "cgroup" not in str(error):
            raise
        pytest.skip(str(error))
    finally:
        assert nothing_is_left(tmp_path)
    assert list(measured) == [*STEPS, CYCLE]
    for step in STEPS:
        assert len(measured[step]) == 3
        assert all(0 < seconds < 10 for seconds in measured[step])
    assert measured[CYCLE][0] == pytest.approx(sum(measured[step][0] for step in STEPS))


@pytest.mark.runtime
@needs_root
def test_an_oci_runtime_that_reports_another_process_is_detected(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    lying = program(
        tmp_path / "fake-runtime", f'case "$*" in *--pid-file*) shift 8; echo {sleeper.pid} > "$3" ;; esac'
    )
    try:
        with OciReference(lying, tmp_path, RUN) as reference:
            reference.start_seconds = 0.05
            with pytest.raises(OciReferenceFailed, match="is sleep"):
                reference.cycle()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert nothing_is_left(tmp_path)


@pytest.mark.runtime
@needs_root
def test_the_leftovers_of_a_killed_run_are_found_by_its_id(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from critests.benchmark.reference.oci_reference import OciReference
with OciReference(Path({str(installed("runc"))!r}), Path({str(tmp_path)!r}), {RUN!r}) as reference:
    reference._check_running = lambda pid: (print(pid, flush=True), os.kill(os.getpid(), signal.SIGKILL))
    reference.cycle()
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Path(f"/proc/{int(killed.stdout)}").exists()
    assert remove_leftover_references(RUN) == []
    assert remove_leftover_references(RUN) == []
    shutil.rmtree(tmp_path / "oci-reference-runc")
    assert nothing_is_left(tmp_path)


@pytest.mark.runtime
@needs_root
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo it is not to be >&2; exit 3", "create ended with 3: it is not to be"),
        (
            'case "$*" in *--pid-file*) shift 8; echo 999999999 > "$3" ;; esac',
            "whose process 999999999 is not there",
        ),
        ("exit 0", "created a container and named no process"),
    ],
)
def test_the_error_names_the_step_and_the_output(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(OciReferenceFailed, match=message):
        measure_oci_runtime(program(tmp_path / "fake-runtime", body), 1, tmp_path, RUN)
    assert nothing_is_left(tmp_path)


@pytest.mark.runtime
@needs_root
def test_a_missing_oci_runtime_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OciReferenceFailed, match="cannot be run: No such file"):
        measure_oci_runtime(tmp_path / "runc", 1, tmp_path, RUN)
    assert nothing_is_left(tmp_path)


def test_the_reference_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(OciReferenceFailed, match="only be measured by root"):
        measure_oci_runtime(Path("/usr/sbin/runc"), 1, tmp_path, RUN)
