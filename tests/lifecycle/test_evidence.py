"""Evidence of a process, read from a shell of this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from critests.lifecycle import process_evidence as evidence_of_processes
from critests.lifecycle.process_evidence import (
    COMPLETE,
    CommandOutput,
    NotShown,
    ProcessEvidence,
    first_process,
    of_process,
    script,
)


def shown(**questions: str) -> ProcessEvidence:
    printed = subprocess.run(
        ["/bin/sh", "-c", script(questions)], capture_output=True, text=True, check=True
    ).stdout
    assert printed.endswith(f"{COMPLETE}\n")
    return ProcessEvidence.parse(printed.splitlines())


def test_a_shell_prints_what_the_kernel_reports_about_it() -> None:
    evidence = shown()

    assert evidence.status.uids[0] == os.getuid()
    assert evidence.namespaces["mnt"].startswith("mnt:[")
    assert -1000 <= evidence.oom_score_adj <= 1000
    assert evidence.uid_map[0][0] == 0
    assert evidence.cgroups
    assert evidence.mounts[-1].place.startswith("/")
    assert len(evidence.limits["Max open files"]) == 2


@pytest.mark.parametrize(
    ("label", "confined"),
    [
        ("", False),
        ("unconfined", False),
        ("runc (unconfined)", False),
        ("cri-containerd.apparmor.d (enforce)", True),
        ("critests (complain)", True),
        ("system_u:system_r:container_t:s0:c1,c2", False),
    ],
)
def test_profiles_that_confine_nothing_count_as_none(label: str, confined: bool) -> None:
    evidence = ProcessEvidence({"attr/current": CommandOutput(f"{label}\n", 0)})

    assert evidence.has_apparmor_profile is confined


def test_output_is_complete_with_its_exit_codes() -> None:
    evidence = shown(
        nothing="true", unended="printf 'no newline'", blank="echo one; echo", fails="echo why >&2; exit 3"
    )

    assert (evidence.answer("nothing"), evidence.answer("unended")) == ("", "no newline")
    assert evidence.answers["blank"].lines == ["one"]
    assert (evidence.exit_code("fails"), evidence.answers["fails"].text) == (3, "why")
    with pytest.raises(NotShown, match="cannot show fails: why"):
        evidence.answer("fails")


def test_the_error_names_the_missing_part() -> None:
    with pytest.raises(NotShown, match="did not show status; it showed nothing"):
        _ = ProcessEvidence.parse(["cut off"]).status


def test_lines_of_a_terminal_are_parsed() -> None:
    assert (
        ProcessEvidence.parse(["@critests asks a\r", "text\r", "\r", "@critests answered 0\r"]).answer("a")
        == "text"
    )


def test_process_of_the_host_has_the_same_evidence() -> None:
    evidence = of_process(os.getpid())

    assert evidence.status.uids[0] == os.getuid()
    assert evidence.namespaces["pid"] == str(Path("/proc/self/ns/pid").readlink())
    with pytest.raises(NotShown, match="cannot show status"):
        _ = of_process(2**31 - 1).status


def test_exited_child_is_not_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_of_processes, "host_processes", lambda _: {7: "sh mark", 8: "sh mark"})
    monkeypatch.setattr(evidence_of_processes, "stat_of", lambda pid: ["S", "1"] if pid == 7 else [])

    assert first_process("mark") == 7
