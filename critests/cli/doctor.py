"""`critests doctor`: what can be tested here, what is missing, and how to get it."""

import contextlib
import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import click
import grpc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.client.connection import Connection
from critests.exit_codes import CannotTest, ExitCode
from critests.lifecycle.run_label import RUN_LABEL
from critests.node.host.listeners import binary_of_process
from critests.node.host.privileges import process_capabilities, user_namespace
from critests.node.observing.kubelet import live_kubelet
from critests.node.observing.machine_facts import fingerprint
from critests.node.observing.remedies import REMEDIES
from critests.report.facts.run_facts import flat
from critests.report.terminal.console import new_console, print_title
from critests.report.wording.reason_sentences import said
from critests.run.beginning import begin_run
from critests.run.classification import classify
from critests.run.conclusion import known_failures
from critests.run.context import RunContext
from critests.run.outcomes import Blocked, SetUpFailed
from critests.run.pulled_images import TestImages
from critests.run.run_settings import Settings

Rows: TypeAlias = list[tuple[str, str]]


@dataclass
class Findings:
    """The findings of `critests doctor`, in the form that `--json` writes.

    Attributes:
        ready: whether a run could begin.
        exit_code: exit code of `critests doctor`.
        reason: why a run could not begin; empty if it could.
        runtime: facts about the runtime, by name.
        images: where the test images come from, by name.
        capabilities: for each, whether it is present, the evidence, and how to get it if it is missing.
        machine: facts about this machine; sizes are in bytes.
        left_behind: what could not be removed.
    """

    ready: bool = False
    exit_code: int = int(ExitCode.NOT_TESTED)
    reason: str = ""
    runtime: dict[str, str] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    capabilities: list[dict[str, str | bool | None]] = field(default_factory=list)
    machine: dict[str, object] = field(default_factory=fingerprint)
    left_behind: list[str] = field(default_factory=list)


