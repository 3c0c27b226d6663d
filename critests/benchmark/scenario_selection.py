"""Which scenarios are measured, in which order."""

import pytest

from critests.benchmark.benchmark_resuming import StoppedBenchmark
from critests.benchmark.scenario_profiles import FULL, PROFILES, SCENARIOS, SMOKE, STANDARD, in_profile
from critests.exit_codes import UsageError
from critests.run.items import BENCHMARKS
from critests.run.known_tests import KnownTest
from critests.run.run_settings import Settings

DEFAULT_PROFILE = STANDARD
ONE_PROCESS = "benchmarks are measured by one process, as two at once would measure each other: leave out -n"
MODULE = "critests.benchmark"


def refuse_processes(config: pytest.Config) -> None:
    """Refuse to measure in several processes.

    Raises:
        pytest.UsageError: benchmarks are asked for, and -n too.
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
        UsageError: it is one of validation's.
    """
    profile = settings.profile or DEFAULT_PROFILE
    if profile not in PROFILES:
        msg = f"--profile {profile}: benchmarks have {SMOKE}, {STANDARD} and {FULL}"
        raise UsageError(msg)
    return profile


def chosen(settings: Settings) -> list[str]:
    """Return the ids of the scenarios that the user wants: those named, or those of the profile.

    Raises:
        UsageError: a name is no scenario.
    """
    for option, words in (("--select", settings.select), ("--deselect", settings.deselect)):
        unknown = [word for word in words if word.upper() not in SCENARIOS]
        if unknown:
            msg = f"{option} {unknown[0]}: no such scenario; there are {', '.join(SCENARIOS)}"
            raise UsageError(msg)
    wanted = [word.upper() for word in settings.select] or [
        scenario.id for scenario in in_profile(profile_of(settings))
    ]
    unwanted = {word.upper() for word in settings.deselect}
    return [name for name in SCENARIOS if name in wanted and name not in unwanted]


def choose(tests: list[KnownTest], settings: Settings) -> tuple[list[KnownTest], list[KnownTest]]:
    """Return the tests that measure a wanted scenario, in the order of the scenarios, and the others, among
    them those that the run measured with which this one goes on.

    Raises:
        UsageError: an option names something that does not exist, or nothing is left to be measured.
    """
    order = {name: number for number, name in enumerate(chosen(settings))}
    kept = sorted((test for test in tests if test.scenario in order), key=lambda test: order[test.scenario])
    earlier = StoppedBenchmark.of(settings, profile_of(settings))
    if earlier is not None:
        kept = [test for test in kept if test.id not in earlier.tests]
        if not kept:
            msg = f"--resume {settings.resume}: that run has measured all of them"
            raise UsageError(msg)
    taken = {test.id for test in kept}
    return kept, [test for test in tests if test.id not in taken]
