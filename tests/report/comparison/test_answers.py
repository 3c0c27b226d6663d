"""The table of a comparison: the same questions always, who is better by how much, and what stays open."""

import dataclasses
import re
from pathlib import Path

from critests.record.comparison_questions import QUESTIONS
from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts
from critests.record.run_record import RunRecord
from critests.record.samples import Series
from critests.report.comparison import RunComparison, SideFacts, compare_records, compare_sides
from critests.report.comparison.answers import AnswerRow, answer_rows, headline, shown_rows
from critests.report.comparison.comparison_sentences import verdict_text
from critests.report.comparison.fairness import environment_facts, warning
from critests.report.comparison.names import names_of
from critests.report.facts.explanations import statement_of
from tests.report.comparison.sample_measured import record, series
from tests.report.comparison.sample_runs import run_a, run_b

PARTS = {"OCI runtime": "runc 1.1.5", "storage": "overlay", "cgroup driver": "systemd"}


def side(name: str, version: str, **more: object) -> SideFacts:
    return dataclasses.replace(SideFacts(label="A", runtime=name, version=version), **more)  # type: ignore[arg-type]  # its fields


def measured(
    typical: dict[str, tuple[float, float]],
    scenario: str = "B-11",
    spread: float = 0.02,
    blocks: int = 60,
    **more: object,
) -> list[Series]:
    """Return what both sides measured of operations, in blocks."""
    return [
        series(scenario, name, value, side=label, blocks=blocks, seed=seed, spread=spread, **more)  # type: ignore[arg-type]  # its options
        for name, values in typical.items()
        for label, seed, value in (("a", 1, values[0]), ("b", 2, values[1]))
    ]


def live(samples: list[Series], parts: dict[str, str] | None = None, **b: dict[str, str]) -> RunComparison:
    sides = {
        "a": RuntimeIdentity(
            name="containerd",
            version="2.1.9+unknown",
            parts=PARTS,
            defaults={"seccomp": "a filter", "no_new_privs": "0"},
        ),
        "b": RuntimeIdentity(name="cri-o", version="1.36.3", parts=PARTS if parts is None else parts, **b),  # type: ignore[arg-type]  # its fields
    }
    run: RunRecord = record(samples, benchmark=BenchmarkFacts(sides=sides))
    return compare_sides(run, samples)


def row(comparison: RunComparison, title: str) -> AnswerRow:
    (found,) = [each for each in answer_rows(comparison) if each.question.startswith(title)]
    return found


def test_every_comparison_has_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    some = answer_rows(live(measured({"pod cycle": (1.0, 0.85)})))
    none = answer_rows(compare_records(run_a(tmp_path), run_b(tmp_path)))

    for rows in (some, none):
        assert [each.question for each in rows[: len(QUESTIONS)]] == [each.title for each in QUESTIONS]
    assert [each.verdict == "not measured" for each in some].count(False) == 2  # pod cycle, MUSTs
    assert {each.verdict for each in none[: len(QUESTIONS)]} == {"not measured"}


def test_a_row_has_both_values_with_units_and_the_better_side_with_an_interval() -> None:
    comparison = live(
        [
            *measured({"pod cycle": (1.0, 0.85)}),
            *measured({"StopContainer": (0.020, 0.130)}, "B-06"),
            *measured(
                {"pods": (10.0, 15.0)},
                "B-28",
                unit="1/s",
                better="higher",
                dimensions={"concurrency": "4"},
            ),
        ]
    )

    cycle, stop = row(comparison, "a whole pod cycle"), row(comparison, "a container is stopped")
    assert (cycle.a, cycle.b, cycle.better) == ("993 ms", "850 ms", "b")
    assert re.fullmatch(r"CRI-O 1\.36, 14 % less time \(1\d to 1\d %\)", cycle.verdict)
    assert re.fullmatch(r"containerd 2\.1, 6\.\d times as fast \(6\.\d to 6\.\d\)", stop.verdict)
    assert row(comparison, "pod cycles a second").verdict.startswith("CRI-O 1.36, 50 % more (4")


def test_the_headline_follows_the_order_of_the_table_and_names_three_rows() -> None:
    comparison = live(
        [
            *measured({"pod cycle": (1.0, 0.9), "CPU time": (1.0, 0.1)}),
            *measured(
                {
                    "create and start": (0.1, 0.12),
                    "StopContainer": (0.02, 0.13),
                    "RemoveContainer": (0.1, 0.1),
                },
                "B-06",
            ),
        ]
    )

    said = headline(answer_rows(comparison))

    places = [said.find(words) for words in ("created and started", "is stopped", "whole pod cycle")]
    assert -1 not in places
    assert places == sorted(places)
    assert said.endswith("; 1 more row with a proven difference.")
    assert headline(answer_rows(live(measured({"pod cycle": (1.0, 1.0)})))) == (
        "No difference between the two sides is proven."
    )


def test_too_few_samples_is_not_too_noisy_and_both_say_what_would_help() -> None:
    few = live(measured({"pod cycle": (1.0, 0.5)}, blocks=4))
    noisy = live(measured({"pod cycle": (1.0, 1.0)}, spread=0.9, blocks=20, count=20))
    close = live(measured({"pod cycle": (1.0, 1.0)}))

    rows = [row(each, "a whole pod cycle") for each in (few, noisy, close)]
    texts = [each.verdict for each in rows]

    assert [each.undecided for each in rows] == [True, True, False]
    assert re.fullmatch(r"undecided, too few samples: 4 .* 9 would; a larger --budget would help", texts[0])
    assert re.fullmatch(r"undecided, too noisy: .* a quieter machine or a larger .* would help", texts[1])
    assert re.fullmatch(r"no difference above \d(\.\d)? %", texts[2])


