"""The command that runs one test again under the same conditions."""

import shlex
from collections.abc import Iterator
from typing import Final

import pytest

from critests.run.collected_tests import SUITE, JudgedAspect
from critests.run.context import RunContext
from critests.run.items import scenario_of
from critests.run.options import MEASURING, RULES, RUNTIME
from critests.run.run_settings import Settings

SECTIONS: Final = (RUNTIME, RULES, MEASURING)
OTHERS: Final = ("--profile", "--read-only", "--disruptive", "--allow-kubelet")
"""Options of other sections without which the test would be blocked, or measure something else."""


def repeat_command(
    item: pytest.Item, judged: JudgedAspect, settings: Settings, context: RunContext | None
) -> str:
    """Return the command that runs a test again on the same runtime, with the same parameters and rules.

    Args:
        item: the test.
        judged: the aspect that it judges.
        settings: the user's options.
        context: the run, with the endpoint if no option names it; None before the run began.
    """
    scenario = scenario_of(item)
    ours = SUITE in item.path.parents or bool(scenario)
    command = "bench" if scenario else "run"
    words = ["critests", command] if ours else ["pytest", "-p", "critests.plugin", item.nodeid]
    if context is not None and not settings.node:
        words += _endpoints(settings, context)
    for option, value in settings.given():
        if command not in option.commands or (option.name == "--profile" and not scenario):
            continue
        if option.section in SECTIONS or option.name in OTHERS:
            words += [option.name if ours else option.pytest_name, *([value] if option.metavar else [])]
    if context is not None and context.conditions.names and settings.seed is None:
        words += ["--seed" if ours else "--cri-seed", str(context.conditions.seed)]
    if scenario:
        words += ["--select", scenario]
    elif ours:
        words += [*(["--select", judged.name] if judged.name else []), "-k", item.name]
    return shlex.join(words)


def _endpoints(settings: Settings, context: RunContext) -> Iterator[str]:
    """Yield options for the endpoints that were found without an option."""
    if not settings.runtime_endpoint:
        yield from ("--runtime-endpoint", context.endpoint.text)
    if not settings.image_endpoint and context.image_endpoint != context.endpoint:
        yield from ("--image-endpoint", context.image_endpoint.text)