@click.command(cls=Sectioned)
@run_options("doctor")
@click.option("--json", "as_json", is_flag=True, help="print the findings as one JSON object")
def doctor(*, as_json: bool, **values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Report what can be tested here and what is missing.

    Creates a pod and a container, pulls an image, and removes them again; with --read-only changes nothing.
    Exits with 0 if a run could begin, else with 5.
    """
    found = _examined(settings_from(values))
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False, indent=1))
    else:
        _print(found, new_console())
    sys.exit(found.exit_code)


def _examined(settings: Settings) -> Findings:
    found = Findings()
    try:
        context = begin_run(settings, keep_results=False)
    except CannotTest as error:
        found.exit_code, found.reason = int(error.exit_code), str(error)
        return found
    if context.gone:
        found.left_behind = context.end()
        found.exit_code, found.reason = int(ExitCode.NOT_TESTED), said(context.gone)
        return found
    try:
        with contextlib.closing(context.connect()) as connection:
            _examine(context, connection, found)
    finally:
        found.left_behind = context.end()
    found.ready, found.exit_code = True, int(ExitCode.NO_NEW_FAILURE)
    return found


def _examine(context: RunContext, connection: Connection, found: Findings) -> None:
    found.runtime = dict(_runtime(context, connection))
    images = TestImages(connection, context)
    rows, pulled = _images(context, images)
    found.images = dict(rows)
    matrix = context.matrix(connection, context.settings.handlers[0], images.pull if pulled else None)
    for fact in matrix.probe_all():
        if not pulled and fact.evidence == "there is no probe for it":
            continue
        remedy = "" if fact.present else REMEDIES.get(Capability(fact.name), "")
        found.capabilities.append(
            {"name": fact.name, "present": fact.present, "evidence": fact.evidence, "remedy": remedy}
        )
    if not pulled:
        found.reason = "only tests that need no image can run"


def _print(found: Findings, out: Console) -> None:
    print_title(out, "Runtime")
    if not found.ready:
        out.print(Text.assemble(("  cannot be tested: ", "bold red"), found.reason))
    else:
        _rows(out, list(found.runtime.items()))
        print_title(out, "Images")
        _rows(out, list(found.images.items()))
        _capabilities(out, found)
    _machine(out, found.machine)
    if found.ready and found.reason:
        out.print(Text(f"\n{found.reason.capitalize()}.", style="yellow"))
    elif found.ready:
        out.print(Text("\nReady: run `critests run` with the same options.", style="green"))
    for problem in found.left_behind:
        out.print(Text(f"left behind: {problem}", style="yellow"))


def _known(context: RunContext) -> str:
    """Say how many known failures are listed for this version."""
    version = context.version
    listed = known_failures(context.settings, version.runtime_name)
    if not listed.known:
        return (
            f"no list for {version.runtime_name or 'a runtime without a name'}, so every failure counts;"
            " pass a list with critests run --expectations FILE"
        )
    holding = sum(entry.versions.holds(version.runtime_version) for entry in listed.known)
    return f"{holding} of the {len(listed.known)} in {listed.source} apply to this version"


def _runtime(context: RunContext, connection: Connection) -> Rows:
    version = context.version
    rows = [
        ("endpoint", f"{context.endpoint.text}, from {context.found_by}"),
        (
            "image endpoint",
            context.image_endpoint.text if context.image_endpoint != context.endpoint else "the same",
        ),
        ("version", f"{version.runtime_name} {version.runtime_version}, CRI {version.runtime_api_version}"),
        ("API level", f"at least {context.level} ({context.level.evidence}); --api-level can raise it"),
        ("cgroup driver", context.driver.value),
        ("known failures", _known(context)),
    ]
    if context.daemon_pid:
        daemon = binary_of_process(context.daemon_pid)
        held = {name.removeprefix("CAP_") for name in process_capabilities(context.daemon_pid).permitted}
        lacking = sorted({"SYS_ADMIN", "SYS_RESOURCE", "NET_ADMIN", "SYS_PTRACE", "MKNOD"} - held)
        rows.append(("daemon", f"pid {context.daemon_pid}, {daemon.binary or 'binary not visible'}"))
        rows.append(
            (
                "its privileges",
                f"{len(held)} capabilities{', missing ' + ', '.join(lacking) if lacking else ''}",
            )
        )
    status = connection.runtime.Status(cri.StatusRequest())
    for condition in status.status.conditions:
        words = f" ({condition.reason}: {condition.message})" if condition.reason or condition.message else ""
        rows.append((condition.type, f"{str(condition.status).lower()}{words}"))
    rows.append(
        (
            "handlers",
            ", ".join(handler.name or "(default)" for handler in status.runtime_handlers)
            or "Status lists none",
        )
    )
    pods = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    foreign = sum(RUN_LABEL not in pod.labels for pod in pods)
    signs = live_kubelet(context.endpoint.text, [dict(pod.labels) for pod in pods])
    rows.append(("kubelet", "; ".join(sign.evidence for sign in signs) or "none uses this endpoint"))
    rows.append(("other pods", str(foreign)))
    return rows


def _images(context: RunContext, images: TestImages) -> tuple[Rows, bool]:
    where = context.settings.image_prefix or (context.registry.address if context.registry else "")
    if not where:
        return [("source", "none: the run is --read-only")], False
    try:
        image = images.pull()
    except (Blocked, SetUpFailed, grpc.RpcError) as error:
        return [("source", where), ("pull", said(classify(error, "setup").why))], False
    return [("source", where), ("pull", f"works: {image.written}")], True


def _capabilities(out: Console, found: Findings) -> None:
    print_title(out, "Capabilities")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    marks = {True: ("yes", "green"), False: ("no", "yellow"), None: ("?", "dim")}
    for fact in found.capabilities:
        present = fact["present"]
        word, style = marks[present if isinstance(present, bool) else None]
        evidence = Text(str(fact["evidence"]), style="dim")
        if fact["remedy"]:
            evidence.append(f"\nto get it: {fact['remedy']}", style="default")
        table.add_row(Text(f"  {word}", style=style), Text(str(fact["name"])), evidence)
    out.print(table)


def _machine(out: Console, facts: dict[str, object]) -> None:
    print_title(out, "This machine")
    own = process_capabilities()
    rows = flat({name: value for name, value in facts.items() if name != "capabilities"})
    users = user_namespace()
    inside = f", in a user namespace (uid_map {users}): they do not hold for the node" if users else ""
    rows.append(("this process", f"{len(own.permitted)} capabilities{inside}"))
    _rows(out, rows)


def _rows(out: Console, rows: Rows) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows:
        table.add_row(Text(f"  {name}", no_wrap=True), Text(value, overflow="fold"))
    out.print(table)
