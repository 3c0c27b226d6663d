"""`critests audit`: whether each way to break the API is noticed, or whether each test notices one."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from critests.audit.below import all_faults
from critests.audit.derived import KINDS, DerivedFault
from critests.audit.derived.choice import chosen, sample
from critests.audit.language.descriptors import FaultError
from critests.cli.pytest_command import VALIDATION, become_pytest, look_for_runtime
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import UsageError
from critests.run.profiles import FULL, PROFILES
from critests.run.settings import Settings

EPILOG = """\b
Examples:
  critests audit --list                                    every fault that is derived from the API
  critests audit --node containerd --faults StopContainer  which of one RPC are noticed
  critests audit --node containerd --sample 100 --seed 7   which of a hundred
  critests audit --tests --node containerd -k test_stop    whether these tests notice their faults"""

DEADLINE_SCALE = 0.5
"""By default: what does not answer costs 5 s."""
TESTS_OF_A_SAMPLE = FULL
"""By default: to record what waits or restarts the daemon takes longer than to try a hundred faults."""


@click.command(cls=Sectioned, epilog=EPILOG)
@run_options("audit", profiles=tuple(PROFILES))
@click.option(
    "--faults",
    "words",
    multiple=True,
    metavar="WHAT",
    help="only these: kind, RPC, requirement, id or the beginning of one, with --tests id;"
    " comma-separated or repeated",
)
@click.option(
    "--sample",
    "size",
    type=click.IntRange(1),
    metavar="N",
    help="a random sample of them; by default on the tests of --profile full",
)
@click.option(
    "--tries",
    type=click.IntRange(0),
    metavar="N",
    default=12,
    show_default=True,
    help="tests that are tried for a fault, the likeliest first; 0 for all that get where it acts",
)
@click.option(
    "--wrapper",
    metavar="CMD",
    help="instead of them, a fault of your own: a command that is given the endpoint of the runtime, and"
    " prints that of a broken one",
)
@click.option("--resume", is_flag=True, help="go on where an audit of this runtime was stopped")
@click.option(
    "--coverage", "record_only", is_flag=True, help="only say which fields of the API the tests exercise"
)
@click.option("--list", "list_only", is_flag=True, help="print the faults by kind, and try none")
@click.option(
    "--tests",
    "of_tests",
    is_flag=True,
    help="the other way round: each test, and the faults that stand beside it",
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="FAULT",
    help="with --tests, this fault on every selected test; given several times, they are set together",
)
@click.option(
    "--oci", is_flag=True, help="with --tests, the faults in what an OCI runtime reads; needs --node"
)
@click.option(
    "-n", "workers", metavar="N", help="N processes at a time; without --tests each has a runtime of its own"
)
@click.option("-k", "expression", metavar="EXPRESSION", help="only tests whose names match, as pytest's -k")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def audit(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Break the API in every way that it has, and say which tests notice.

    Faults are derived from the API itself, one promise each, and set one after the other in a proxy between
    the suite and a runtime. What survives is what no test sees. What follows `--` goes to pytest as it is.
    """
    if values["list_only"]:
        _list(values)
    elif values["of_tests"]:
        _audit_tests(values)
    else:
        _audit_suite(values)


def _words(values: dict[str, Any]) -> list[str]:
    return [word.strip() for each in values["words"] for word in each.split(",") if word.strip()]


def _wanted(values: dict[str, Any]) -> Sequence[DerivedFault]:
    try:
        faults = chosen(all_faults(), _words(values))
    except FaultError as error:
        raise UsageError(str(error)) from error
    return sample(faults, values["size"], int(values["cri_seed"] or 0)) if values["size"] else faults


def _list(values: dict[str, Any]) -> None:
    faults = _wanted(values)
    counts = Counter(fault.kind for fault in faults)
    if values["cri_json"]:
        listed = {"counts": counts, "faults": [_plain(fault) for fault in faults]}
        text = json.dumps(listed, indent=1, ensure_ascii=False)
        with click.open_file(values["cri_json"], "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return
    for kind, says in KINDS.items():
        if counts[kind]:
            click.echo(f"{kind}: {counts[kind]} ({says})")
            click.echo("\n".join(_rows(fault for fault in faults if fault.kind == kind)))
            click.echo()
    total = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
    click.echo(f"{len(faults)} faults: {total}")


def _rows(faults: Iterable[DerivedFault]) -> Iterable[str]:
    for fault in faults:
        breaks = f" [{', '.join(fault.breaks)}]" if fault.breaks else ""
        yield f"  {fault.id}  {fault.says}{breaks}"


def _plain(fault: DerivedFault) -> dict[str, object]:
    return {
        "id": fault.id,
        "kind": fault.kind,
        "fault": fault.text.splitlines(),
        "says": fault.says,
        "reach": str(fault.reach),
        "breaks": list(fault.breaks),
    }


def _audit_suite(values: dict[str, Any]) -> None:
    _wanted(values)  # a word that means nothing is told before a runtime is started
    settings = settings_from({**values, "cri_deadline_scale": values["cri_deadline_scale"] or DEADLINE_SCALE})
    settings = dataclasses.replace(settings, seed=None)
    if values["size"] and not (settings.profile or settings.select or settings.disruptive):
        settings = dataclasses.replace(settings, profile=TESTS_OF_A_SAMPLE)
        click.echo(
            f"a sample is tried on the tests of --profile {TESTS_OF_A_SAMPLE}, unless --profile, --select or"
            " --disruptive says otherwise",
            err=True,
        )
    arguments = ["-qq", "--no-header", "-p", "critests.audit.pytest_sweep", "--cri-sweep"]
    arguments += [f"--cri-sweep-faults={word}" for word in _words(values)]
    arguments += [f"--cri-sweep-tries={values['tries']}", f"--cri-sweep-seed={int(values['cri_seed'] or 0)}"]
    arguments += [f"--cri-sweep-sample={values['size']}"] if values["size"] else []
    if values["workers"] not in {None, "0", "1"}:
        if not settings.node or not values["workers"].isdigit():
            msg = f"-n {values['workers']}: each process starts a runtime of its own: --node, and a number"
            raise UsageError(msg)
        arguments.append(f"--cri-sweep-workers={values['workers']}")
    arguments += [f"--cri-sweep-wrapper={values['wrapper']}"] if values["wrapper"] else []
    arguments += ["--cri-sweep-resume"] if values["resume"] else []
    arguments += ["--cri-sweep-record-only"] if values["record_only"] else []
    _become(values, settings, arguments)


def _audit_tests(values: dict[str, Any]) -> None:
    settings = settings_from(values)
    file, settings = settings.json, dataclasses.replace(settings, json=None, seed=None)
    arguments = ["-p", "critests.audit.pytest_audit", "--cri-audit"]
    arguments += ["--cri-audit-oci", "--cri-audit-only"] if values["oci"] else []
    arguments += [f"--cri-audit-fault={word}" for word in _words(values)]
    arguments += [f"--cri-audit-try={fault}" for fault in values["tried"]]
    arguments += [f"--cri-audit-report={file}"] if file is not None else []
    arguments += ["-n", values["workers"]] if values["workers"] not in {None, "0", "1"} else []
    _become(values, settings, arguments)


def _become(values: dict[str, Any], settings: Settings, arguments: list[str]) -> None:
    if values["expression"]:
        arguments += ["-k", values["expression"]]
    if not (settings.node or values["pytest_args"]):
        look_for_runtime(settings)
    become_pytest(VALIDATION, settings, [*arguments, *values["pytest_args"]])
