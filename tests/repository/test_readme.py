"""README's commands, taken as they stand: each is one that there is, with options that it has."""

import re
import shlex

import pytest
from click.testing import CliRunner

from critests.cli.command import group
from tests.repository.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    re.split(r"\s{2,}|\s#\s", line.strip().removeprefix("$ "))[0]
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if language != "text" and line.strip()
]


def of(program: str) -> list[str]:
    return [command for command in COMMANDS if shlex.split(command)[0].rpartition("/")[2] == program]


@pytest.mark.parametrize("command", of("critests"))
def test_a_command_is_one_that_there_is_with_options_that_it_has(command: str) -> None:
    _, *arguments = shlex.split(command)

    result = CliRunner().invoke(group, [*arguments, "--help"])

    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("command", of("make"))
def test_a_target_is_in_the_makefile(command: str) -> None:
    _, target, *_ = shlex.split(command)

    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_front_page_has_both_and_names_no_package_that_is_not_published() -> None:
    assert of("critests")
    assert of("make")
    installed = re.findall(r"pip install (\S+)", README)
    assert all(name.startswith("dist/") for name in installed), installed
