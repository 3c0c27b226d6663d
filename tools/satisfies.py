"""Check that this Python environment satisfies the dependencies in a pyproject.toml; print the missing ones
and exit with 1 otherwise.
"""

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def lacking(pyproject: Path) -> list[str]:
    """Return a sentence for each declared dependency that this environment does not satisfy."""
    try:
        # imported here, because this script must run without it
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
                found.append(f"{wanted} is required, {present} is installed")
    return found


if __name__ == "__main__":
    sentences = lacking(Path(sys.argv[1]))
    print("\n".join(f"  {sentence}" for sentence in sentences))
    sys.exit(bool(sentences))
