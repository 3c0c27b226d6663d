"""`critests nightly`: run, store, export, compare, tell and show, as one command for a timer."""

import fcntl
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from critests.cli.dashboard import links, said
from critests.cli.explore import Duration
from critests.cli.results import Age, StoreProblem, open_index
from critests.cli.run_options import run_options, settings_from
from critests.exit_codes import ExitCode
from critests.record.errors import RecordError
from critests.report.dashboard import Options, build
from critests.report.formats import FORMATS, NotExported, load
from critests.report.notices.changed import Notice, notice_of, to_json
from critests.report.notices.delivery import NotDelivered, hand_over, post
from critests.report.notices.levels import level_notice_of, level_notice_to_json
from critests.report.run_kinds import BENCHMARK, VALIDATION
from critests.report.store import Index, RunEntry, remove, surplus
from critests.report.wording.texts import one_line, plural
from critests.run.options import RUNTIME
from critests.run.settings import Settings
from critests.run.stop_signals import wait_for

WEBHOOK, TOKEN = "CRITESTS_WEBHOOK", "CRITESTS_WEBHOOK_TOKEN"
LOCK_FILE: Final = ".nightly.lock"
EPILOG = f"""\b
All other options go to `critests run`; those that name the runtime also to `critests bench`.

\b
Examples:
  critests nightly --node containerd --site site/
  critests nightly -n 2 --node containerd --site site/ --bench --export testgrid=bucket/
  {WEBHOOK}=https://… critests nightly --node crio --notify-command 'logger -t critests'

\b
Ends with the exit code of the run. Where that is 0: with that of the benchmark or of the exploration, or with
3 if a later step failed."""


