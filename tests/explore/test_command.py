"""`critests explore` as a user calls it."""

import json
import signal
import sys
from pathlib import Path

import pytest

from critests.cli import main
from tests.criserver import CriServer, serve
from tests.plugin.command import begin, called, critests, on


@pytest.mark.nightly("explores until a bug is found")
def test_a_found_bug_exits_with_1_and_is_written(tmp_path: Path) -> None:
    server = CriServer(wrong=["lost=StopPodSandbox"])
    with serve(server) as endpoint:
        result = critests(*on("explore", endpoint, tmp_path, "--time 20s --seed 1"))
        left = list(server.services.store.sandboxes)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "SBX-12 (MUST)" in result.stdout
    (file,) = tmp_path.rglob("explore.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["seed"], found["findings"][0]["requirement"]) == (1, "SBX-12")
    assert list(tmp_path.rglob("test_found_*.py"))
    assert not left


def test_ctrl_c_exits_with_2_and_leaves_nothing(tmp_path: Path) -> None:
    server = CriServer()
    with serve(server) as endpoint:
        going = begin(*on("explore", endpoint, tmp_path, "--time 1h"))
        assert going.stdout is not None
        while "exploring" not in going.stdout.readline():
            assert going.poll() is None
        going.send_signal(signal.SIGINT)
        out, _ = going.communicate(timeout=60)
        left = list(server.services.store.containers)

    assert going.returncode == 2, out
    assert "nothing found" in out
    assert not left


def test_error_without_hypothesis_explains_the_installation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("critests.cli.extras.importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["critests", "explore", "--runtime-endpoint", "unix:///nowhere"])

    with pytest.raises(SystemExit) as error:
        main()

    assert error.value.code == 4
    assert "pip install hypothesis" in capsys.readouterr().err


def test_disruptive_exploration_requires_a_private_runtime() -> None:
    result = called("explore", "--disruptive", "--runtime-endpoint", "unix:///nowhere")

    assert result.returncode == 4
    assert "--node" in result.stderr


@pytest.mark.parametrize("time", ["0", "soon", "-5m"])
def test_invalid_time_is_a_usage_error(time: str) -> None:
    assert called("explore", "--time", time).returncode == 4
