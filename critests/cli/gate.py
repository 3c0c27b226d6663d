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
from critests.record import expectations
from critests.record.errors import RecordNotWritten, RecordUnreadable
from critests.record.files import write_atomically
from critests.record.layout import results_of
from critests.report.comparison import CompareSettings, NotComparable, read_run
from critests.report.comparison.since import NO_EARLIER, earlier_run
from critests.report.gates.findings import gate_lines, gate_to_json, gate_to_junit
from critests.report.gates.judging import judge_run
from critests.report.gates.policy import Policy, read_policy
from critests.toml_file import TomlMalformed

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
GIVEN: Final = ("max_regression", "quantile", "max_blocked")
EPILOG = """\b
Examples:
  critests gate latest
  critests gate NEW --baseline OLD --max-regression 15%
  critests gate latest --baseline last
  critests gate RUN --policy gate.toml --expectations known.toml --junit gate.xml
  critests gate RUN           of a live comparison: side A is the baseline

\b
Exit codes: 0 passes, 1 fails, 4 wrong usage or policy, 5 could not be judged"""


@click.command(epilog=EPILOG)
@click.argument("run", type=StoredRun())
@click.option("--policy", "policy_file", type=FILE, metavar="FILE", help="what may pass")
@click.option(
    "--expectations",
    "known_failures",
    type=FILE,
    metavar="FILE",
    help="known failures that do not fail, beside those that the run knew; each with an owner and a last day",
)
@click.option(
    "--baseline",
    type=EarlierRun(),
    metavar="RUN",
    help="an earlier run, or last, the last good one of this machine: only what is new since then fails",
)
@click.option(
    "--max-regression", callback=share, metavar="SHARE", help="how much worse an operation may be (10%)"
)
@click.option(
    "--quantile", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="judge this one (0.5)"
)
@click.option("--max-blocked", type=click.IntRange(min=0), metavar="N", help="how many tests may be blocked")
@click.option("--unlike-machines", is_flag=True, help="compare speed although the machines differ")
@output_option("--json", "json_file", "write the decision as JSON")
@output_option("--junit", "junit_file", "write the decision as JUnit XML")
def gate(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Decide whether RUN may pass: conformance and speed, one exit code, and ten lines that explain it.

    What is given here goes before what the policy file says. Speed fails only on evidence.
    """
    file, known_file, named = values["policy_file"], values["known_failures"], values["baseline"]
    try:
        policy = read_policy(file) if file else Policy(source="the built-in policy")
        policy = dataclasses.replace(
            policy, **{name: values[name] for name in GIVEN if values[name] is not None}
        )
        known = expectations.Expectations()
        if known_file:
            known = expectations.load(known_file, known_requirement=catalogue.names().__contains__)
        run = read_run(values["run"])
        baseline = earlier_run(str(named), results_of(run.folder or Path()), run.record) if named else None
        if named and baseline is None:
            msg = f"--baseline {named}: {NO_EARLIER}"
            raise NotPossible(msg)
        settings = CompareSettings(unlike_machines=values["unlike_machines"])
        report = judge_run(run, policy, baseline, known=known, settings=settings)
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
