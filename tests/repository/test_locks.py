import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.repository.tree import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED = [Requirement(line) for line in PYPROJECT["project"]["dependencies"]]


def entries(lock: Path) -> dict[str, str]:
    """Name to version."""
    found = {}
    for entry in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        match = re.match(r"([a-z0-9-]+)==(\S+)", entry)
        assert match, f"{lock.name}: not one pinned package: {entry[:60]}"
        found[match[1]] = match[2]
    return found


def test_the_locks_are_those_that_are_documented() -> None:
    documented = re.findall(
        r"^\| `([a-z]+\.lock)`", (ROOT / "requirements/README.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert sorted(documented) == [lock.name for lock in LOCKS]


@pytest.mark.parametrize("lock", ["run.lock", "dev.lock", "lowest.lock"])
def test_a_lock_holds_what_the_project_declares(lock: str) -> None:
    locked = entries(ROOT / "requirements" / lock)

    assert not [wanted for wanted in DECLARED if not wanted.specifier.contains(locked[wanted.name])], (
        "call `make lock`"
    )


def test_the_lowest_lock_has_the_lowest_declared_versions() -> None:
    locked = entries(ROOT / "requirements/lowest.lock")

    for wanted in DECLARED:
        lowest = next(part.version for part in wanted.specifier if part.operator == ">=")
        assert Requirement(f"{wanted.name}=={lowest}").specifier.contains(locked[wanted.name])


def test_the_hooks_before_a_commit_use_the_linters_of_the_lock() -> None:
    hooks = re.findall(
        r'"([a-z-]+)==([0-9.]+)"', (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    )
    locked = entries(ROOT / "requirements/dev.lock")

    assert hooks
    assert {name: locked[name] for name, _ in hooks} == dict(hooks)


def test_workflows_name_every_action_by_its_commit() -> None:
    used = [
        line.strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(- )?uses:", line)
    ]

    assert used
    assert not [line for line in used if not re.search(r"@[0-9a-f]{40} # v[0-9.]+$", line)]
