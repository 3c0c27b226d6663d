"""The live comparison of two runtimes: one run measures both in interleaved random blocks, two more validate
each.
"""

import dataclasses
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from critests.benchmark.scenario_profiles import COMPARE, SMOKE
from critests.cli.command_errors import NotPossible
from critests.cli.extras import check_installed
from critests.cli.pytest_command import BENCHMARK, VALIDATION, pytest_command, pytest_environment
from critests.exit_codes import ExitCode
from critests.node.host.binaries import MissingProgram, find_program, search_path
from critests.node.starting.targets import EndpointSubject, HandlerSubject, LiveSubject, ThrowawaySubject
from critests.record.comparison_questions import QUESTIONS
from critests.record.files import read
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import RUN_FILE, safe_name
from critests.record.run_record import RunRecord
from critests.record.samples import read_samples
from critests.record.scope import COMPLETE
from critests.report.comparison import CompareSettings, RunComparison, compare_records, compare_sides
from critests.run.run_settings import Settings
from critests.run.stop_signals import wait_for
from critests.runtimes import oci_runtimes

SPEED, CONFORMANCE = "speed", "conformance"
SMOKE_SCENARIOS: Final = tuple(dict.fromkeys(question.scenario for question in QUESTIONS[:8]))
"""What answers the first eight questions."""
SMOKE_SECONDS: Final = 60.0
"""Seconds of sampling for them, for both sides together."""


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """Options of a live comparison.

    Attributes:
        how: How its samples are compared.
        only: `speed`, `conformance`, or empty for both.
        run: Options of the runs that it starts.
        own_oci: Whether each throwaway side uses the OCI runtime that it finds, not that of side A.
    """

    how: CompareSettings
    only: str = ""
    run: Settings
    own_oci: bool = False


def compare_live(a: LiveSubject, b: LiveSubject, options: LiveOptions) -> RunComparison:
    """Measure both sides in one run, validate each, and compare the results.

    Raises:
        UsageError: a package that measuring needs is not installed.
        NotPossible: a side could not be measured or validated.
        click.exceptions.Exit: the user stopped the comparison; nothing is left behind.
    """
    if options.only != CONFORMANCE:
        check_installed("bench")
    options = _with_one_oci_runtime(a, b, options)
    parts: list[RunComparison] = []
    if options.only != CONFORMANCE:
        parts.append(_speed(a, b, options))
    if options.only != SPEED and (options.only or options.run.profile != SMOKE):
        sides = [_validated(side, subject, options) for side, subject in (("A", a), ("B", b))]
        parts.append(compare_records(sides[0], sides[1], settings=options.how))
    if len(parts) == 1:
        return parts[0]
    speed, promises = parts
    return dataclasses.replace(speed, conformance=promises.conformance, notes=[*speed.notes, *promises.notes])


def _with_one_oci_runtime(a: LiveSubject, b: LiveSubject, options: LiveOptions) -> LiveOptions:
    """Configure two throwaway sides with the OCI runtime that side A finds, unless the user chose otherwise:
    else the comparison may be one of two versions of runc.
    """
    throwaway = isinstance(a, ThrowawaySubject) and isinstance(b, ThrowawaySubject)
    if not throwaway or options.own_oci or options.run.handler_binary:
        return options
    first = a.binary.parent if isinstance(a, ThrowawaySubject) and a.binary else None
    try:
        program = find_program(oci_runtimes.DEFAULT, path=search_path(first))
    except MissingProgram:
        return options  # the run reports that it is missing, and how to get it
    run = dataclasses.replace(options.run, handler_binary=(f"{oci_runtimes.DEFAULT}={program}",))
    return dataclasses.replace(options, run=run)


def _speed(a: LiveSubject, b: LiveSubject, options: LiveOptions) -> RunComparison:
    settings = dataclasses.replace(
        _reaching(a, options.run),
        against=str(b),
        profile=options.run.profile or COMPARE,
    )
    if settings.profile == SMOKE and not settings.select:
        settings = dataclasses.replace(
            settings,
            profile=COMPARE,
            select=SMOKE_SCENARIOS,
            budget=SMOKE_SECONDS if settings.budget is None else settings.budget,
        )
    record = _run(BENCHMARK, settings, f"measuring {a} and {b} alternately")
    folder = _folder_of(record, settings.results)
    return compare_sides(record, read_samples(folder / "samples"), options.how)


def _validated(side: str, subject: LiveSubject, options: LiveOptions) -> RunRecord:
    settings = dataclasses.replace(
        _reaching(subject, options.run),
        select=(),
        deselect=(),
        budget=None,
        seed=None,
        resume=None,
        profile=SMOKE if options.run.profile in {"", SMOKE, COMPARE} else "full",
    )
    return _run(VALIDATION, settings, f"validating {side}, {subject}")


def _run(package: str, settings: Settings, what: str) -> RunRecord:
    """Run pytest as `critests run` and `critests bench` do, and return the record."""
    click.echo(f"{what}:", err=True)
    with tempfile.TemporaryDirectory(prefix="critests-compare-") as place:
        copy = Path(place, RUN_FILE)
        settings = dataclasses.replace(settings, json=copy)
        sys.stdout.flush()
        command = pytest_command(package, settings, ["--cri-progress"])
        code = wait_for(subprocess.Popen(command, env=pytest_environment(package)))
        if code == ExitCode.INTERRUPTED:
            raise click.exceptions.Exit(code)
        if code not in COMPLETE:
            msg = f"{what} failed with exit code {code}; its output above says why"
            raise NotPossible(msg)
        return read(copy)


def _folder_of(record: RunRecord, results: Path) -> Path:
    """Return the folder of the run that has just been written."""
    parent = results / safe_name(record.runtime.name) / safe_name(record.runtime.version)
    for file in sorted(parent.glob(f"*/{RUN_FILE}"), reverse=True):
        try:
            if read(file).run_id == record.run_id:
                return file.parent
        except RecordUnreadable:
            continue
    msg = f"the run {record.run_id} is not below {parent}, where it should have been written"
    raise NotPossible(msg)


def _reaching(subject: LiveSubject, settings: Settings) -> Settings:
    """Return the options that select a subject."""
    match subject:
        case EndpointSubject(endpoint):
            return dataclasses.replace(
                settings,
                runtime_endpoint=endpoint,
                node="",
                handler_binary=(),
                cgroup_driver="",
                node_setting=(),
            )
        case ThrowawaySubject():
            return dataclasses.replace(settings, node=str(subject), runtime_endpoint="")
        case HandlerSubject(handler):
            return dataclasses.replace(settings, runtime_handler=(handler,))
