"""`critests audit`: what it hands to pytest."""

from typing import Any

import pytest
from click.testing import CliRunner

from critests.cli import audit as command
from critests.run.settings import Settings


@pytest.mark.parametrize(
    ("given", "profile"),
    [
        (["--sample", "5"], "full"),
        (["--sample", "5", "--profile", "everything"], "everything"),
        (["--sample", "5", "--select", "SBX"], ""),
        (["--sample", "5", "--disruptive"], ""),
        (["--faults", "StopContainer"], ""),
    ],
    ids=" ".join,
)
def test_a_sample_is_tried_on_quick_tests_unless_others_are_named(
    monkeypatch: pytest.MonkeyPatch, given: list[str], profile: str
) -> None:
    handed: list[Settings] = []

    def pytest_of(package: str, settings: Settings, more: Any) -> None:  # noqa: ANN401, ARG001 - as it is called
        handed.append(settings)

    monkeypatch.setattr(command, "become_pytest", pytest_of)
    result = CliRunner().invoke(command.audit, ["--node", "containerd", *given])
    assert result.exit_code == 0, result.output
    assert [settings.profile for settings in handed] == [profile]
    assert ("--profile full" in result.output) == (profile == "full")
