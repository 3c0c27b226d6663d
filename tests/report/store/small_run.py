"""A small run on disk, for tests of what is done with many of them."""

import dataclasses
from pathlib import Path

from critests.catalogue.words import Outcome
from critests.record.files import write
from critests.record.identity import RuntimeIdentity
from critests.record.result_records import RequirementVerdict, TestResult
from critests.record.run_record import RunRecord
from critests.report.store import RunEntry

STARTED = 1_795_000_000.0
DAY = 86_400.0
BY_LETTER = {
    "P": Outcome.PASSED,
    "F": Outcome.FAILED,
    "W": Outcome.WARNED,
    "K": Outcome.KNOWN,
    "U": Outcome.UNSUPPORTED,
    "B": Outcome.BLOCKED,
    "E": Outcome.ERROR,
    "D": Outcome.DISABLED,
}


def small_run(
    verdicts: dict[str, str] | None = None, *, night: float = 0, version: str = "2.1.0", **changes: object
) -> RunRecord:
    """Return the run of a night, with a letter for each requirement's verdict."""
    chosen = {name: BY_LETTER[letter] for name, letter in (verdicts or {"SBX-01": "P"}).items()}
    started = STARTED + night * DAY
    record = RunRecord(
        run_id=f"{int(started)}-a1b2c3",
        suite_version="0.1.0",
        catalogue_revision="5d41402abc4b",
        started=started,
        finished=started + 60,
        runtime=RuntimeIdentity(name="containerd", version=version),
        tests=[
            TestResult(
                id=f"sandboxes/test_x.py::test_{name.lower().replace('-', '_')}",
                name=f"test_{name}",
                requirement=name,
                requirement_id=name,
                area="sandboxes",
                outcome=outcome,
                reason="" if outcome is Outcome.PASSED else f"{name} was not seen",
                started=started + 1,
            )
            for name, outcome in chosen.items()
        ],
        requirements={
            name: RequirementVerdict(outcome=outcome, aspects={name: outcome})
            for name, outcome in chosen.items()
        },
        exit_code=1 if Outcome.FAILED in chosen.values() else 0,
    )
    return dataclasses.replace(record, **changes)  # type: ignore[arg-type]  # a test names real fields


def entry(started: float, version: str = "2.1.0", **changes: object) -> RunEntry:
    """Return what an index knows of a run of this time; `changes` replace its fields."""
    fields: dict[str, object] = {
        "number": 0,
        "path": f"containerd/{version}/{started}",
        "kind": "validation",
        "run_id": str(started),
        "runtime": "containerd",
        "version": version,
        "started": started,
        "finished": started + 60,
    }
    return RunEntry(**fields | changes)  # type: ignore[arg-type]  # a test names real fields


def store(results: Path, record: RunRecord) -> Path:
    """Write a run where it belongs."""
    folder = results / "containerd" / record.runtime.version.replace("/", "-") / str(int(record.started))
    folder.mkdir(parents=True)
    write(record, folder)
    return folder
