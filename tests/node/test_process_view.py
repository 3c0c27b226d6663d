"""Paths are resolved as a process in another mount namespace resolves them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.node.host.process_view import seen_by

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="creates a mount namespace")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[int]:
    """A process in a mount namespace with other files below a directory."""
    script = (
        f"mount -t tmpfs none {tmp_path} && cd {tmp_path} && mkdir -p run/deep && echo theirs > run/file &&"
        f" ln -s {tmp_path}/run/file absolute && ln -s ../file run/deep/relative && ln -s run var && ln -s"
        " loop loop && echo ready && exec sleep 60"
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "run/file").write_text("ours\n")
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


@pytest.mark.parametrize("path", ["run/file", "absolute", "run/deep/relative", "var/file", "var/../absolute"])
def test_links_are_resolved_in_the_mount_namespace_of_the_process(
    process: int, tmp_path: Path, path: str
) -> None:
    assert seen_by(process, tmp_path / path).read_text() == "theirs\n"


def test_a_loop_of_links_is_not_followed_forever(process: int, tmp_path: Path) -> None:
    assert str(seen_by(process, tmp_path / "loop")).startswith(f"/proc/{process}/root/")


@pytest.mark.parametrize("pid", [None, os.getpid(), 4194304], ids=["unknown", "the same view", "gone"])
def test_path_is_unchanged_without_another_mount_namespace(pid: int | None, tmp_path: Path) -> None:
    assert seen_by(pid, tmp_path / "file") == tmp_path / "file"
