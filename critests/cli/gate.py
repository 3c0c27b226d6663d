"""`critests gate`: may this run pass?"""

import dataclasses
import sys
from pathlib import Path
from typing import Any, Final

import click

from critests import catalogue
from critests.cli.outputs import output_option
from critests.cli.refusals import NotPossible, NotWritten
from critests.cli.shares import share
from critests.cli.stored_runs import EarlierRun, StoredRun
from critests.record.errors import RecordNotWritten, RecordUnreadable
from critests.record.files import write_atomically
from critests.record.layout import results_of
from critests.report.comparison import CompareSettings, NotComparable, read_run
from critests.report.comparison import StoredRun as Run
from critests.report.comparison.since import NO_EARLIER, earlier_run
from critests.report.gates.judging import judge_run
from critests.report.gates.output import gate_lines, gate_to_json, gate_to_junit
from critests.report.gates.policy import Policy
from critests.report.gates.policy_file import read_policy
from critests.toml_file import TomlMalformed

RUN: Final = StoredRun()
EPILOG = """\b
Examples:
  critests gate latest
  critests gate NEW --baseline OLD --max-regression 15%
  critests gate latest --baseline last
  critests gate RUN --policy gate.toml --junit gate.xml
  critests gate RUN           of a live comparison: side A is the baseline

\b
Exit codes: 0 passes, 1 fails, 4 wrong usage or policy, 5 could not be judged"""


@click.command(epilog=EPILOG)
@click.argument("run", type=RUN)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="what may pass",
)
@click.option(
    "--baseline",
    type=EarlierRun(),
    metavar="RUN",
    help="an earlier run, or last, the last good one of this machine: only what is new since then fails",
)
@click.option(
    "--max-regression",
    callback=share,
    metavar="SHARE",
    help="how much worse an operation may be, 10% unless told otherwise",
)
@click.option(
    "--quantile",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="judge this one, 0.5 unless told otherwise",
)
@click.option("--max-blocked", type=click.IntRange(min=0), metavar="N", help="how many tests may be blocked")
@click.option("--unlike-machines", is_flag=True, help="compare speed although the machines differ")
@output_option("--json", "json_file", "write the decision as JSON")
@output_option("--junit", "junit_file", "write the decision as JUnit XML")
def gate(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Decide whether RUN may pass: conformance and speed, one exit code, and ten lines that explain it.

    What is given here goes before what the policy file says. Speed fails only on evidence.
    """
    try:
        policy = (
            read_policy(values["policy_file"], known_requirement=_is_known)
            if values["policy_file"]
            else Policy(source="the built-in policy")
        )
        given = {
            name: values[name]
            for name in ("max_regression", "quantile", "max_blocked")
            if values[name] is not None
        }
        policy = dataclasses.replace(policy, **given)
        run = read_run(values["run"])
        baseline = _baseline(values["baseline"], run) if values["baseline"] else None
        settings = CompareSettings(unlike_machines=values["unlike_machines"])
        report = judge_run(run, policy, baseline, settings=settings)
        for line in gate_lines(report):
            click.echo(line)
        for path, form in ((values["json_file"], gate_to_json), (values["junit_file"], gate_to_junit)):
            if path is not None:
                write_atomically(path, form(report))
    except TomlMalformed as error:
        raise click.UsageError(str(error)) from error
    except (NotComparable, RecordUnreadable) as error:
        raise NotPossible(str(error)) from error
    except RecordNotWritten as error:
        raise NotWritten(str(error)) from error
    sys.exit(report.exit_code)


def _baseline(named: Path, run: Run) -> Run:
    """Return the run that another one is held against.

    Raises:
        NotPossible: the last good one is asked for, and there is none.
        RecordUnreadable: it cannot be read.
    """
    earlier = earlier_run(str(named), results_of(run.folder or Path()), run.record)
    if earlier is None:
        raise NotPossible(f"--baseline {named}: {NO_EARLIER}")
    return earlier


def _is_known(name: str) -> bool:
    try:
        catalogue.requirement(name.partition("/")[0])
        if "/" in name:
            catalogue.aspect(name)
    except catalogue.UnknownRequirement:
        return False
    return True