@click.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    help="directory of all results (./results)",
)
@click.option("--bench", is_flag=True, help="also `critests bench`, after the run")
@click.option(
    "--bench-options",
    metavar="TEXT",
    default="",
    help="options of `critests bench` alone, such as '--profile smoke'",
)
@click.option(
    "--explore", "exploring", type=Duration(), help="also `critests explore` for so long, such as 30m"
)
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FORMAT=PATH",
    help="write the new runs in this format (see `critests report`)",
)
@click.option("--site", type=click.Path(file_okay=False, path_type=Path), help="build the dashboard here")
@click.option("--run-links", metavar="URL", help="as in `critests dashboard`")
@click.option(
    "--webhook",
    metavar="URL",
    help=f"post a notice here when a state changed (better in {WEBHOOK}; a token in {TOKEN})",
)
@click.option(
    "--notify-command",
    metavar="COMMAND",
    help="give the notice to this program on its standard input; no shell reads the words: for a pipe or a"
    " variable write sh -c '...'",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="keep the N newest runs of each runtime, version and kind",
)
@click.option("--newer-than", "days", type=Age(), metavar="AGE", help="keep what is newer: 90d, 12w, 36h")
@run_options("nightly", hidden=True)
@click.argument("run_options", nargs=-1, type=click.UNPROCESSED)
def nightly(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Run everything that a night needs.

    Run the suite (and, with --bench and --explore, the benchmarks and an exploration), bring the index up to
    date, write the exports, compare with the last good run of the runtime, send a notice if a requirement
    broke, was fixed or became flaky or if the level of a benchmark is proven to have changed, remove old
    runs, and build the dashboard.
    """
    runtime = runtime_options(settings_from(values))
    results: Path = values["results"]
    exports = [_export(each) for each in values["exports"]]
    command = _command(values["notify_command"])
    results.mkdir(parents=True, exist_ok=True)
    with _alone(results):
        index, _ = open_index(results)
        with index:
            began = {entry.path for entry in index.runs()}
            code = _critests("run", "--results", str(results), *runtime, *values["run_options"])
            if code == ExitCode.USAGE:
                raise click.exceptions.Exit(code)
            if values["bench"] and code != ExitCode.INTERRUPTED:
                options = shlex.split(values["bench_options"])
                measured = _critests("bench", "--results", str(results), *runtime, *options)
                code = code or measured
            if values["exploring"] and code != ExitCode.INTERRUPTED:
                lasting = ["--time", f"{int(values['exploring'])}s"]
                explored = _critests("explore", "--results", str(results), *runtime, *lasting)
                code = code or explored
            problems = [
                f"{path}: {problem}"
                for path, problem in index.update(results).damaged.items()
                if path not in began
            ]
            new = [entry for entry in index.runs() if entry.path not in began][::-1]
            if not new:
                problems.append("the run left no record")
            problems += _export_all(results, new, exports)
            problems += _tell(index, new, values["webhook"] or os.environ.get(WEBHOOK, ""), command)
            problems += _prune(index, results, values["keep"], values["days"])
            problems += _show(index, results, values["site"], values["run_links"])
    for problem in problems:
        click.echo(f"nightly: {one_line(problem, 600)}", err=True)
    raise click.exceptions.Exit(code or (ExitCode.HARNESS_ERROR if problems else 0))


def runtime_options(settings: Settings) -> list[str]:
    """Return those of a run's options that say which runtime, as a command takes them."""
    return [f"{option.name}={words}" for option, words in settings.given() if option.section == RUNTIME]


def _critests(*arguments: str) -> int:
    """Run a command of critests in a process of its own and return its exit code; a signal is left to it to
    act upon.
    """
    sys.stdout.flush()
    process = subprocess.Popen([sys.executable, "-P", "-m", "critests.cli", *arguments])
    code = wait_for(process)
    return code if code >= 0 else int(ExitCode.INTERRUPTED)


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """Wait until no other `critests nightly` is at work on these results."""
    try:
        descriptor = os.open(results / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        msg = f"cannot write in {results}: {error.strerror or error}"
        raise StoreProblem(msg) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            click.echo(f"another nightly is at work on {results}; waiting for it", err=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _export(text: str) -> tuple[str, Path]:
    """Read `FORMAT=PATH`."""
    name, equals, path = text.partition("=")
    if not equals or not path or name not in FORMATS:
        msg = f"--export {text}: expected FORMAT=PATH with one of {', '.join(FORMATS)}"
        raise click.UsageError(msg)
    return name, Path(path)


def _command(text: str | None) -> list[str]:
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        msg = f"--notify-command: {error}"
        raise click.UsageError(msg) from error
    return words


def _export_all(results: Path, new: Sequence[RunEntry], exports: Sequence[tuple[str, Path]]) -> list[str]:
    problems = []
    for entry in new:
        for name, output in exports:
            try:
                FORMATS[name].write(load(results / entry.path), output)
            except (RecordError, NotExported) as error:
                problems.append(f"export {name} of {entry.path}: {error}")
    return problems


def _tell(index: Index, new: Sequence[RunEntry], webhook: str, command: Sequence[str]) -> list[str]:
    """Say what changed, and send it where anything did."""
    problems = []
    for sentence, document in _notices(index, new):
        click.echo(sentence)
        if document is None:
            continue
        try:
            if webhook:
                post(webhook, document, token=os.environ.get(TOKEN, ""))
            if command:
                hand_over(command, document)
        except NotDelivered as error:
            problems.append(str(error))
    return problems


def _notices(index: Index, new: Sequence[RunEntry]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Return a sentence for each new run, and what is to be sent, where anything changed."""
    for entry in new:
        if entry.kind == VALIDATION:
            notice = notice_of(index, entry)
            yield _compared(notice), to_json(notice) if notice.worth_sending else None
        elif entry.kind == BENCHMARK:
            told = level_notice_of(index, entry)
            yield told.summary, level_notice_to_json(told) if told.worth_sending else None


def _compared(notice: Notice) -> str:
    if notice.baseline is None:
        return f"{notice.summary}; there is no earlier complete run to compare with"
    return f"{notice.summary}; compared with {one_line(notice.baseline.path)}"


def _prune(index: Index, results: Path, keep: int | None, days: float | None) -> list[str]:
    if keep is None and days is None:
        return []
    removed, left = remove(results, surplus(index.runs(), now=time.time(), keep=keep, days=days))
    index.update(results)
    click.echo(f"{plural(len(removed), 'old run')} removed")
    return [f"{path} could not be removed: {problem}" for path, problem in left.items()]


def _show(index: Index, results: Path, site: Path | None, run_links: str | None) -> list[str]:
    if site is None:
        return []
    try:
        built = build(index, site, Options(now=time.time(), run_links=links(results, site, run_links)))
    except RecordError as error:
        return [str(error)]
    click.echo(said(built, site))
    return []
