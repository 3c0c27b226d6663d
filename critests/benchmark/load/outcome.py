"""What a load run says in numbers: the operations of its record, its samples and histograms, and its exit
code.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from critests.benchmark.load.capacity import Decision
from critests.benchmark.load.histograms import Latencies
from critests.benchmark.load.plan import Load, LoadResult, OperationTally, StepResult
from critests.exit_codes import ExitCode
from critests.record.files import write_atomically
from critests.record.layout import safe_name
from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.samples import HIGHER, PER_SECOND, Series, write_samples
from critests.statistics.quantiles import STANDARD_QUANTILES, interval_of_sorted, supported_quantiles

CAPACITY = "capacity"
MEASURED, SERVICE, INTENDED = "measured", "service", "from intended start"
LATE_SHARE_WORTH_A_NOTE = 0.01
_DECISIONS = {
    Decision.HELD: "the bound was kept",
    Decision.EXCEEDED: "the bound was not kept",
    Decision.UNDECIDED: "too few samples to say",
}


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        exit_code: as for every command.
        reason: one sentence.
        notes: further ones.
    """

    exit_code: ExitCode
    reason: str
    notes: list[str]


def operations_of(result: LoadResult) -> list[OperationResult]:
    """Return the operations of a run, those of a capacity search included."""
    found = [operation for step in result.steps for operation in _operations(step)]
    if result.capacity is not None:
        mix = result.steps[0].load.mix if result.steps else None
        found.insert(
            0,
            OperationResult(
                scenario=f"LOAD-{mix}" if mix else "LOAD",
                operation=CAPACITY,
                dimensions={"bound": f"p99 of {result.capacity.bound:g} s"},
                unit=PER_SECOND,
                better=HIGHER,
                headline=True,
                count=1 if result.capacity.held else 0,
                minimum=result.capacity.held or None,
                maximum=result.capacity.exceeded,
                mean=result.capacity.held or None,
                note=result.capacity.sentence,
            ),
        )
    return found


def write_measured(result: LoadResult, samples: Path) -> None:
    """Write single samples and histograms into a run's folder.

    Args:
        result: of the master.
        samples: folder of samples.

    Raises:
        RecordNotWritten: a file could not be written.
    """
    series = [each for step in result.steps for each in _series(step)]
    for scenario in sorted({each.scenario for each in series}):
        write_samples(samples, scenario, [each for each in series if each.scenario == scenario])
    for number, step in enumerate(result.steps, start=1):
        for name, tally in step.operations.items():
            intended = name == step.load.mix.headline and step.load.open
            for kind, encoded in (("latency", tally.latency), ("service", tally.service)):
                if encoded and (intended or kind == "service"):
                    prefix = f"step-{number}." if len(result.steps) > 1 else ""
                    write_atomically(samples / f"{prefix}{safe_name(name)}.{kind}.hdr", encoded + "\n")


def outcome_of(result: LoadResult, *, interrupted: bool) -> Outcome:
    """Judge how a run ended: errors of the runtime are data, a run without a single success is none."""
    notes = [*result.notes, *(note for step in result.steps for note in _notes(step))]
    headlines = [step.operations.get(step.load.mix.headline, OperationTally()) for step in result.steps]
    succeeded = sum(Latencies.merged([tally.latency]).count for tally in headlines)
    if interrupted:
        return Outcome(ExitCode.INTERRUPTED, f"interrupted after {_cycles(succeeded)}", notes)
    gone = next((step.gone for step in result.steps if step.gone), "")
    if gone:
        return Outcome(ExitCode.NOT_TESTED, gone, notes)
    if result.problem:
        return Outcome(
            ExitCode.HARNESS_ERROR if result.harness else ExitCode.NOT_TESTED, result.problem, notes
        )
    if not succeeded:
        return Outcome(
            ExitCode.NOT_TESTED, f"not one cycle succeeded in the measured time{_why_none(headlines)}", notes
        )
    capacity = result.capacity
    if capacity is not None:
        return Outcome(ExitCode.CONFORMS if capacity.held else ExitCode.NOT_TESTED, capacity.sentence, notes)
    return Outcome(ExitCode.CONFORMS, f"{_cycles(succeeded)} succeeded in the measured time", notes)


def dimensions_of(load: Load) -> dict[str, str]:
    """Return what is held fixed in a step."""
    common = {"pods": str(load.pods)} if load.mix in {"exec", "list", "container"} else {}
    if load.open:
        return {"rate": f"{load.rate:.4g}", "arrivals": str(load.arrivals), **common}
    return {"users": str(load.users), **common}


