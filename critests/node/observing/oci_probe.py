"""Runs an OCI runtime with a bundle, without a daemon."""

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies

_ANSWER_SECONDS: Final = 10
NAME: Final = "critests-asks"
"""Of the container, and of its cgroup where the bundle names none."""


def refused_words(program: Path, document: Mapping[str, object], directory: Path) -> str:
    """Let an OCI runtime create a container, and return its last error line; empty if it succeeds. The
    container is deleted at once.

    Args:
        program: the OCI runtime.
        document: the bundle's configuration.
        directory: of the bundle and of the OCI runtime's state; the caller removes it.

    Raises:
        OSError: the program cannot be run.
        subprocess.TimeoutExpired: it did not exit.
    """
    log, said = directory / "log", directory / "said"
    log.unlink(missing_ok=True)
    (directory / "config.json").write_text(json.dumps(document), encoding="utf-8")
    command = [str(program), "--root", str(directory / "root"), "--log", str(log), "--log-format", "json"]
    # a created container keeps its output open, so a pipe would never reach its end
    with said.open("wb") as output:
        try:
            code = subprocess.run(
                [*command, "create", "--bundle", str(directory), NAME],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                timeout=_ANSWER_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            _delete(command)
            raise
    if code == 0:
        _delete(command)
        return ""
    words = _logged(log) or said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return words[-1].replace(str(directory), "") if words else f"code {code}"


def remove_leftover_references() -> list[Path]:
    """Remove the empty cgroups with the container's name, and return them: earlier versions created them next
    to their own cgroup, where they stayed if the run was killed during the probe.
    """
    found = [
        Path(parent, NAME)
        for hierarchy in cgroup_hierarchies()
        for parent, children, _ in os.walk(hierarchy)
        if NAME in children
    ]
    removed = []
    for cgroup in found:
        # the kernel rejects the removal of a cgroup with processes or children
        with contextlib.suppress(OSError):
            cgroup.rmdir()
            removed.append(cgroup)
    return removed


def _delete(command: list[str]) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [*command, "delete", "--force", NAME], capture_output=True, timeout=_ANSWER_SECONDS, check=False
        )


def _logged(log: Path) -> list[str]:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("msg"), str) and said["msg"]:
            found.append(said["msg"])
    return found
