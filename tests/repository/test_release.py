"""A release: its notes, its tag, and that no file installs critests from an index before there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import critests
from tests.repository.tree import ROOT, named, tracked

INSTALLS_FROM_AN_INDEX = re.compile(
    r"""(?:\bpip[\d.]*["']?\ install|\bpipx\ (?:install|run)|\buvx|\buv\ tool\ (?:install|run))
        (?:\ +-\S+)*\ +["']?critests(?![\w./-])""",
    re.VERBOSE,
)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with the release's scripts and a changelog, and with an origin."""
    folder = tmp_path / "clone"
    (folder / "tools").mkdir(parents=True)
    (folder / "critests").mkdir()
    (folder / "critests/__init__.py").write_text('__version__ = "1.2.3"\n')
    for name in ("release.sh", "release-notes.sh"):
        shutil.copy(ROOT / "tools" / name, folder / "tools")
    write_changelog(folder, "## [1.2.3] - 2026-01-02\n\n- New.\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n")
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.org")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin"))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    git(folder, "push", "--quiet", "origin", "HEAD:main")
    return folder


def write_changelog(folder: Path, sections: str) -> None:
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n{sections}")


def run(folder: Path, script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [folder / "tools" / script, *arguments], capture_output=True, text=True, check=False
    )


def test_the_notes_are_the_section_of_the_version(clone: Path) -> None:
    notes = run(clone, "release-notes.sh", "1.2.3")

    assert (notes.returncode, notes.stdout.strip()) == (0, "- New.")


@pytest.mark.parametrize(
    ("version", "sections", "reason"),
    [
        ("1.2.4", "## [1.2.4] - 2026-01-02\n\n- New.\n", "the version of this checkout is 1.2.3"),
        ("1.2.3", "## [1.2.3]\n\n- New.\n", 'no heading "## [1.2.3] - '),
        ("1.2.3", "- Newer.\n\n## [1.2.3] - 2026-01-02\n\n- New.\n", "has unreleased changes"),
    ],
    ids=["version", "date", "unreleased"],
)
def test_notes_that_do_not_fit_fail(clone: Path, version: str, sections: str, reason: str) -> None:
    write_changelog(clone, sections)

    notes = run(clone, "release-notes.sh", version)

    assert notes.returncode == 1
    assert reason in notes.stderr


def test_a_release_tags_the_main_branch_of_the_origin(clone: Path) -> None:
    released = run(clone, "release.sh")

    assert released.returncode == 0, released.stderr
    listed = git(clone, "ls-remote", "--tags", "origin", "v1.2.3^{}").split()
    assert listed[0] == git(clone, "rev-parse", "HEAD")


def test_another_commit_or_a_changed_checkout_is_not_released(clone: Path) -> None:
    (clone / "new").write_text("")
    changed = run(clone, "release.sh")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "not pushed")
    other = run(clone, "release.sh")

    assert (changed.returncode, other.returncode) == (1, 1)
    assert "not committed" in changed.stderr
    assert "HEAD is not the branch main of origin" in other.stderr
    assert git(clone, "ls-remote", "--tags", "origin") == ""
    assert git(clone, "tag") == ""


def test_the_changelog_has_a_section_of_this_version() -> None:
    assert f"## [{critests.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "pip install critests",
        '"$HOME/bin/pip" install --quiet critests',
        "pip install 'critests[bench]==0.1'",
        "pipx install critests",
        "uv tool install critests",
        "uvx critests run",
    ],
)
def test_the_search_finds_each_way_to_install_from_an_index(line: str) -> None:
    assert INSTALLS_FROM_AN_INDEX.search(line)


def test_no_file_installs_critests_from_an_index() -> None:
    # it is on none: a user who copies such a line would install nothing, or another project
    wrong = [
        f"{named(path)}: {found[0]}"
        for path in tracked()
        if path.suffix not in {".gz", ".png"} and path != Path(__file__)
        if (found := INSTALLS_FROM_AN_INDEX.search(path.read_text(encoding="utf-8", errors="replace")))
    ]

    assert wrong == []
