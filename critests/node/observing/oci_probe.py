"""What an OCI runtime says to a bundle, asked by itself and not through a daemon."""

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
    """Return the last words of an OCI runtime that is to create a container; empty where it creates one,
    which is deleted at once.

    Args:
        program: the OCI runtime.
        document: the bundle's configuration.
        directory: holds the bundle, and what the OCI runtime keeps; to be removed afterwards.

    Raises:
        OSError: the program cannot be run.
        subprocess.TimeoutExpired: it did not come to an end.
    """
    log, said = directory / "log", directory / "said"
    log.unlink(missing_ok=True)
    (directory / "config.json").write_text(json.dumps(document), encoding="utf-8")
    command = [str(program), "--root", str(directory / "root"), "--log", str(log), "--log-format", "json"]
    # a container that is made keeps these open, so that nobody could read them to their end
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
    """Remove the empty cgroups that bear the container's name, and return them: earlier versions put them
    beside their own cgroup, where they outlived a run that was killed while it asked.
    """
    found = [
        Path(parent, NAME)
        for hierarchy in cgroup_hierarchies()
        for parent, children, _ in os.walk(hierarchy)
        if NAME in children
    ]
    removed = []
    for cgroup in found:
        # one that holds a process or a cgroup is in use, and the kernel refuses
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