def test_an_operation_of_one_side_says_so() -> None:
    one = [each for each in measured({"pod cycle": (1.0, 0.5)}) if each.side == "a"]
    comparison = live([*one, *measured({"RunPodSandbox": (1.0, 1.0)})])

    assert row(comparison, "a whole pod cycle").verdict == "measured on containerd 2.1 only"


def test_musts_are_counted_where_both_sides_judged_them(tmp_path: Path) -> None:
    comparison = compare_records(run_a(tmp_path), run_b(tmp_path))
    assert comparison.conformance is not None
    musts = comparison.conformance.musts

    found = row(comparison, "MUSTs")

    assert musts.broken_a == []
    assert "STP-02" in " ".join(musts.broken_b)
    assert (found.a, found.b) == (str(musts.judged), str(musts.judged - len(musts.broken_b)))
    assert found.better == "a"
    (broken,) = found.broken
    assert broken.where == "fails on containerd 1.6, second only"
    assert [name for name, _ in broken.promises] == musts.broken_b
    assert dict(broken.promises)["STP-02"] == statement_of("STP-02")


def test_measurements_are_one_row_of_a_report_if_there_are_none(tmp_path: Path) -> None:
    none = shown_rows(answer_rows(compare_records(run_a(tmp_path), run_b(tmp_path))))
    some = answer_rows(live(measured({"pod cycle": (1.0, 0.85)})))

    assert none[0].question.startswith("MUSTs passed")
    assert (none[-1].question, none[-1].verdict) == ("speed, memory and CPU time", "not measured")
    assert shown_rows(some) == some


def test_defaults_that_differ_have_a_row_each() -> None:
    samples = measured({"pod cycle": (1.0, 1.0)})
    title = "what a container gets"

    other = live(samples, defaults={"seccomp": "none", "no_new_privs": "0"})
    assert row(other, title).verdict == "1 difference, below"
    assert (row(other, "seccomp").a, row(other, "seccomp").b) == ("a filter", "none")
    same = live(samples, defaults={"seccomp": "a filter", "no_new_privs": "0"})
    assert row(same, title).verdict == "no differences"
    assert row(live(samples), title).verdict == "not measured"


def test_a_verdict_does_not_contradict_its_interval() -> None:
    comparison = live(measured({"Version": (0.0004, 0.00045)}))
    assert comparison.speed is not None
    (version,) = comparison.speed.operations

    assert version.low is not None
    assert version.low > 1
    assert version.verdict == "no evidence of a difference"
    assert verdict_text(version, comparison) == "below the noise level"
    unproven = dataclasses.replace(version, p=0.2)
    assert verdict_text(unproven, comparison) == "not significant after correction"


def test_a_call_comes_after_its_whole_operation() -> None:
    comparison = live(
        measured({"create and start": (0.13, 0.18), "CreateContainer": (0.02, 0.15)})
        + measured({"RunPodSandbox": (0.05, 0.1)}, "B-13")
    )

    assert comparison.speed is not None
    assert [each.operation for each in comparison.speed.operations] == [
        "create and start",
        "RunPodSandbox",
        "CreateContainer",
    ]


def test_names_are_the_shortest_that_differ() -> None:
    def names(a: SideFacts, b: SideFacts) -> tuple[str, str]:
        found = names_of(a, b)
        return found.a, found.b

    one = side("containerd", "2.1.9+unknown", binary="/opt/a/containerd", parts={"OCI runtime": "runc 1.1"})
    assert names(one, side("cri-o", "1.36.3")) == ("containerd 2.1", "CRI-O 1.36")
    assert names(one, side("containerd", "2.1.10")) == ("containerd 2.1.9+unknown", "containerd 2.1.10")
    handler = dataclasses.replace(one, handlers=["crun"])
    assert names(one, handler) == ("containerd 2.1", "containerd 2.1 (crun)")
    crun = dataclasses.replace(one, parts={"OCI runtime": "crun 1.14"})
    assert names(one, crun) == ("containerd 2.1 with runc 1.1", "containerd 2.1 with crun 1.14")
    elsewhere = dataclasses.replace(one, binary="/opt/b/containerd")
    assert names(one, elsewhere) == (
        "containerd 2.1 at /opt/a/containerd",
        "containerd 2.1 at /opt/b/containerd",
    )
    assert names(one, one) == ("containerd 2.1, first", "containerd 2.1, second")


def test_different_environments_are_a_warning() -> None:
    samples = measured({"pod cycle": (1.0, 0.8)})
    comparison = live(samples, {**PARTS, "OCI runtime": "crun 1.14"})
    names = names_of(comparison.a, comparison.b)

    assert {each.name: each.alike for each in environment_facts(comparison)} == {
        "OCI runtime": False,
        "CNI plugins": None,
        "storage": True,
        "cgroup driver": True,
        "sandbox image": None,
        "node settings": None,
        "kernel": True,
    }
    assert warning(comparison, names.a, names.b) == (
        "Not only the runtimes differ: OCI runtime (containerd 2.1: runc 1.1.5; CRI-O 1.36: crun 1.14)."
        " Not recorded on both sides: CNI plugins, sandbox image, node settings."
    )