def _why_none(tallies: list[OperationTally]) -> str:
    codes: Counter[str] = Counter()
    for tally in tallies:
        codes.update(tally.errors)
    return "".join(f"; {number} ended with {code}" for code, number in codes.most_common(1))


def _cycles(number: int) -> str:
    return f"{number} cycle{'' if number == 1 else 's'}"


def _operations(step: StepResult) -> list[OperationResult]:
    headline, load = step.load.mix.headline, step.load
    scenario, dimensions = f"LOAD-{load.mix}", dimensions_of(load)
    found = []
    for name, tally in sorted(step.operations.items(), key=lambda item: item[0] != headline):
        is_headline = name == headline
        if is_headline and load.open:
            found.append(
                _operation(scenario, name, {**dimensions, MEASURED: INTENDED}, tally, tally.latency, step)
            )
        found.append(
            _operation(scenario, name, {**dimensions, MEASURED: SERVICE}, tally, tally.service, step)
        )
    done = Latencies.merged([step.operations.get(headline, OperationTally()).latency]).count
    if done and step.seconds:
        found.append(
            OperationResult(
                scenario=scenario,
                operation=f"{headline}s completed",
                dimensions=dimensions,
                unit=PER_SECOND,
                better=HIGHER,
                count=done,
                mean=done / step.seconds,
            )
        )
    return found


def _operation(
    scenario: str,
    name: str,
    dimensions: dict[str, str],
    tally: OperationTally,
    encoded: str,
    step: StepResult,
) -> OperationResult:
    histogram = Latencies.merged([encoded])
    count = histogram.count
    whole_cycle = name == step.load.mix.headline
    return OperationResult(
        scenario=scenario,
        operation=name,
        dimensions=dimensions,
        headline=whole_cycle and (not step.load.open or dimensions[MEASURED] == INTENDED),
        count=count,
        warm_up=sum(tally.samples.warm),
        errors=tally.errors,
        minimum=histogram.minimum if count else None,
        maximum=histogram.maximum if count else None,
        mean=histogram.mean if count else None,
        quantiles=(
            {f"{at:g}": _estimate(histogram, at) for at in supported_quantiles(count, STANDARD_QUANTILES)}
            if count
            else {}
        ),
        stopped="stopped early" if step.halted else "the time was over",
        late_share=step.late / step.started if whole_cycle and step.load.open and step.started else None,
        note=_DECISIONS[Decision(step.decision)] if step.decision and whole_cycle else "",
    )


def _estimate(histogram: Latencies, at: float) -> QuantileEstimate:
    """Return a quantile and its interval: the order statistics at the ranks that an interval over the ranks
    themselves has.
    """
    ranks = interval_of_sorted(range(1, histogram.count + 1), at)
    low, high = (histogram.at_rank(ranks.low), histogram.at_rank(ranks.high)) if ranks else (None, None)
    return QuantileEstimate(value=histogram.quantile(at), low=low, high=high)


def _series(step: StepResult) -> list[Series]:
    headline, dimensions = step.load.mix.headline, dimensions_of(step.load)
    found = []
    for name, tally in step.operations.items():
        samples = tally.samples
        if not len(samples):
            continue
        intended = name == headline and step.load.open
        series = Series(
            scenario=f"LOAD-{step.load.mix}",
            operation=name,
            dimensions={**dimensions, MEASURED: INTENDED if intended else SERVICE},
        )
        for index in samples.order():
            late = samples.late[index] if intended else None
            series.add(samples.value[index], samples.at[index], code=samples.code[index], late=late)
        series.warm_up = sum(samples.warm)
        found.append(series)
    return found


def _notes(step: StepResult) -> list[str]:
    notes = []
    which = f"at {step.load.rate:.3g} per second: " if step.load.open else ""
    late = max(0, step.late - step.held_back)
    if step.started and late > step.started * LATE_SHARE_WORTH_A_NOTE:
        notes.append(
            f"{which}{late} of {step.started} cycles began more than 10 ms late because the client was slow"
            " or the machine busy; latencies from the intended start include that"
        )
    if step.held_back:
        notes.append(
            f"{which}{step.held_back} cycles waited because {step.load.in_flight} were under way already;"
            " they count as late (--in-flight)"
        )
    if step.halted and not step.decision:
        notes.append(f"{which}the step ended early, after {step.seconds:.0f} of {step.load.duration:.0f} s")
    notes += [
        f"{which}single samples of {name} are not kept, there were too many; the histogram is whole"
        for name, tally in step.operations.items()
        if tally.cut
    ]
    return notes
