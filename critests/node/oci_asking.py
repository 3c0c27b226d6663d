"""What an OCI runtime says to a bundle, asked by itself and not through a daemon."""

import contextlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ANSWER_SECONDS: Final = 10
_NAME: Final = "critests-asks"


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
                [*command, "create", "--bundle", str(directory), _NAME],
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


def _delete(command: list[str]) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [*command, "delete", "--force", _NAME], capture_output=True, timeout=_ANSWER_SECONDS, check=False
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
