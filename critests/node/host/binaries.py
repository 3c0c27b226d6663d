"""The programs that a throwaway runtime is made of: where they are, which version they have."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from critests.exit_codes import CannotTest
from critests.runtimes.known_runtimes import package_of

_VERSION = re.compile(r"\bv?(\d+)\.(\d+)(?:\.(\d+))?\S*")
_ANSWER_SECONDS = 60
"""An emulated machine that has much to do took more than 10."""


class MissingProgram(CannotTest):
    """A program that the throwaway runtime needs is not there or cannot be run."""


def find_program(name: str, *, path: str | None = None) -> Path:
    """Return the absolute path of a program.

    Args:
        name: the program.
        path: directories to look in, as in PATH; None for our own PATH and the directories of system
            programs.

    Raises:
        MissingProgram: it is not there; says how to get it.
    """
    found = shutil.which(name, path=path or search_path())
    if found is None:
        raise MissingProgram(
            f"the program {name} is not on the PATH; on Debian and Ubuntu: apt install {package_of(name)}"
        )
    return Path(found)


def search_path(first: Path | None = None) -> str:
    """Return a PATH with a directory first, then ours, then those of system programs that a user's PATH may
    lack.
    """
    ours = os.environ.get("PATH", "").split(os.pathsep)
    parts = [
        *([str(first)] if first else []),
        *ours,
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
    ]
    return os.pathsep.join(dict.fromkeys(part for part in parts if part))


def version_text(binary: Path) -> str:
    """Return the first line that a program prints for `--version`.

    Raises:
        MissingProgram: it cannot be run, fails, prints nothing, or takes longer than a minute.
    """
    try:
        answer = subprocess.run(
            [binary, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except OSError as error:
        raise MissingProgram(f"{binary} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise MissingProgram(f"{binary} --version did not answer within {_ANSWER_SECONDS} s") from error
    lines = (answer.stdout or answer.stderr).strip().splitlines()
    if answer.returncode != 0 or not lines:
        raise MissingProgram(
            f"{binary} --version ended with code {answer.returncode}: {lines[0] if lines else 'no output'}"
        )
    return lines[0].strip()


def version_numbers(text: str) -> tuple[int, int, int] | None:
    """Return major, minor and patch of a version text such as `1.6.20~ds1` or `…/containerd/v2
    2.1.9+unknown`; None without any.
    """
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
