"""Going on where an earlier benchmark was stopped: what it measured is kept, and not measured again."""

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

STRICTER = ("architecture", "kernel_build", "cpu", "cgroup")
"""Facts that must be the very same, beside those without which two machines are not compared: one run is of
one machine.
"""


@dataclass(frozen=True)
class StoppedBenchmark:
    """A benchmark that was stopped, or of which a scenario could not be measured.

    Attributes:
        folder: where it lies.
        record: of it.
        facts: how it was made.
        tests: id to the result of each scenario that it measured.
    """

    folder: Path
    record: RunRecord
    facts: BenchmarkFacts
    tests: dict[str, TestResult]

    @classmethod
    def of(cls, settings: Settings, profile: str) -> Self | None:
        """Return the run that the user wants to go on with; None where none is named.

        Raises:
            UsageError: it is no benchmark, or one that was measured in another way.
        """
        if settings.resume is None:
            return None
        try:
            record = read(settings.resume)
        except RecordUnreadable as error:
            msg = f"--resume {settings.resume}: {error}"
            raise UsageError(msg) from error
        if record.kind != "benchmark" or record.benchmark is None:
            msg = f"--resume {settings.resume}: it is no benchmark"
            raise UsageError(msg)
        facts = record.benchmark
        for what, was, now in (
            ("--profile", facts.profile, profile),
            ("--seed", facts.seed, facts.seed if settings.seed is None else settings.seed),
        ):
            if was != now:
                msg = (
                    f"--resume {settings.resume}: it was made with {what} {was}, which has to be given again"
                )
                raise UsageError(msg)
        folder = settings.resume if settings.resume.is_dir() else settings.resume.parent
        measured = {test.id: test for test in record.tests if test.outcome is Outcome.PASSED}
        return cls(folder, record, facts, measured)

    def refuse_strangers(
        self, runtime: tuple[str, str], sides: dict[str, RuntimeIdentity], seconds: float
    ) -> None:
        """See that what is measured now is what was measured then.

        Args:
            runtime: name and version of the runtime.
            sides: of a comparison, by name; empty otherwise.
            seconds: of all scenarios together.

        Raises:
            CannotTest: it is another runtime or machine, or other lengths.
        """
        now = json.loads(json.dumps(fingerprint()))  # as a record holds it
        was = (self.record.runtime.name, self.record.runtime.version)
        told = {
            "runtime": (was, runtime),
            "sides": (_who(self.facts.sides), _who(sides)),
            "seconds of sampling": (round(self.facts.budget_seconds), round(seconds)),
            **{name: (then, today) for name, then, today in unlike(self.record.machine, now)},
            **{fact: (self.record.machine.get(fact), now.get(fact)) for fact in STRICTER},
        }
        for what, (then, today) in told.items():
            if then != today:
                msg = f"--resume: the {what} of the earlier run was {then}, and is {today} now"
                raise CannotTest(msg)

    def operations(self, scenarios: Collection[str]) -> list[OperationResult]:
        """Return what it measured of some scenarios."""
        return [each for each in self.record.operations if each.scenario in scenarios]

    def copy_samples(self, scenarios: Collection[str], samples: Path) -> None:
        """Copy the samples of some scenarios to the folder of another run."""
        samples.mkdir(parents=True, exist_ok=True)
        for name in sorted(scenarios):
            source = self.folder / "samples" / f"{name}{SUFFIX}"
            if source.is_file() and not source.is_symlink():
                shutil.copy2(source, samples / source.name)

    def instead_of(self, deselected: Sequence[TestResult]) -> list[TestResult]:
        """Return the tests that this run leaves out, those that the earlier one measured with its results."""
        return [self.tests.get(test.id, test) for test in deselected]

    def note(self, scenarios: Collection[str]) -> str:
        """Say what a reader of the new run has to know."""
        names = ", ".join(sorted(scenarios))
        return f"{names}: measured by the run {self.record.run_id}, with which this one goes on"


def _who(sides: dict[str, RuntimeIdentity]) -> dict[str, tuple[str, str, list[str]]]:
    return {side: (each.name, each.version, each.handlers) for side, each in sides.items()}
