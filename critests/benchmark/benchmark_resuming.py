"""Resuming an interrupted benchmark: its results are reused, and its scenarios are not measured again."""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from critests.catalogue.words import Outcome
from critests.exit_codes import CannotTest, UsageError
from critests.node.observing.machine_facts import fingerprint
from critests.record.files import read
from critests.record.identity import RuntimeIdentity
from critests.record.machines import unlike
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.record_errors import RecordUnreadable
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.record.samples import SUFFIX
from critests.run.run_settings import Settings

MUST_MATCH = ("architecture", "kernel_build", "cpu", "cgroup")
"""Facts that must be identical, in addition to those that a comparison of machines checks: one run is of one
machine.
"""


@dataclass(frozen=True)
class StoppedBenchmark:
    """A benchmark that was interrupted, or that could not measure a scenario.

    Attributes:
        folder: folder of the run.
        record: its record.
        facts: profile, seed and sides.
        tests: id to the result of each scenario that it measured.
    """

    folder: Path
    record: RunRecord
    facts: BenchmarkFacts
    tests: dict[str, TestResult]

    @classmethod
    def of(cls, settings: Settings, profile: str) -> Self | None:
        """Return the run that `--resume` names; None without the option.

        Raises:
            UsageError: the run is not a benchmark, or was measured with another profile or seed.
        """
        if settings.resume is None:
            return None
        try:
            record = read(settings.resume)
        except RecordUnreadable as error:
            msg = f"--resume {settings.resume}: {error}"
            raise UsageError(msg) from error
        if record.kind != "benchmark" or record.benchmark is None:
            msg = f"--resume {settings.resume}: this run is not a benchmark"
            raise UsageError(msg)
        facts = record.benchmark
        for option, earlier, now in (
            ("--profile", facts.profile, profile),
            ("--seed", facts.seed, facts.seed if settings.seed is None else settings.seed),
        ):
            if earlier != now:
                msg = f"--resume {settings.resume}: the run used {option} {earlier}; use the same value"
                raise UsageError(msg)
        folder = settings.resume if settings.resume.is_dir() else settings.resume.parent
        measured = {test.id: test for test in record.tests if test.outcome is Outcome.PASSED}
        return cls(folder, record, facts, measured)

    def check_same_setup(
        self, runtime: tuple[str, str], sides: dict[str, RuntimeIdentity], seconds: float
    ) -> None:
        """Check that this run measures the same runtime on the same machine.

        Args:
            runtime: name and version of the runtime.
            sides: of a comparison, by name; empty otherwise.
            seconds: of all scenarios together.

        Raises:
            CannotTest: runtime, machine or durations differ.
        """
        now = json.loads(json.dumps(fingerprint()))  # with the types of a record
        earlier = (self.record.runtime.name, self.record.runtime.version)
        facts = {
            "runtime": (earlier, runtime),
            "sides": (_identities(self.facts.sides), _identities(sides)),
            "seconds of sampling": (round(self.facts.budget_seconds), round(seconds)),
            **{name: (then, today) for name, then, today in unlike(self.record.machine, now)},
            **{fact: (self.record.machine.get(fact), now.get(fact)) for fact in MUST_MATCH},
        }
        for fact, (then, today) in facts.items():
            if then != today:
                msg = f"--resume: the {fact} of the earlier run was {then}, and is {today} now"
                raise CannotTest(msg)

    def operations(self, scenarios: Collection[str]) -> list[OperationResult]:
        """Return its results of some scenarios."""
        return [each for each in self.record.operations if each.scenario in scenarios]

    def copy_samples(self, scenarios: Collection[str], samples: Path) -> None:
        """Copy its samples of some scenarios to the folder of another run."""
        samples.mkdir(parents=True, exist_ok=True)
        for name in sorted(scenarios):
            source = self.folder / "samples" / f"{name}{SUFFIX}"
            if source.is_file() and not source.is_symlink():
                shutil.copy2(source, samples / source.name)

    def with_earlier_results(self, deselected: Sequence[TestResult]) -> list[TestResult]:
        """Return the deselected tests, with the earlier results of those that the earlier run measured."""
        return [self.tests.get(test.id, test) for test in deselected]

    def note(self, scenarios: Collection[str]) -> str:
        """Return the note for the reader of the new run."""
        names = ", ".join(sorted(scenarios))
        return f"{names}: measured by run {self.record.run_id}, which this run resumes"


def _identities(sides: dict[str, RuntimeIdentity]) -> dict[str, tuple[str, str, list[str]]]:
    return {side: (each.name, each.version, each.handlers) for side, each in sides.items()}
