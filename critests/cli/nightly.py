"""`critests nightly`: run, measure, compare with the last good run, build the dashboard, notify."""

import json
import secrets
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO, Any, Final

import click

import critests
from critests import catalogue
from critests.cli.run_options import run_options, settings_from
from critests.conditions.condition_table import CONDITIONS, chosen, refuse_processes
from critests.exit_codes import ExitCode, UsageError
from critests.node.starting.targets import parse_node_settings, parse_throwaway
from critests.record.files import read, write
from critests.record.identity import RuntimeIdentity
from critests.record.record_errors import RecordError
from critests.record.run_layout import UNKNOWN, new_run_folder, newest_run, safe_name
from critests.record.run_record import RunRecord
from critests.record.scope import COMPLETE
from critests.report.comparison import NotComparable, compare_records, read_run
from critests.report.comparison.change_sentence import changed, changes_sentence, first_finding
from critests.report.comparison.changes_since import NO_EARLIER, last_good
from critests.report.comparison.comparison_json import comparison_to_plain
from critests.report.dashboard.incident_rows import again_or_over, incident_rows
from critests.report.dashboard.lines import lines, promises
from critests.report.facts.run_parts import differing_parts, run_parts
from critests.report.store import Index
from critests.report.wording.texts import one_line
from critests.run.options import RUNTIME
from critests.run.run_settings import needs_node
from critests.run.stop_signals import wait_for
from critests.runtimes.private_kinds import KINDS

SCHEMA: Final = "critests.notice"
SCHEMA_VERSION: Final = 2
NOTIFY_SECONDS: Final = 60.0
ALL: Final = "all"
EPILOG: Final = """\b
All other options are passed to `critests run`; those that select the runtime also to `critests bench`.

\b
Examples:
  critests nightly --node containerd --site site/
  critests nightly -n 2 --node containerd --site site/ --bench --bench-options '--profile smoke'
  critests nightly --node crio --condition all
  critests nightly --node containerd --node-setting all
  critests nightly --node crio --notify-command 'logger -t critests'

\b
Exits with the exit code of the run. If that is 0: with that of the benchmark, or with 3 if a later step
failed."""


