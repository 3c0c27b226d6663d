"""In a user namespace, user 0 is not root of the machine: no private runtime, no look at its processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from critests.node.host.privileges import in_user_namespace_of, user_namespace
from tests.plugin.command import environment

MAPS = {
    "         0          0 4294967295\n": "",
    "         0       1000          1\n": "0 1000 1",
    "         0     100000      65536\n     65536    1000   1\n": "0 100000 65536 65536 1000 1",
}


@pytest.mark.parametrize(("text", "expected"), MAPS.items(), ids=["machine", "one user", "two ranges"])
def test_another_map_than_that_of_all_users_is_a_user_namespace(
    text: str, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "uid_map"
    file.write_text(text)

    assert user_namespace(file) == expected


def test_a_process_is_in_its_own_user_namespace_and_a_missing_one_is_not() -> None:
    assert in_user_namespace_of(os.getpid())
    assert not in_user_namespace_of(None)


def test_a_private_runtime_is_refused_with_the_reason() -> None:
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    started = subprocess.run(
        [
            "unshare",
            "-Ur",
            sys.executable,
            "-m",
            "critests",
            "run",
            "--node",
            "containerd",
            "--select",
            "SBX-01",
        ],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )

    assert started.returncode == 5, started.stdout + started.stderr
    assert "this process is in a user namespace (/proc/self/uid_map: 0 " in started.stdout + started.stderr
