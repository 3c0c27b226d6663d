"""Which processes a removal takes for the runtime's, and how long it waits for what it has killed."""

import os
import subprocess
import time
from pathlib import Path
from typing import cast

import pytest

from critests.node.cleanup import leftovers
from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import ProcessIdentity

NOBODY = range(2**30, 2**30 + 10)
"""Numbers that no process has."""
SECONDS = 0.1


def killed(monkeypatch: pytest.MonkeyPatch, *, dying: bool) -> list[str]:
    """Kill processes of which one dies in half the time that is given, or none ever."""
    living = set(NOBODY)

    def our_processes(_traces: Footprint) -> set[int]:
        time.sleep(SECONDS / 2)
        if dying and living:
            living.pop()
        return set(living)

    monkeypatch.setattr(leftovers, "our_processes", our_processes)
    return leftovers.kill_processes(cast("Footprint", Path()), seconds=SECONDS)


def test_killed_processes_are_waited_for_as_long_as_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed(monkeypatch, dying=True) == []


def test_remaining_processes_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(killed(monkeypatch, dying=False)) == len(NOBODY)


@pytest.mark.parametrize(
    ("called", "binaries", "ours"),
    [
        ("runsc-sandbox", ("containerd", "containerd-shim-runsc-v1"), True),
        ("runsc-sandbox", ("containerd", "runc"), False),
        ("tail", ("containerd", "containerd-shim-runsc-v1"), False),
    ],
)
def test_what_a_shim_started_is_known_by_name_and_directory(
    tmp_path: Path, called: str, binaries: tuple[str, ...], ours: bool
) -> None:
    footprint = Footprint(
        *("containerd", "1-abc", "a1b2c3", tmp_path / "state", tmp_path / "root", ("10.0.0.0/20",)),
        ProcessIdentity.of(os.getpid()),
        binaries=binaries,
    )
    script = "read line; exit 0"
    with subprocess.Popen(
        [called, "-c", script, f"--root={footprint.state}/oci"],
        executable="/bin/sh",
        stdin=subprocess.PIPE,
        env={},
    ) as process:
        try:
            assert (process.pid in leftovers.our_processes(footprint)) is ours
        finally:
            process.kill()
