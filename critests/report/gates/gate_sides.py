"""What a gate compares: both runs in a line each, and in what else than the runtime's version they differ."""

from collections.abc import Iterator
from typing import Final

from critests.record.identity import ProgramFile
from critests.record.run_record import RunRecord
from critests.report.comparison.fairness import OCI_RUNTIME, compare_machines, oci_runtime_name
from critests.report.wording.partial_run import partial
from critests.report.wording.texts import one_line, utc_time

_COMPONENTS: Final = ("cgroup driver", "storage", "node settings")
_DIGEST: Final = 12
"""Characters shown of a digest."""


def refusals(baseline: RunRecord, run: RunRecord) -> list[str]:
    """Return why a baseline is not one for a run: it is of another runtime or of another OCI runtime."""
    names = (
        ("runtime", baseline.runtime.name, run.runtime.name),
        (OCI_RUNTIME, oci_runtime_name(baseline), oci_runtime_name(run)),
    )
    return [
        f"the baseline is of another {what}, {one_line(old, 60)}, and the run of {one_line(new, 60)}"
        for what, old, new in names
        if old and new and old != new
    ]


def sides(run: RunRecord, baseline: RunRecord | None) -> list[str]:
    """Return a line for each run: runtime, OCI runtime, machine, selection, time, id."""
    rows = [("run", run), *([("baseline", baseline)] if baseline else [])]
    return [f"{label}: {_described(record)}" for label, record in rows]


def differences(baseline: RunRecord, run: RunRecord) -> list[str]:
    """Return what differs between the environments of both runs, one sentence each."""
    found = [*refusals(baseline, run), *_other_files(baseline, run), *_other_components(baseline, run)]
    machines = [
        f"{each.name} ({one_line(each.a, 60)}, now {one_line(each.b, 60)})"
        for each in compare_machines(baseline.machine, run.machine).differences
        if each.a != each.b
    ]
    if machines:
        found.append(f"the machine of the baseline differs: {', '.join(machines)}")
    old, new = (partial(record) or "the whole suite" for record in (baseline, run))
    if old.partition(";")[0] != new.partition(";")[0]:
        found.append(f"the baseline is of another part of the suite: {one_line(old, 120)}")
    return found


def _described(record: RunRecord) -> str:
    runtime = record.runtime
    program = _program(record, OCI_RUNTIME)
    oci = record.runtime.parts.get(OCI_RUNTIME, "")
    at = f" ({one_line(program.path, 120)})" if program else ""
    kernel = str(record.machine.get("kernel") or "")
    parts = [
        f"{one_line(runtime.name or 'unknown runtime', 60)} {one_line(runtime.version, 60)}",
        f"{one_line(oci, 60)}{at}" if oci else "",
        f"kernel {one_line(kernel, 60)}" if kernel else "",
        one_line(partial(record), 200) or "the whole suite",
        utc_time(record.started),
        one_line(record.run_id, 60),
    ]
    return ", ".join(filter(None, parts))


def _program(record: RunRecord, role: str) -> ProgramFile | None:
    return next((program for program in record.runtime.programs if program.role == role), None)


def _other_files(baseline: RunRecord, run: RunRecord) -> Iterator[str]:
    """Yield the programs that are another file although they report the same version."""
    before = {_role(program): program for program in baseline.runtime.programs}
    for program in run.runtime.programs:
        old = before.get(_role(program))
        if old is None or not (old.sha256 and program.sha256) or old.sha256 == program.sha256:
            continue
        if old.version == program.version or program.role != "daemon":
            yield (
                f"the {program.role} is another file: {one_line(old.path, 120)}"
                f" ({old.sha256[:_DIGEST]}) in the baseline, {one_line(program.path, 120)}"
                f" ({program.sha256[:_DIGEST]}) now"
            )


def _role(program: ProgramFile) -> tuple[str, str]:
    """Return what a program is; there are several CNI plugins, shims and helpers, with names of their own."""
    several = program.role not in {"daemon", OCI_RUNTIME}
    return program.role, program.path.rpartition("/")[2] if several else ""


def _other_components(baseline: RunRecord, run: RunRecord) -> Iterator[str]:
    for name in _COMPONENTS:
        old, new = (record.runtime.parts.get(name, "") for record in (baseline, run))
        if old and new and old != new:
            yield f"another {name}: {one_line(old, 60)} in the baseline, {one_line(new, 60)} now"
