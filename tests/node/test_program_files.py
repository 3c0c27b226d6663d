"""Path, version and digest of the programs that a runtime consists of."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from critests.node.host.program_files import describe_daemon, describe_files
from critests.node.observing.machine_facts import program_versions
from critests.record.identity import ProgramFile
from tests.programs import program


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_each_file_has_its_role_path_version_and_digest(tmp_path: Path) -> None:
    runc = program(tmp_path / "runc", "echo runc version 1.3.6")
    pinns = program(tmp_path / "pinns", "exit 1")

    assert describe_files([("OCI runtime", runc), ("helper", pinns)]) == [
        ProgramFile(role="OCI runtime", path=str(runc), version="runc version 1.3.6", sha256=digest(runc)),
        ProgramFile(role="helper", path=str(pinns), version="", sha256=digest(pinns)),
    ]


def test_missing_file_has_neither_version_nor_digest(tmp_path: Path) -> None:
    (found,) = describe_files([("CNI plugin", tmp_path / "bridge")])

    assert (found.version, found.sha256) == ("", "")


def test_the_executable_of_a_running_daemon_is_described() -> None:
    (found,) = describe_daemon(os.getpid())

    executable = Path(sys.executable).resolve()
    assert (found.role, found.path, found.sha256) == ("daemon", str(executable), digest(executable))


def test_daemon_without_a_visible_process_has_no_files() -> None:
    assert describe_daemon(None) == []
    assert describe_daemon(2**22 + 1) == []


def test_the_runtimes_own_programs_replace_those_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "path/runc", "echo runc version 1.1.5")
    own = program(tmp_path / "own/runc", "echo runc version 1.3.6")
    monitor = program(tmp_path / "own/conmon", "echo conmon version 2.1.13")
    plugin = program(tmp_path / "own/bridge", "echo CNI bridge plugin v1.9.0")
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=os.pathsep)

    found = program_versions([own, monitor, plugin])

    assert found["runc"] == "runc version 1.3.6"
    assert found["conmon"] == "conmon version 2.1.13"
    assert found["cni-bridge"] == "CNI bridge plugin v1.9.0"
