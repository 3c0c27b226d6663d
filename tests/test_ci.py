"""The script of the GitHub action, of GitLab and of Prow: the decision, the summary and the annotations."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment
from tests.programs import program

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "deploy" / "ci" / "critests-ci"


def check(endpoint: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the script as the action does, with few tests."""
    critests = program(folder / "path" / "critests", f'exec {sys.executable} -m critests "$@"')
    return subprocess.run(
        [SCRIPT, "--select", "SBA-15,SBA-16,SBA-17", "--allow-kubelet", "--times", "1"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=folder,
        env=environment()
        | {
            "PATH": f"{critests.parent}:{os.environ['PATH']}",
            "RUNTIME": endpoint,
            "PROFILE": "everything",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }
        | variables,
        check=False,
    )


@pytest.mark.timeout(3 * SECONDS)
def test_the_decision_is_the_exit_code_with_a_summary_and_annotations(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        first = check(endpoint, tmp_path)
        second = check(endpoint, tmp_path)
    with serve(CriServer(wrong={"filters-ignored"})) as endpoint:
        broken = check(endpoint, tmp_path, KEEP="2")

    assert len(list(tmp_path.rglob("run.json"))) == 2
    assert first.returncode == 0, first.stdout + first.stderr
    assert "::notice title=critests::" in first.stdout
    assert second.returncode == 0, second.stdout + second.stderr
    assert "baseline" in second.stdout
    assert (tmp_path / "summary.md").read_text().count("<!-- critests:") == 3
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "::error title=critests::" in broken.stdout


def test_a_run_without_a_record_has_the_exit_code_of_the_run(tmp_path: Path) -> None:
    result = check("unix:///nowhere/cri.sock", tmp_path)

    assert result.returncode == 5, result.stdout + result.stderr
    assert "::error title=critests::critests-ci: the run ended with exit code 5" in result.stdout


def test_the_action_runs_the_script_and_its_examples_use_inputs_that_exist() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    runs = [step.get("run", "") for step in action["runs"]["steps"]]
    assert any("deploy/ci/critests-ci" in run for run in runs)
    example = yaml.safe_load((SCRIPT.parent / "github-pull-request.yml").read_text())
    used = [
        step["with"] for step in example["jobs"]["critests"]["steps"] if "/critests@" in step.get("uses", "")
    ]
    assert used
    assert all(set(each) <= set(action["inputs"]) for each in used)
