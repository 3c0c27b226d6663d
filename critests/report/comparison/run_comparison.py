"""Comparing two runs, or the two sides of one."""

from collections.abc import Sequence
from typing import Final

from critests.record.identity import RuntimeIdentity
from critests.record.run_record import RunRecord
from critests.record.samples import Series
from critests.record.units import SECONDS
from critests.report.comparison.conformance_diff import compare_conformance
from critests.report.comparison.differences import Conformance
from critests.report.comparison.fairness import compare_machines, located_parts
from critests.report.comparison.model import CompareSettings, Machines, RunComparison, SideFacts, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.outcome_changes import compare_tests
from critests.report.comparison.speed_diff import compare_speed, measured
from critests.report.comparison.wording import amount, percent
from critests.report.run_kinds import kind_of
from critests.report.wording.partial_run import partial

DEFAULT: Final = CompareSettings()


class NotComparable(Exception):
    """Two runs have nothing that can be compared; the message says why.

    Attributes:
        unlike_machines: They could be compared, but their machines differ.
    """

    def __init__(self, sentence: str, *, unlike_machines: bool = False) -> None:
        super().__init__(sentence)
        self.unlike_machines = unlike_machines


def compare_records(
    a: RunRecord,
    b: RunRecord,
    samples_a: Sequence[Series] = (),
    samples_b: Sequence[Series] = (),
    settings: CompareSettings = DEFAULT,
) -> RunComparison:
    """Compare two stored runs.

    Their conformance is always compared; their speed only if their machines agree, or with
    `settings.unlike_machines`.

    Args:
        a: The baseline.
        b: The run that is compared with it.
        samples_a: Samples of run A.
        samples_b: Samples of run B.
        settings: How to compare.

    Raises:
        NotComparable: they have nothing in common.
        ValueError: a setting is out of its range.
    """
    for label, record, samples in (("A", a, samples_a), ("B", b, samples_b)):
        _check(label, record, samples)
    machines = compare_machines(a.machine, b.machine)
    facts = side_facts("A", a), side_facts("B", b)
    names = names_of(*facts)
    speed = _speed(a, b, samples_a, samples_b, settings, machines, names)
    conformance = compare_conformance(a, b) if a.requirements and b.requirements else None
    if conformance is None and (speed is None or not speed.operations):
        unlike = bool(a.operations and b.operations) and not machines.agree
        raise NotComparable(_nothing_in_common(a, b, speed), unlike_machines=unlike)
    return RunComparison(
        a=facts[0],
        b=facts[1],
        live=False,
        settings=settings,
        machines=machines,
        speed=speed,
        conformance=conformance,
        tests=compare_tests(a, b),
        notes=_notes(a, b, names, machines, speed, conformance, settings),
    )


def compare_sides(
    record: RunRecord,
    samples: Sequence[Series],
    settings: CompareSettings = DEFAULT,
) -> RunComparison:
    """Compare the two sides of a live comparison, which were measured in interleaved blocks on one machine.

    Args:
        record: The run.
        samples: Its samples of both sides.
        settings: How to compare.

    Raises:
        NotComparable: the run does not have two sides, or they have no operation in common.
        ValueError: a setting is out of its range.
    """
    sides = measured(record.operations, samples, "a"), measured(record.operations, samples, "b")
    if not sides[0] and not sides[1]:
        msg = f"run {record.run_id} is not a live comparison: it has no sides A and B"
        raise NotComparable(msg)
    speed = compare_speed(sides[0], sides[1], settings, live=True)
    if not speed.operations:
        msg = (
            f"run {record.run_id} has no operation on both sides: {len(speed.only_a)} on A only,"
            f" {len(speed.only_b)} on B only"
        )
        raise NotComparable(msg)
    identities = record.benchmark.sides if record.benchmark else {}
    return RunComparison(
        a=side_facts("A", record, identities.get("a")),
        b=side_facts("B", record, identities.get("b")),
        live=True,
        settings=settings,
        machines=Machines(),
        speed=speed,
        conformance=None,
        notes=[*(["the run was interrupted"] if record.interrupted else []), *noise_of_machine(record)],
    )


