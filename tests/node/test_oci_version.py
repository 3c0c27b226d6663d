"""The probe for a version of the OCI specification runs the OCI runtime with a bundle of that version."""

import json
from pathlib import Path

import pytest

from critests.node.observing.oci_version import OciRuntimes, refusal, unfit_handlers
from tests.criserver import CriServer
from tests.criserver.connected import connected, requests_in
from tests.programs import program

CGROUP = "critests-unit"
OPTIONS = """#!/bin/sh
echo "$*" >>"$0.called"
while [ $# -gt 0 ]; do
    case $1 in
    --log) log=$2 ;;
    --bundle) version=$(sed -n 's/.*"ociVersion": "\\([^"]*\\)".*/\\1/p' "$2/config.json")
        cgroup=$(sed -n 's/.*"cgroupsPath": "\\([^"]*\\)".*/\\1/p' "$2/config.json") ;;
    esac
    shift
done
"""
CHECKS = """case $version in
1.0.* | 1.1.*) words='no receiver of the terminal' ;;
*) words='unknown version' ;;
esac
"""
LOGS = """printf '{"level":"error","time":"%s","msg":"%s"}\\n' "$(date +%N)" "$words" >>"$log"
exit 1
"""


def crun(folder: Path, script: str) -> Path:
    return program(folder / "crun", OPTIONS + script)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (CHECKS + LOGS, "unknown version"),
        (CHECKS + 'echo "$words" >&2; exit 1', "unknown version"),
        ("words='no root file system'\n" + LOGS, ""),
        ('words="version $version without a root file system"\n' + LOGS, ""),
        ('words="failed at $(date +%N)"\n' + LOGS, ""),
        ("exit 0", ""),
        ("exit 3", ""),
    ],
    ids=[
        "logs that it is unknown",
        "prints that it is unknown",
        "fails with every version",
        "names it in every error",
        "never fails the same way",
        "creates a container",
        "prints no error",
    ],
)
def test_version_is_rejected_if_another_version_gets_another_error(
    tmp_path: Path, script: str, words: str
) -> None:
    assert refusal(crun(tmp_path, script), "1.2.1", CGROUP) == words


def test_known_version_is_accepted(tmp_path: Path) -> None:
    assert refusal(crun(tmp_path, CHECKS + LOGS), "1.1.0", CGROUP) == ""


def test_probe_container_is_below_the_cgroup_of_the_runtime(tmp_path: Path) -> None:
    script = CHECKS.replace("'unknown version'", '"unknown in $cgroup"') + LOGS

    assert refusal(crun(tmp_path, script), "1.2.1", CGROUP) == "unknown in /critests-unit/critests-version"


def test_missing_program_rejects_nothing(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere", "1.2.1", CGROUP) == ""


def test_created_probe_container_is_deleted(tmp_path: Path) -> None:
    path = crun(tmp_path, "exit 0")

    refusal(path, "1.2.1", CGROUP)

    called = [line.split()[-2:] for line in path.with_name("crun.called").read_text().splitlines()]
    assert called[1::2] == [["--force", "critests-asks"]] * 2


@pytest.mark.parametrize("place", ["config.json", "userdata/config.json"])
def test_written_version_is_read_from_the_daemons_bundle(tmp_path: Path, place: str) -> None:
    file = tmp_path / "bundles" / "abc" / place
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"ociVersion": "1.2.1"}), encoding="utf-8")

    runtimes = OciRuntimes(bundles=[tmp_path / "nowhere", tmp_path / "bundles"])

    assert runtimes.written_version("abc") == "1.2.1"
    assert runtimes.written_version("def") == ""


@pytest.mark.parametrize(
    ("written", "unfit"), [("1.2.1", ["crun"]), ("1.1.0", []), ("", [])], ids=["unknown", "known", "unseen"]
)
def test_handler_is_unfit_if_its_program_does_not_know_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, unfit: list[str]
) -> None:
    monkeypatch.setattr(OciRuntimes, "written_version", lambda *_: written)
    runtimes = OciRuntimes({"crun": crun(tmp_path, CHECKS + LOGS)})
    server = CriServer()
    with connected(server) as connection:
        found = unfit_handlers(connection, requests_in(tmp_path), runtimes, lambda: None)
        left = unfit_handlers(connection, requests_in(tmp_path), None, lambda: None)

    assert list(found) == unfit
    assert left == {}
    for reason in found.values():
        assert "crun refuses version 1.2.1 of the OCI runtime specification" in reason
        assert "needs a newer crun (from 1.14.3 on" in reason
    assert server.calls == ["RunPodSandbox", "StopPodSandbox", "RemovePodSandbox"]


def test_handler_is_unfit_if_its_shim_starts_no_container(tmp_path: Path) -> None:
    shim = Path("/opt/gvisor/containerd-shim-runsc-v1")
    runtimes = OciRuntimes(shims={"gvisor": shim, "": shim})
    with connected(CriServer()) as connection:
        found = unfit_handlers(connection, requests_in(tmp_path), runtimes, lambda: None)

    assert list(found) == ["gvisor"]
    assert f"no container starts with {shim}: RunPodSandbox failed with" in found["gvisor"]


def test_left_out_handlers_are_unfit(tmp_path: Path) -> None:
    """CRI-O finds some OCI runtimes by itself."""
    runtimes = OciRuntimes({"crun": crun(tmp_path, CHECKS + LOGS)}, {"crun": "no cgroup", "other": "gone"})

    assert runtimes.unfit("unseen") == {"crun": "no cgroup", "other": "gone"}

    file = tmp_path / "bundles" / "abc" / "config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"ociVersion": "1.2.1"}', encoding="utf-8")
    found = OciRuntimes(runtimes.programs, runtimes.left_out, [tmp_path / "bundles"]).unfit("abc")
    assert "refuses version 1.2.1" in found["crun"]
    assert found["other"] == "gone"
