"""What a gate compares: both runs in a line each, and in what else than the runtime's version they differ."""

from collections.abc import Iterator
from typing import Final

from critests.record.identity import OCI_RUNTIME
from critests.record.run_record import RunRecord
from critests.report.comparison.fairness import compare_machines, located_parts, oci_runtime_name
from critests.report.facts.run_parts import differing_parts, run_parts
from critests.report.wording.partial_run import partial
from critests.report.wording.texts import one_line, utc_time

_NOT_OF_RUNTIME: Final = {"kernel", "suite"}
"""Parts of a run that the comparison of machines has, or that are the suite's."""


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
    found = [*refusals(baseline, run), *_other_parts(baseline, run)]
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
    kernel = str(record.machine.get("kernel") or "")
    parts = [
        f"{one_line(runtime.name or 'unknown runtime', 60)} {one_line(runtime.version, 60)}",
        one_line(located_parts(runtime).get(OCI_RUNTIME, ""), 200),
        f"kernel {one_line(kernel, 60)}" if kernel else "",
        one_line(partial(record), 200) or "the whole suite",
        utc_time(record.started),
        one_line(record.run_id, 60),
    ]
    return ", ".join(filter(None, parts))


def _other_parts(baseline: RunRecord, run: RunRecord) -> Iterator[str]:
    """Yield the programs and settings that differ, without a daemon of another version, which is what a gate
    judges, and without what is compared with the machine or belongs to the suite.
    """
    of_versions = {"daemon"} if baseline.runtime.version != run.runtime.version else set()
    for each in differing_parts(run_parts(baseline), run_parts(run)):
        if each.name not in _NOT_OF_RUNTIME | of_versions:
            before, now = one_line(each.before, 200), one_line(each.after, 200)
            yield f"another {each.name}: {before} in the baseline, {now} now"
