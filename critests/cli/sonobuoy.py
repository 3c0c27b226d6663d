"""`critests sonobuoy`: the entry command of the Sonobuoy plugin, on one node of a cluster.

Contract: results go into `$SONOBUOY_RESULTS_DIR` as one tarball, and when it is whole, its path into the file
`done` beside it. The worker waits for `done` and nothing else, so it is written whatever happens. The
container of a DaemonSet must not end, or it is started again.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from critests.cli.run import run
from critests.cli.run_options import settings_from
from critests.exit_codes import CannotTest, ExitCode
from critests.kinds.table import well_known_sockets
from critests.node.binaries import search_path
from critests.node.borrowed_programs import borrowed, stand_in, wanted
from critests.node.kinds.table import KINDS
from critests.record.errors import RecordUnreadable
from critests.record.files import write_atomically
from critests.record.layout import RUN_FILE
from critests.report.formats import load
from critests.report.formats.junit import to_junit
from critests.report.wording.texts import cut, visible
from critests.run.stop_signals import told_to_stop

VARIABLES: Final = ("SONOBUOY_RESULTS_DIR", "RESULTS_DIR")
DEFAULT_RESULTS: Final = "/tmp/sonobuoy/results"  # noqa: S108 - the place that Sonobuoy's worker looks in
JUNIT: Final = "junit_cri-validation_01.xml"
TARBALL: Final = "critests.tar.gz"
DONE: Final = "done"
SAID_LIMIT: Final = 64 * 1024
EPILOG = """\b
Not with --private: only calls that change nothing, on the node's own runtime, beside its kubelet.
With --private: the whole suite on a second instance of the node's own binary. It has its own root, state,
socket and network; the kubelet does not know it. It runs in the node's mount namespace, which needs hostPID,
a privileged container, and /run/critests and /var/lib/critests of the node mounted at the same paths."""


@click.command(epilog=EPILOG)
@click.option(
    "--private",
    "kind",
    type=click.Choice(tuple(KINDS)),
    help="test a second instance of this runtime of the node",
)
@click.option(
    "--node-root",
    type=click.Path(path_type=Path),
    default=Path("/node"),
    help="where the node's root is mounted (default /node)",
)
@click.option(
    "--node-pid", type=click.IntRange(1), default=1, help="process in the node's mount namespace (default 1)"
)
@click.option(
    "--once", is_flag=True, help="end when the results are handed over, instead of sleeping until stopped"
)
@click.argument("run_arguments", nargs=-1, type=click.UNPROCESSED)
def sonobuoy(
    kind: str | None, node_root: Path, node_pid: int, *, once: bool, run_arguments: tuple[str, ...]
) -> None:
    """Run on one node of a cluster and hand the results to Sonobuoy.

    What follows `--` goes to `critests run`.
    """
    folder = results_folder()
    code, said = int(ExitCode.HARNESS_ERROR), ""
    with tempfile.TemporaryDirectory(prefix="critests-") as scratch:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (
                _private(kind, Path(scratch), node_pid) if kind else _read_only(node_root, run_arguments)
            ) as arguments:
                code, said = _run([*arguments, "--results", f"{scratch}/results", *run_arguments])
        except CannotTest as error:
            code, said = error.exit_code, str(error)
        except (OSError, ValueError) as error:
            said = str(error)
        finally:
            hand_over(Path(scratch) / "results", folder, code, said)
    click.echo(f"critests sonobuoy: the run ended with {code}; {folder / DONE} is written", err=True)
    if not once:
        _sleep()
    sys.exit(code)


def results_folder() -> Path:
    """Return where the worker looks for results."""
    return Path(next((found for name in VARIABLES if (found := os.environ.get(name))), DEFAULT_RESULTS))


def hand_over(results: Path, folder: Path, code: int, said: str) -> Path:
    """Pack the results of a run and tell the worker where they are.

    Args:
        results: What `critests run` wrote below; may be empty or missing.
        folder: The worker's folder.
        code: Exit code of the run.
        said: The end of what it printed, for a run that left no record.

    Returns:
        The file that tells the worker.
    """
    record = max(results.glob(f"*/*/*/{RUN_FILE}"), default=None, key=lambda path: path.stat().st_mtime)
    junit = _failed(code, said)
    if record is not None:
        try:
            junit = to_junit(load(record).record)
        except RecordUnreadable as error:
            junit = _failed(code, f"{error}\n{said}")
    write_atomically(folder / JUNIT, junit)
    partial = folder / f".{TARBALL}.part"
    with tarfile.open(partial, "w:gz") as tar:
        tar.add(folder / JUNIT, JUNIT)
        if record is not None:
            tar.add(record.parent, "run")
    partial.replace(folder / TARBALL)
    write_atomically(folder / DONE, str(folder / TARBALL))
    return folder / DONE


@contextlib.contextmanager
def _read_only(node_root: Path, given: tuple[str, ...]) -> Iterator[list[str]]:
    """Give the arguments of a run that changes nothing on the node's own runtime.

    Raises:
        ValueError: the node has no socket where runtimes listen, and none was given.
    """
    settings = settings_from(run.make_context("run", list(given), resilient_parsing=True).params)
    if settings.runtime_endpoint or settings.node:
        yield ["--read-only"]
        return
    sockets = [node_root / path.relative_to("/") for path in well_known_sockets()]
    found = next((socket for socket in sockets if socket.is_socket()), None)
    if found is None:
        msg = (
            f"no runtime listens at {', '.join(map(str, sockets))}; name it: -- --runtime-endpoint unix:///…"
        )
        raise ValueError(msg)
    yield ["--read-only", "--runtime-endpoint", f"unix://{found}"]


@contextlib.contextmanager
def _private(kind: str, scratch: Path, node_pid: int) -> Iterator[list[str]]:
    """Hold what a run on a second instance of the node's own binary needs, and give its arguments.

    The binary is started through a small script that enters the mount namespace of a process of the node.

    Raises:
        OSError: the namespace cannot be entered.
        ValueError: the node has no such binary.
    """
    daemon = KINDS[kind].facts.program
    with borrowed(node_pid, wanted(KINDS[kind].facts)) as programs:
        binary = next((program for program in programs if program.name == daemon), None)
        if binary is None:
            msg = f"the node has no {daemon} in {search_path()}"
            raise ValueError(msg)
        script = scratch / "bin" / daemon
        script.parent.mkdir()
        stand_in(script, node_pid, binary)
        yield ["--node", f"{kind}={script}"]


def _run(arguments: list[str]) -> tuple[int, str]:
    """Run the suite, show what it prints, and return its exit code and the end of what it said."""
    command = [sys.executable, "-P", "-m", "critests.cli", "run", *arguments]
    click.echo(f"critests sonobuoy: {shlex.join(['critests', *command[4:]])}", err=True)
    said: deque[str] = deque(maxlen=40)
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTEST_PLUGINS": "critests.cli.sonobuoy_progress"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        # a container that is stopped gets SIGTERM; the suite ends in good order, record included, on SIGINT
        before = signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGINT))
        try:
            assert child.stdout is not None
            for line in child.stdout:
                sys.stderr.write(line)
                said.append(line)
        finally:
            signal.signal(signal.SIGTERM, before)
    return child.returncode, "".join(said)


def _failed(code: int, said: str) -> str:
    """Return a JUnit document for a run that left no record: one error that says why."""
    message = f"critests run ended with {code} and left no record"
    suites = ET.Element("testsuites", {"name": "critests"})
    suite = ET.SubElement(
        suites, "testsuite", {"name": "cri", "tests": "1", "failures": "0", "errors": "1", "skipped": "0"}
    )
    case = ET.SubElement(suite, "testcase", {"classname": "critests.run", "name": "the run", "time": "0"})
    ET.SubElement(case, "error", {"message": message, "type": "critests.error"}).text = cut(
        visible(said), SAID_LIMIT
    )
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _sleep() -> None:
    """Wait until the container is stopped."""
    with told_to_stop() as wait:
        wait()
