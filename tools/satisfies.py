"""Exits with 0 if this Python has what a pyproject.toml declares; else names what is missing or of another
version, and exits with 1.
"""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def lacking(pyproject: Path) -> list[str]:
    """The declared dependencies that this environment does not satisfy, one sentence each."""
    try:
        # an environment without it is what this script is to report
        from packaging.requirements import Requirement  # noqa: PLC0415 - see above
    except ImportError:
        return ["packaging is not installed"]
    found = []
    for line in tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]:
        wanted = Requirement(line)
        try:
            present = version(wanted.name)
        except PackageNotFoundError:
            found.append(f"{wanted} is not installed")
        else:
            if not wanted.specifier.contains(present, prereleases=True):
                found.append(f"{wanted} is wanted, {present} is there")
    return found


if __name__ == "__main__":
    sentences = lacking(Path(sys.argv[1]))
    print("\n".join(f"  {sentence}" for sentence in sentences))
    sys.exit(bool(sentences))
