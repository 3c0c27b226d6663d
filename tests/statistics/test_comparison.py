"""Verdicts on synthetic latencies with a known truth: equal sides, a slower side, a slower tail, and too few
samples.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.statistics.comparison import (
    Block,
    Comparison,
    SampleEvidence,
    compare_blocks,
    compare_runs,
    verdicts,
)
from critests.statistics.quantiles import Interval
from critests.statistics.stopping import narrow_ratio
from critests.statistics.verdict import Criteria, Verdict
from tests.statistics.false_alarms import in_blocks, in_runs, tally, until_narrow
from tests.statistics.synthetic import blocks, latencies

P99 = Criteria(quantile=0.99)
MANY = pytest.mark.nightly("hundreds of comparisons, to notice one false alarm in a hundred")


def alone(evidence: SampleEvidence, chosen: Criteria | None = None) -> Comparison:
    return verdicts({"operation": evidence}, chosen or Criteria())["operation"]


@pytest.mark.parametrize(
    ("count", "size", "memory", "operations"),
    [
        pytest.param(30, 1, 0.6, 1, id="one operation", marks=MANY),
        pytest.param(30, 3, 0.95, 1, id="strong memory", marks=MANY),
        pytest.param(20, 1, 0.6, 8, id="eight operations"),
    ],
)
def test_blocks_give_at_most_one_false_alarm_in_a_hundred(
    count: int, size: int, memory: float, operations: int
) -> None:
    found = tally(
        in_blocks(count, size, memory=memory), 600 // operations, operations=operations, first_seed=1000
    )

    assert found.total() - found[Verdict.NO_EVIDENCE] <= 0.01 * found.total()


@pytest.mark.parametrize(("count", "memory"), [(60, 0.3), (200, 0.5), (500, 0.8)])
def test_runs_give_at_most_one_false_alarm_in_a_hundred(count: int, memory: float) -> None:
    found = tally(in_runs(count, memory=memory), 50, operations=4)

    assert found[Verdict.FASTER] + found[Verdict.SLOWER] <= 0.01 * found.total()
    assert found[Verdict.NO_EVIDENCE] >= 0.5 * found.total()


@pytest.mark.parametrize(("ratio", "verdict"), [(1.1, Verdict.SLOWER), (1 / 1.1, Verdict.FASTER)])
def test_ten_percent_is_detected_among_eight_operations(ratio: float, verdict: Verdict) -> None:
    """A minute holds about 70 pod cycles of each side; the deviations are those of a start of a container,
    about an eighth.
    """
    found = tally(in_blocks(70, 1, ratio=ratio, spread=0.125), 6, operations=8)

    assert found[verdict] >= 0.9 * found.total()
    assert found[verdict] + found[Verdict.NO_EVIDENCE] == found.total()


def test_ten_percent_is_detected_between_two_runs() -> None:
    found = tally(in_runs(1000, memory=0.5, ratio=1.1), 20)

    assert found[Verdict.SLOWER] >= 18


def test_the_interval_holds_the_true_ratio() -> None:
    evidence = [compare_blocks(blocks(seed, 30, 3, ratio=1.3)) for seed in range(100)]

    assert sum(item.interval is not None and 1.3 in item.interval for item in evidence) >= 97
    assert all(item.ratio == pytest.approx(1.3, rel=0.25) for item in evidence)


def test_a_slower_tail_is_detected_with_equal_medians() -> None:
    made = [
        Block(block.a, [value * (3 if number % 40 == 0 else 1) for number, value in enumerate(block.b)])
        for block in blocks(8, 40, 80)
    ]

    assert alone(compare_blocks(made)).verdict is Verdict.NO_EVIDENCE
    tail = alone(compare_blocks(made, P99), P99)
    assert tail.verdict is Verdict.SLOWER
    assert tail.evidence.method == "sign-flip test of the exceedances per block"
    assert tail.evidence.interval is not None
    assert tail.evidence.interval.low > 1.2


@pytest.mark.parametrize("equal_sizes", [True, False])
def test_equal_tails_give_no_difference(equal_sizes: bool) -> None:
    made = [
        [Block(b.a, b.b[: 80 if equal_sizes else 70]) for b in blocks(seed, 40, 80, memory=0.2, drift=0.0)]
        for seed in range(20)
    ]

    found = [alone(compare_blocks(sides, P99), P99).verdict for sides in made]

    assert set(found) <= {Verdict.NO_EVIDENCE, Verdict.TOO_NOISY}


@pytest.mark.parametrize(
    ("made", "chosen", "verdict", "reason"),
    [
        ([], Criteria(), Verdict.TOO_FEW, "a side has no samples"),
        ([Block([1.0], [])], Criteria(), Verdict.TOO_FEW, "a side has no samples"),
        (
            [Block([1.0] * 50, [1.1] * 50)],
            P99,
            Verdict.TOO_FEW,
            "50 samples do not support this quantile, 1000 would",
        ),
        (
            blocks(1, 6, 4),
            Criteria(),
            Verdict.TOO_FEW,
            "6 blocks cannot prove a difference among 1 operations, 9 would",
        ),
        (
            blocks(1, 9, 1, spread=1.2),
            Criteria(),
            Verdict.TOO_NOISY,
            "a difference of 50% could stay undetected",
        ),
    ],
    ids=["nothing", "every call of a side failed", "tail of few", "few blocks", "wide"],
)
def test_too_few_samples_differ_from_too_much_noise_and_say_what_is_needed(
    made: list[Block], chosen: Criteria, verdict: Verdict, reason: str
) -> None:
    comparison = alone(compare_blocks(made, chosen), chosen)

    assert comparison.verdict is verdict
    assert comparison.reason == reason


@pytest.mark.parametrize(
    ("differing", "reason"),
    [
        (0, "18 blocks, none of which differ, cannot prove a difference among 1 operations"),
        (3, "18 blocks, 3 of which differ, cannot prove a difference among 1 operations, 54 would"),
    ],
)
def test_blocks_with_equal_tails_do_not_help(differing: int, reason: str) -> None:
    alike, apart = Block([1.0] * 60, [1.0] * 60), Block([1.0] * 60, [1.0] * 55 + [2.0] * 5)

    comparison = alone(compare_blocks([alike] * (18 - differing) + [apart] * differing, P99), P99)

    assert (comparison.verdict, comparison.reason) == (Verdict.TOO_FEW, reason)


def test_short_or_autocorrelated_runs_have_too_few_independent_samples() -> None:
    short = alone(compare_runs(latencies(1, 20), latencies(2, 20)))
    wandering = alone(compare_runs(latencies(1, 300, memory=0.99), latencies(2, 300, memory=0.99)))

    assert short.verdict is wandering.verdict is Verdict.TOO_FEW
    assert short.reason.endswith("independent of each other, 8 are needed")
    assert short.evidence.ratio is not None


def test_a_significant_but_small_difference_is_below_the_noise_threshold() -> None:
    made = [Block([1.0 + number / 1000], [1.01 * (1.0 + number / 1000)]) for number in range(30)]

    assert alone(compare_blocks(made)).verdict is Verdict.NO_EVIDENCE
    assert "noise threshold of 2.0%" in alone(compare_blocks(made)).reason
    assert alone(compare_blocks(made), Criteria(smallest_effect=0.0)).verdict is Verdict.SLOWER


def test_the_correction_can_revoke_a_verdict() -> None:
    evidence = SampleEvidence(1.1, Interval(1.01, 1.2, 0.995), 0.004, 1e-9, "made up", (50, 50), 50)
    many = {
        str(number): evidence if number == 0 else replace(evidence, p_value=0.9, ratio=1.0)
        for number in range(10)
    }

    assert alone(evidence).verdict is Verdict.SLOWER
    assert verdicts(many)["0"].verdict is Verdict.NO_EVIDENCE


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(16, 60), st.floats(0.01, 0.3))
def test_the_stopping_rule_does_not_see_which_side_a_sample_is_from(
    seed: int, count: int, spread: float
) -> None:
    made = blocks(seed, count, 1, spread=spread, ratio=1.2)
    exchanged = [Block(block.b, block.a) if number % 3 else block for number, block in enumerate(made)]

    assert narrow_ratio(made) == narrow_ratio(exchanged)


def test_sampling_until_the_interval_is_narrow_gives_no_more_false_alarms() -> None:
    found = tally(until_narrow(), 40)
    different = tally(until_narrow(ratio=1.15), 5)

    assert found[Verdict.FASTER] + found[Verdict.SLOWER] <= 1
    assert different[Verdict.SLOWER] == 5


def test_many_small_blocks_are_joined() -> None:
    evidence = compare_blocks(blocks(1, 900, 1, ratio=1.1))

    assert evidence.units == 400
    assert evidence.samples == (900, 900)
    assert alone(evidence).verdict is Verdict.SLOWER


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 20), st.integers(1, 4))
def test_exchanging_the_sides_inverts_the_ratio(seed: int, count: int, size: int) -> None:
    made = blocks(seed, count, size)
    there, back = compare_blocks(made), compare_blocks([Block(block.b, block.a) for block in made])

    assert there.ratio is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert there.p_value == pytest.approx(back.p_value)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_samples_without_a_logarithm_are_rejected(bad: float) -> None:
    with pytest.raises(ValueError, match="finite samples above 0"):
        compare_blocks([Block([1.0], [bad])])
    with pytest.raises(ValueError, match="finite samples above 0"):
        compare_runs([bad], [1.0])


@pytest.mark.parametrize(("at", "significance", "effect"), [(1, 0.01, 0), (0.5, 0, 0), (0.5, 0.01, -1)])
def test_criteria_out_of_range_are_rejected(at: float, significance: float, effect: float) -> None:
    with pytest.raises(ValueError, match="quantile and significance"):
        Criteria(quantile=at, significance=significance, smallest_effect=effect)
