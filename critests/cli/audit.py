"""`critests audit`: whether each way to break the API is noticed, or whether each test notices one."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from critests.audit.derived import KINDS, DerivedFault, derived_faults
from critests.audit.derived.choice import chosen, sample
from critests.audit.descriptors import FaultError
from critests.cli.pytest_command import VALIDATION, become_pytest, look_for_runtime
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import UsageError
from critests.run.profiles import PROFILES

EPILOG = """\b
Examples:
  critests audit --list                                    every fault that is derived from the API
  critests audit --list --faults StopContainer             those of one RPC
  critests audit --tests --node containerd -k test_stop    whether these tests notice their faults"""


@click.command(cls=Sectioned, epilog=EPILOG)
@run_options("audit", profiles=tuple(PROFILES))
@click.option(
    "--faults",
    "words",
    multiple=True,
    metavar="WHAT",
    help="only these: kind, RPC, requirement, id or the beginning of one; comma-separated or repeated",
)
@click.option("--sample", "size", type=click.IntRange(1), metavar="N", help="a random sample of them")
@click.option("--list", "list_only", is_flag=True, help="print the faults by kind, and try none")
@click.option(
    "--tests",
    "of_tests",
    is_flag=True,
    help="the other way round: each test, and the faults that stand beside it",
)
@click.option(
    "--oci", is_flag=True, help="with --tests, the faults in what an OCI runtime reads; needs --node"
)
@click.option("-n", "workers", metavar="N", help="with --tests, in N processes at a time")
@click.option("-k", "expression", metavar="EXPRESSION", help="only tests whose names match, as pytest's -k")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def audit(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Break the API in every way that it has, and say which tests notice.

    Faults are derived from the API itself, one promise each. What follows `--` goes to pytest as it is.
    """
    if values["list_only"]:
        _list(values)
    elif values["of_tests"]:
        _audit_tests(values)
    else:
        msg = "say what is wanted: --list or --tests"
        raise click.UsageError(msg)


def _wanted(values: dict[str, Any]) -> Sequence[DerivedFault]:
    words = [word.strip() for each in values["words"] for word in each.split(",") if word.strip()]
    try:
        faults = chosen(derived_faults(), words)
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
        "fault": fault.text,
        "says": fault.says,
        "reach": str(fault.reach),
        "breaks": list(fault.breaks),
    }


def _audit_tests(values: dict[str, Any]) -> None:
    settings = settings_from(values)
    arguments = ["-p", "critests.audit.pytest_audit", "--cri-audit"]
    if values["oci"]:
        arguments += ["--cri-audit-oci", "--cri-audit-only"]
    if values["workers"] not in {None, "0", "1"}:
        arguments += ["-n", values["workers"]]
    if values["expression"]:
        arguments += ["-k", values["expression"]]
    if not (settings.node or values["pytest_args"]):
        look_for_runtime(settings)
    become_pytest(VALIDATION, settings, [*arguments, *values["pytest_args"]])
