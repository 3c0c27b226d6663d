"""A file of another mount namespace is found where its process would find it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.node.host.process_view import seen_by

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[int]:
    """A process that sees other files below a directory than we do."""
    script = (
        f"mount -t tmpfs none {tmp_path} && cd {tmp_path} && mkdir -p run/deep && echo theirs > run/file &&"
        f" ln -s {tmp_path}/run/file absolute && ln -s ../file run/deep/relative && ln -s run var && ln -s"
        " loop loop && echo ready && exec sleep 60"
    )
    (tmp_path / "run").mkdir()
    (tmp_path / "run/file").write_text("ours\n")
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    ) as found:
        assert found.stdout is not None
        assert found.stdout.readline() == "ready\n"
        yield found.pid
        found.kill()


@pytest.mark.parametrize("path", ["run/file", "absolute", "run/deep/relative", "var/file", "var/../absolute"])
def test_links_lead_where_they_lead_the_process(process: int, tmp_path: Path, path: str) -> None:
    assert seen_by(process, tmp_path / path).read_text() == "theirs\n"


def test_a_loop_ends(process: int, tmp_path: Path) -> None:
    assert str(seen_by(process, tmp_path / "loop")).startswith(f"/proc/{process}/root/")


@pytest.mark.parametrize("pid", [None, os.getpid(), 4194304], ids=["unknown", "the same view", "gone"])
def test_otherwise_a_path_stays_as_it_is(pid: int | None, tmp_path: Path) -> None:
    assert seen_by(pid, tmp_path / "file") == tmp_path / "file"