def side_facts(label: str, record: RunRecord, runtime: RuntimeIdentity | None = None) -> SideFacts:
    """Return the facts about a side.

    Args:
        label: `A` or `B`.
        record: Its run.
        runtime: Its runtime, unless it is that of the record.
    """
    shown = runtime or record.runtime
    return SideFacts(
        label=label,
        runtime=shown.name,
        version=shown.version,
        handlers=list(shown.handlers),
        kind=record.kind,
        run_id=record.run_id,
        started=record.started,
        suite_version=record.suite_version,
        partial=partial(record) if record.requirements else "",
        binary=shown.binary_path,
        parts=located_parts(shown),
        kernel=str(record.machine.get("kernel") or ""),
        defaults=dict(shown.defaults),
        offers=dict(shown.offers),
    )


def noise_of_machine(record: RunRecord) -> list[str]:
    """Return how noisy the machine was before and during a benchmark; nothing if that is not recorded."""
    facts = record.benchmark
    probes = [
        f"{probe.name} {amount(probe.median_seconds, SECONDS)} and {amount(probe.p99_seconds, SECONDS)}"
        for probe in (facts.noise if facts else [])
    ]
    stolen = facts.steal_share if facts and facts.steal_share else 0.0
    other = [f"the hypervisor stole {percent(stolen)} of the CPU time"] if stolen else []
    what = "noise of the machine, as the median and p99 of the duration of a fixed workload: "
    return [(what if probes else "") + "; ".join([*probes, *other])] if probes or other else []


def _check(label: str, record: RunRecord, samples: Sequence[Series]) -> None:
    if any(series.side for series in samples) or any(operation.side for operation in record.operations):
        msg = (
            f"{label} ({record.run_id}) is a live comparison, which already has two sides: pass it alone to"
            " see the result"
        )
        raise NotComparable(msg)


def _speed(
    a: RunRecord,
    b: RunRecord,
    samples_a: Sequence[Series],
    samples_b: Sequence[Series],
    settings: CompareSettings,
    machines: Machines,
    names: Names,
) -> Speed | None:
    sides = measured(a.operations, samples_a), measured(b.operations, samples_b)
    if not sides[0] and not sides[1]:
        return None
    if not sides[0] or not sides[1]:
        return Speed(refused=f"nothing was measured on {names.b if sides[0] else names.a}")
    if not machines.agree and not settings.unlike_machines:
        facts = ", ".join(difference.name for difference in machines.differences)
        return Speed(refused=f"the machines differ ({facts})")
    return compare_speed(sides[0], sides[1], settings, live=False)


def _nothing_in_common(a: RunRecord, b: RunRecord, speed: Speed | None) -> str:
    if a.kind != b.kind:
        return (
            f"A ({a.run_id}) is a {a.kind} run and B ({b.run_id}) a {b.kind} run: they have nothing in"
            " common; compare two runs of the same kind"
        )
    if speed is None:
        what = "measured nothing" if kind_of(a.kind).measures else "judged no requirement"
        sides = [place for place, record in (("first", a), ("second", b)) if not record.requirements]
        return f"the {' and the '.join(sides) or 'first'} run {what}: there is nothing to compare"
    if speed.refused:
        return f"speed is not compared: {speed.refused}"
    return (
        f"the runs have no operation in common: {len(speed.only_a)} on A only, {len(speed.only_b)} on B only"
    )


def _notes(
    a: RunRecord,
    b: RunRecord,
    names: Names,
    machines: Machines,
    speed: Speed | None,
    conformance: Conformance | None,
    settings: CompareSettings,
) -> list[str]:
    notes = []
    if speed is not None and speed.operations and not machines.agree and settings.unlike_machines:
        facts = ", ".join(difference.name for difference in machines.differences)
        notes.append(
            f"the machines differ ({facts}): differences in speed may be due to the machines, not to the"
            " runtimes"
        )
    if a.run_id == b.run_id:
        notes.append("A and B are the same run")
    if conformance is not None and a.catalogue_revision != b.catalogue_revision:
        notes.append("the runs were judged by different revisions of the catalogue of requirements")
    if a.suite_version != b.suite_version:
        notes.append(
            f"different versions of critests produced the runs: {a.suite_version} and {b.suite_version}"
        )
    interrupted = [name for name, record in ((names.a, a), (names.b, b)) if record.interrupted]
    notes += [f"the run of {name} was interrupted" for name in interrupted]
    return notes
