"""The live comparison of two runtimes: both measured in one run, in interleaved random blocks, and both
validated.
"""

import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from critests.benchmark.measuring.client_process import environment
from critests.cli.bench import INI as BENCH_INI
from critests.cli.refusals import NotPossible
from critests.cli.run import INI as RUN_INI
from critests.cli.run_options import pytest_arguments
from critests.exit_codes import ExitCode
from critests.node.subjects import EndpointSubject, HandlerSubject, LiveSubject, ThrowawaySubject
from critests.record.errors import RecordUnreadable
from critests.record.files import RUN_FILE, read
from critests.record.layout import safe_name
from critests.record.run import RunRecord
from critests.record.samples import read_samples
from critests.report.comparison import CompareSettings, RunComparison, compare_records, compare_sides

SPEED, CONFORMANCE = "speed", "conformance"
DEFAULT_SCENARIOS: Final = ("B-01", "B-11", "B-13")
"""The floor, the pod cycle with all its calls, and exec: what a comparison of a few minutes can decide."""
DEFAULT_PROFILE: Final = "smoke"
USABLE: Final = {int(ExitCode.CONFORMS), int(ExitCode.BROKEN)}


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """How a live comparison is made.

    Attributes:
        settings: How its samples are compared.
        only: `speed`, `conformance`, or empty for both.
        values: Options of a run as click hands them over, by `Option.dest`.
    """

    settings: CompareSettings
    only: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def compare_live(a: LiveSubject, b: LiveSubject, options: LiveOptions) -> RunComparison:
    """Measure both sides in one run and validate each, and compare what was found.

    Raises:
        NotPossible: a side could not be measured or validated.
        click.exceptions.Exit: the user stopped it; nothing is left behind.
    """
    parts: list[RunComparison] = []
    if options.only != CONFORMANCE:
        parts.append(_speed(a, b, options))
    if options.only != SPEED:
        sides = [_validated(side, subject, options) for side, subject in (("A", a), ("B", b))]
        parts.append(compare_records(sides[0], sides[1], settings=options.settings))
    if len(parts) == 1:
        return parts[0]
    speed, promises = parts
    return dataclasses.replace(speed, conformance=promises.conformance, notes=[*speed.notes, *promises.notes])


def _speed(a: LiveSubject, b: LiveSubject, options: LiveOptions) -> RunComparison:
    values = _reaching(a, options.values) | {"cri_against": str(b)}
    values["cri_profile"] = values.get("cri_profile") or DEFAULT_PROFILE
    values["cri_select"] = values.get("cri_select") or [",".join(DEFAULT_SCENARIOS)]
    record = _run(BENCH_INI, "critests.benchmark", values, f"measuring {a} and {b} in turn")
    folder = _folder_of(record, Path(values.get("cri_results") or "results"))
    return compare_sides(record, read_samples(folder / "samples"), options.settings)


def _validated(side: str, subject: LiveSubject, options: LiveOptions) -> RunRecord:
    values = _reaching(subject, options.values) | {
        "cri_select": None,
        "cri_deselect": None,
        "cri_budget": None,
        "cri_seed": None,
    }
    values["cri_profile"] = "smoke" if values.get("cri_profile") in {None, "", "smoke"} else "full"
    return _run(RUN_INI, "critests.validation", values, f"validating {side}, {subject}")


def _run(ini: Path, package: str, values: dict[str, Any], what: str) -> RunRecord:
    """Run pytest as `critests run` and `critests bench` do, and return the record."""
    click.echo(f"{what}:", err=True)
    with tempfile.TemporaryDirectory(prefix="critests-compare-") as place:
        copy = Path(place, RUN_FILE)
        arguments = [
            "-c",
            str(ini),
            "--pyargs",
            package,
            "-p",
            "critests.plugin",
            *pytest_arguments(values | {"cri_json": str(copy)}),
        ]
        sys.stdout.flush()
        code = _wait(
            [sys.executable, "-P", "-m", "pytest", *arguments, "--cri-progress"],
            environment(os.environ) if ini is BENCH_INI else os.environ,
        )
        if code == ExitCode.INTERRUPTED:
            raise click.exceptions.Exit(code)
        if code not in USABLE:
            msg = f"{what} ended with exit code {code}; what it printed above says why"
            raise NotPossible(msg)
        return read(copy)


def _wait(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Wait for a command; Ctrl-C reaches it as well as us, and it cleans up before it ends."""
    process = subprocess.Popen(command, env=env)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def _folder_of(record: RunRecord, results: Path) -> Path:
    """Return the folder of a run that has just been written."""
    parent = results / safe_name(record.runtime.name) / safe_name(record.runtime.version)
    for file in sorted(parent.glob(f"*/{RUN_FILE}"), reverse=True):
        try:
            if read(file).run_id == record.run_id:
                return file.parent
        except RecordUnreadable:
            continue
    msg = f"the run {record.run_id} is not below {parent}, where it was to be written"
    raise NotPossible(msg)


def _reaching(subject: LiveSubject, values: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a subject is reached."""
    match subject:
        case EndpointSubject(endpoint):
            return values | {"cri_runtime_endpoint": endpoint, "cri_node": None}
        case ThrowawaySubject():
            return values | {"cri_node": str(subject), "cri_runtime_endpoint": None}
        case HandlerSubject(handler):
            return values | {"cri_runtime_handler": [handler]}