@click.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    help="directory of all results (./results)",
)
@click.option("--bench", is_flag=True, help="also run `critests bench`, after the run")
@click.option(
    "--bench-options",
    metavar="TEXT",
    default="",
    help="options for `critests bench` only, e.g. '--profile smoke'",
)
@click.option("--site", type=click.Path(file_okay=False, path_type=Path), help="build the dashboard here")
@click.option("--run-links", metavar="URL", help="base URL of the dashboard's links to runs, or none")
@click.option(
    "--notify-command",
    metavar="COMMAND",
    default="",
    help="if anything changed, run this program with the changes as JSON on its standard input; without a"
    " shell: for a pipe or a variable write sh -c '...'",
)
@click.option(
    "--condition",
    "conditions",
    metavar="NAMES",
    default="",
    help="run under one of these conditions each night in turn: names with commas, or all",
)
@click.option(
    "--node-setting",
    "node_settings",
    metavar="NAMES",
    default="",
    help="with --node: run with one of these configurations each night in turn: names with commas, or all",
)
@run_options("nightly", hidden=True)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
def nightly(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Run, measure, compare with the last good run, and notify.

    Runs the suite (with --bench the benchmarks too), compares each run with the last good one of the runtime,
    builds the dashboard, and passes the changes to a command.
    """
    results: Path = values["results"]
    settings = settings_from(values)
    runtime = [f"{option.name}={words}" for option, words in settings.given() if option.section == RUNTIME]
    command, bench_options = _words("notify_command", values), _words("bench_options", values)
    processes = any(word.startswith("-n") for word in values["run_options"])
    today = datetime.now(UTC).date()
    of_the_run = [
        *_condition_of(today, values["conditions"], processes=processes),
        *_node_setting_of(today, values["node_settings"], settings.node),
    ]
    before = newest_run(results)
    began = time.time()
    code, last_words = _critests(
        "run", "--results", str(results), *runtime, *of_the_run, *values["run_options"]
    )
    if code == ExitCode.USAGE:
        raise click.exceptions.Exit(code)
    new = [newest_run(results)]
    if new == [before] and code != ExitCode.INTERRUPTED:
        new = [_record_of_no_run(results, _runtime_of(results, settings.node), began, code, last_words)]
    if values["bench"] and code != ExitCode.INTERRUPTED:
        measured, _ = _critests("bench", "--results", str(results), *runtime, *bench_options)
        code = code or measured
        new.append(newest_run(results))
    runs = [run for run in dict.fromkeys(new) if run is not None and run != before]
    problems = [] if runs else [f"the run wrote no record: {last_words or 'it gave no reason'}"]
    notices = [_notice(run, results) for run in runs]
    if not runs and code != ExitCode.INTERRUPTED:
        notices.append({"run": "", "changed": True, "comparison": None, "text": problems[0]})
    if values["site"] is not None:
        links = ["--run-links", values["run_links"]] if values["run_links"] else []
        if _critests("dashboard", str(results), "-o", str(values["site"]), *links)[0]:
            problems.append("the dashboard was not built")
    if command and any(notice["changed"] for notice in notices):
        problems += _notify(command, {"text": "\n".join(each["text"] for each in notices), "runs": notices})
    for problem in problems:
        click.echo(f"nightly: {one_line(problem, 600)}", err=True)
    raise click.exceptions.Exit(code or (ExitCode.HARNESS_ERROR if problems else 0))


def _condition_of(today: date, names: str, *, processes: bool = False) -> list[str]:
    """Return the options for the condition of a day: the next one each day.

    Args:
        today: the day.
        names: of the conditions, with commas; `all`, or empty for none.
        processes: whether the run has several processes.

    Raises:
        UsageError: there is no such condition, or one of them is not for several processes.
    """
    wanted = _names(names, CONDITIONS)
    chosen(wanted)
    if processes:
        refuse_processes(wanted)
    return _in_turn("--condition", wanted, today)


def _node_setting_of(today: date, names: str, node: str) -> list[str]:
    """Return the options for the node setting of a day: the next one each day.

    Args:
        today: the day.
        names: of the settings, with commas; `all` for those of the kind, or empty for none.
        node: the private runtime, as in `--node`; empty without one.

    Raises:
        UsageError: the kind has no such setting, or there is no private runtime.
    """
    if not names:
        return []
    if not node:
        raise UsageError(needs_node("--node-setting"))
    kind = parse_throwaway(node).kind
    wanted = _names(names, KINDS[kind].node_settings)
    parse_node_settings(wanted, kind)
    return _in_turn("--node-setting", wanted, today)


def _in_turn(option: str, names: Sequence[str], today: date) -> list[str]:
    return [option, names[today.toordinal() % len(names)]] if names else []


def _names(text: str, every: Iterable[str]) -> list[str]:
    return list(every) if text == ALL else [name.strip() for name in text.split(",") if name.strip()]


def _words(name: str, values: dict[str, str]) -> list[str]:
    try:
        return shlex.split(values[name])
    except ValueError as error:
        msg = f"--{name.replace('_', '-')}: {error}"
        raise click.UsageError(msg) from error


def _critests(*arguments: str) -> tuple[int, str]:
    """Run a command of critests in a separate process, which handles signals itself; return its exit code,
    and the last line of its standard error, which is passed on.
    """
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "critests.cli", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        last: list[str] = []
        passing = threading.Thread(target=_pass_on, args=(process.stderr, last), daemon=True)
        passing.start()
        code = wait_for(process)
        passing.join()
    return code if code >= 0 else int(ExitCode.INTERRUPTED), "".join(last)


def _pass_on(pipe: IO[bytes], last: list[str]) -> None:
    for line in pipe:
        click.echo(line, nl=False, err=True)
        if line.strip():
            last[:] = [line.decode(errors="replace").strip()]


def _runtime_of(results: Path, node: str) -> RuntimeIdentity | None:
    """Return the runtime of a night in which none could be asked: the private one that the user named with
    `--node`, or else that of the newest run; None where nothing says which it is.
    """
    kind = KINDS.get(node.partition("=")[0])
    name = kind.facts.reported_name if kind else ""
    earlier = newest_run(results / safe_name(name) if name else results)
    if earlier is None:
        return RuntimeIdentity(name=name, version=UNKNOWN) if name else None
    runtime = read(earlier).runtime
    return RuntimeIdentity(name=runtime.name, version=UNKNOWN, handlers=runtime.handlers)


def _record_of_no_run(
    results: Path, runtime: RuntimeIdentity | None, began: float, code: int, why: str
) -> Path | None:
    """Write the record of a night in which the run ended before it had one, so that the night has a column,
    and return its folder; None where the runtime is not known.
    """
    if runtime is None:
        return None
    record = RunRecord(
        run_id=f"{int(began)}-{secrets.token_hex(3)}",
        suite_version=critests.__version__,
        catalogue_revision=catalogue.load().revision,
        started=began,
        finished=time.time(),
        runtime=runtime,
        exit_code=code,
        exit_reason=one_line(why.removeprefix("critests: ") or "the run ended without a reason", 600),
    )
    folder = new_run_folder(results, record.runtime.name, UNKNOWN, began)
    write(record, folder.path)
    return folder.path


def _notice(folder: Path, results: Path) -> dict[str, Any]:
    """Compare a new run with the last good or else the last complete one; print and return the result."""
    notice: dict[str, Any] = {"run": str(folder), "changed": False, "comparison": None}
    try:
        run = read_run(folder)
        runtime = run.record.runtime
        version = "" if runtime.version == UNKNOWN else f" {runtime.version}"
        name = f"{runtime.name}{version}, {run.record.kind}"
        notice |= {"exit_code": run.record.exit_code, "exit_reason": run.record.exit_reason}
        if run.record.exit_code not in COMPLETE and not run.record.tests and not run.record.operations:
            said = f"nothing could be tested: {run.record.exit_reason}"
            return _printed(notice | {"changed": True}, name, said)
        earlier = last_good(results, run.record) or last_good(results, run.record, COMPLETE)
        if earlier is None:
            said = NO_EARLIER
        else:
            before = read_run(earlier)
            found = compare_records(before.record, run.record, before.samples, run.samples)
            differences = differing_parts(run_parts(before.record), run_parts(run.record))
            history = _in_history(results, folder)
            parts = [first_finding(run.record, found)]
            if changed(found) or not history:
                parts.append(changes_sentence(found))
            if differences and changed(found):
                parts.append(f"Differs from the last good run: {'; '.join(map(str, differences))}.")
            said = " ".join(filter(None, [*parts, history, f"Compared with {earlier}."]))
            notice |= {
                "changed": changed(found) or bool(history),
                "comparison": comparison_to_plain(found),
                "differences": [asdict(each) for each in differences],
            }
    except (NotComparable, RecordError) as error:
        name, said = str(folder), str(error)
    return _printed(notice, name, said)


def _in_history(results: Path, folder: Path) -> str:
    """Return when what broke in a run was broken before, and what is good again since it; or nothing."""
    with Index.of(results) as index:
        known = promises(index.requirements())
        rows = [row for line in lines(index) for row in incident_rows(line, known)]
    return again_or_over(rows, folder.relative_to(results).as_posix())


def _printed(notice: dict[str, Any], name: str, said: str) -> dict[str, Any]:
    notice["text"] = one_line(f"{name}: {said}", 1500)
    click.echo(notice["text"])
    return notice


def _notify(command: Sequence[str], document: dict[str, Any]) -> list[str]:
    """Run a command with a document on its standard input, and return the errors."""
    whole = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **document}
    try:
        ended = subprocess.run(command, input=json.dumps(whole).encode(), timeout=NOTIFY_SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"--notify-command could not be started, or did not exit ({type(error).__name__})"]
    return [f"--notify-command exited with {ended.returncode}"] if ended.returncode else []
