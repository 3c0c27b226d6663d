"""`critests gate`: whether a run passes."""

import dataclasses
import sys
from pathlib import Path
from typing import Any, Final

import click

from critests import catalogue
from critests.cli.command_errors import NotPossible, of_comparisons
from critests.cli.option_types import output_option, share
from critests.cli.stored_runs import EarlierRun, StoredRunPath, results_option
from critests.record import expectations
from critests.record.files import record_file, write_atomically
from critests.record.run_layout import results_of
from critests.report.comparison import CompareSettings, read_run
from critests.report.comparison.changes_since import NO_EARLIER, earlier_run
from critests.report.gates.gate_decision import judge_run
from critests.report.gates.gate_findings import gate_lines, gate_to_json, gate_to_junit
from critests.report.gates.policy import Policy, read_policy

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
EPILOG = """\b
Examples:
  critests gate latest
  critests gate NEW --baseline OLD --max-regression 15%
  critests gate latest --baseline last
  critests gate latest --results /var/lib/critests --baseline last
  critests gate RUN --policy gate.toml --expectations known.toml --junit gate.xml
  critests gate RUN           RUN is a live comparison: side A is the baseline

\b
Exit codes: 0 passed, 1 failed, 4 wrong usage or policy, 5 could not be judged"""


@click.command(epilog=EPILOG)
@click.argument("run", type=StoredRunPath())
@click.option("--policy", "policy_file", type=FILE, metavar="FILE", help="policy: what fails (TOML)")
@click.option(
    "--expectations",
    "known_failures",
    type=FILE,
    metavar="FILE",
    help="further known failures, which do not fail the gate; each has an owner and an expiry date",
)
@click.option(
    "--baseline",
    type=EarlierRun(),
    metavar="RUN",
    help="an earlier run, or last for the last good run on this machine: only what is new since then fails",
)
@click.option(
    "--max-regression", callback=share, metavar="SHARE", help="how much worse an operation may be (10%)"
)
@click.option(
    "--unlike",
    "--unlike-machines",
    "unlike_machines",
    is_flag=True,
    help="accept a baseline of another runtime or OCI runtime, and compare speed even if the machines differ",
)
@results_option("where latest, and the runs of --baseline last, are looked for (default: results)")
@output_option("--json", "json_file", "write the decision as JSON")
@output_option("--junit", "junit_file", "write the decision as JUnit XML")
def gate(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Decide whether RUN passes, as one exit code.

    Judges conformance and speed, and explains the decision in at most twenty lines, the last of which are the
    runs that were compared. `--max-regression` overrides the policy file. A regression fails only if it is
    statistically significant.
    """
    file, known_file, named = values["policy_file"], values["known_failures"], values["baseline"]
    with of_comparisons():
        policy = read_policy(file) if file else Policy(source="the built-in policy")
        if values["max_regression"] is not None:
            policy = dataclasses.replace(policy, max_regression=values["max_regression"])
        known = expectations.Expectations()
        if known_file:
            known = expectations.load(known_file, known_requirement=catalogue.names().__contains__)
        run = read_run(values["run"])
        known = known.under(run.record.conditions.names)
        baseline = earlier_run(str(named), results_of(run.folder or Path()), run.record) if named else None
        if named and baseline is None:
            msg = f"--baseline {named}: {NO_EARLIER}"
            raise NotPossible(msg)
        settings = CompareSettings(unlike_machines=values["unlike_machines"])
        report = judge_run(run, policy, baseline, known=known, settings=settings)
        for line in gate_lines(report):
            click.echo(line)
        click.echo(f"record: {record_file(run.folder) if run.folder else values['run']}")
        if values["json_file"] is not None:
            write_atomically(values["json_file"], gate_to_json(report))
        if values["junit_file"] is not None:
            write_atomically(values["junit_file"], gate_to_junit(report, run.record))
    sys.exit(report.exit_code)
