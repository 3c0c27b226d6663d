"""The selection of scenarios and their order."""

import pytest

from critests.benchmark.benchmark_resuming import StoppedBenchmark
from critests.benchmark.scenario_profiles import (
    COMPARE,
    FULL,
    PROFILES,
    SCENARIOS,
    SMOKE,
    STANDARD,
    in_profile,
)
from critests.exit_codes import UsageError
from critests.run.collected_tests import CollectedTest
from critests.run.items import BENCHMARKS
from critests.run.run_settings import Settings

DEFAULT_PROFILE = STANDARD
ONE_PROCESS = "benchmarks need a single process, as parallel ones would disturb each other: leave out -n"
MODULE = "critests.benchmark"


def refuse_processes(config: pytest.Config) -> None:
    """Reject benchmarks in several processes.

    Raises:
        pytest.UsageError: benchmarks are selected together with -n.
    """
    if getattr(config.option, "numprocesses", None) and any(
        _is_benchmark(config, argument) for argument in config.args
    ):
        raise pytest.UsageError(ONE_PROCESS)


def _is_benchmark(config: pytest.Config, argument: str) -> bool:
    place = argument.partition("::")[0]
    path = (config.invocation_params.dir / place).resolve()
    return (
        place == MODULE or place.startswith(f"{MODULE}.") or path == BENCHMARKS or BENCHMARKS in path.parents
    )


def profile_of(settings: Settings) -> str:
    """Return the profile that the user chose, or the default.

    Raises:
        UsageError: the profile is one of validation.
    """
    profile = settings.profile or DEFAULT_PROFILE
    if profile not in {*PROFILES, COMPARE}:
        msg = f"--profile {profile}: benchmarks have {SMOKE}, {STANDARD}, {FULL} and {COMPARE}"
        raise UsageError(msg)
    return profile


def chosen(settings: Settings) -> list[str]:
    """Return the ids of the selected scenarios: those named, or those of the profile.

    Raises:
        UsageError: a name is not a scenario.
    """
    for option, words in (("--select", settings.select), ("--deselect", settings.deselect)):
        unknown = [word for word in words if word.upper() not in SCENARIOS]
        if unknown:
            msg = f"{option} {unknown[0]}: no such scenario; there are {', '.join(SCENARIOS)}"
            raise UsageError(msg)
    selected = [word.upper() for word in settings.select] or [
        scenario.id for scenario in in_profile(profile_of(settings))
    ]
    deselected = {word.upper() for word in settings.deselect}
    return [name for name in SCENARIOS if name in selected and name not in deselected]


def choose(tests: list[CollectedTest], settings: Settings) -> tuple[list[CollectedTest], list[CollectedTest]]:
    """Return the tests of the selected scenarios, in the order of the scenarios, and the other tests,
    including those that a resumed run has measured.

    Raises:
        UsageError: an option names something that does not exist, or nothing is left to measure.
    """
    order = {name: number for number, name in enumerate(chosen(settings))}
    selected = sorted(
        (test for test in tests if test.scenario in order), key=lambda test: order[test.scenario]
    )
    earlier = StoppedBenchmark.of(settings, profile_of(settings))
    if earlier is not None:
        selected = [test for test in selected if test.id not in earlier.tests]
        if not selected:
            msg = f"--resume {settings.resume}: that run has measured all of them"
            raise UsageError(msg)
    ids = {test.id for test in selected}
    return selected, [test for test in tests if test.id not in ids]
