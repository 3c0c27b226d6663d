"""The CNI plugin that answers as a test says, and reads of files."""

import os
import subprocess
from pathlib import Path

import pytest

from critests.documents.cni_conduct import ADD, DEL, PluginAnswer
from critests.node.host.file_reads import reads_of
from critests.node.network.answering_plugin import NAME, AnsweringPlugin


@pytest.fixture
def plugin(tmp_path: Path) -> AnsweringPlugin:
    """A plugin in a directory of its own."""
    (tmp_path / "bin").mkdir()
    return AnsweringPlugin(tmp_path / "bin", {ADD: PluginAnswer(b'{"sound": 1}')})


def called(tmp_path: Path, operation: str) -> subprocess.CompletedProcess[bytes]:
    """Run the plugin as a runtime does."""
    variables = {"PATH": os.environ["PATH"], "CNI_COMMAND": operation, "CNI_IFNAME": "eth0"}
    return subprocess.run(
        [tmp_path / "bin" / NAME],
        input=b'{"name": "n"}',
        env={**variables, "CNI_NETNS": "/critests-absent"},
        capture_output=True,
        timeout=20,
        check=False,
    )


def test_it_is_a_sound_plugin_at_first(tmp_path: Path, plugin: AnsweringPlugin) -> None:
    """It prints its result, and records the call and the configuration."""
    done = called(tmp_path, ADD)

    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"sound": 1}', b"")
    assert plugin.calls() == [ADD]
    assert plugin.added == b'{"name": "n"}'


def test_it_answers_as_the_file_says(tmp_path: Path, plugin: AnsweringPlugin) -> None:
    """Output, log and exit code are those of the answer, and of no other operation."""
    with plugin.answering({DEL: PluginAnswer(b"ab", 7, b"why", repeated=2)}):
        done = called(tmp_path, DEL)
        added = called(tmp_path, ADD)
    afterwards = called(tmp_path, DEL)

    assert (done.returncode, done.stdout, done.stderr) == (7, b"abab", b"why")
    assert added.stdout == b'{"sound": 1}'
    assert (afterwards.returncode, afterwards.stdout) == (0, b"")


def test_it_can_be_killed(tmp_path: Path, plugin: AnsweringPlugin) -> None:
    """A negative exit code is a signal."""
    with plugin.answering({ADD: PluginAnswer(exit_code=-9)}):
        done = called(tmp_path, ADD)

    assert done.returncode == -9


def test_reads_of_a_file_are_noticed(tmp_path: Path) -> None:
    """A read after the file was renamed counts, a write does not."""
    file = tmp_path / "draft"
    file.write_text("x")

    with reads_of(file) as was_read:
        target = file.rename(tmp_path / "file")
        target.write_text("y")
        assert not was_read(0)
        target.read_text()
        assert was_read(5)


def test_a_file_that_is_absent_cannot_be_watched(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(FileNotFoundError, match="absent"), reads_of(tmp_path / "absent"):
        pass
