"""Programs of another mount namespace stand in this one for a while, at the same paths."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.kinds.containerd import CONTAINERD
from critests.kinds.crio import CRIO
from critests.node.borrowed_programs import borrowed, wanted

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[int]:
    """A process in a mount namespace in which there are programs that are not here."""
    script = (
        f"mount -t tmpfs none {tmp_path} && mkdir -p {tmp_path}/usr/bin && cd {tmp_path}/usr/bin && printf"
        " '#!/bin/sh\\necho of the node: $1\\n' > runc && cp runc plain && chmod +x runc && echo ready &&"
        " exec sleep 60"
    )
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


def test_what_only_the_node_has_runs_there(node: int, tmp_path: Path) -> None:
    runc, plain, missing = (tmp_path / "usr/bin" / name for name in ("runc", "plain", "crun"))

    with borrowed(node, [runc, plain, missing]) as programs:
        assert programs == [runc], "a file that cannot be executed is no program"
        assert (
            subprocess.run([runc, "--version"], capture_output=True, text=True, check=True).stdout
            == "of the node: --version\n"
        )

    assert list(tmp_path.iterdir()) == []


def test_what_is_here_is_left_as_it_is(node: int, tmp_path: Path) -> None:
    own = tmp_path / "usr/bin/runc"
    own.parent.mkdir(parents=True)
    own.write_text("ours")

    with borrowed(node, [own]) as programs:
        assert programs == [own]
        assert own.read_text() == "ours"

    assert own.read_text() == "ours"


def test_a_namespace_that_cannot_be_entered_is_said(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="process 4194304 cannot be entered"), borrowed(4194304, [tmp_path]):
        pass


def test_everything_that_a_runtime_needs_is_looked_for() -> None:
    paths = set(map(str, wanted(CONTAINERD)))

    assert {
        "/usr/bin/containerd",
        "/usr/sbin/runc",
        "/usr/bin/containerd-shim-runc-v2",
        "/opt/cni/bin/bridge",
    } <= paths
    assert "/usr/libexec/crio/conmon" in set(map(str, wanted(CRIO)))
