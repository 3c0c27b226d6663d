import json
import runpy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from critests_proof.critest.critest_run import SpecResult
from critests_proof.critest.suite_comparison import CritestResult
from critests_proof.derived import DerivedFault, derived_faults
from critests_proof.record import FaultOutcome
from critests_proof.sweep.exercise import Exercised

from tests.repository.tree import ROOT

WRONG = "ContainerStatus.response.status.exit_code:wrong"
TOOL = SimpleNamespace(**runpy.run_path(str(ROOT / "tools/compare_with_critest.py")))


class FakeRuns:
    """A runtime and a critest at once: specs fail as planned.

    Args:
        failing: specs that fail while a fault is set.
        flaky: specs that always fail.
        without_effect: whether the faults change nothing.
    """

    def __init__(
        self, failing: Sequence[str] = (), *, flaky: Sequence[str] = (), without_effect: bool = False
    ) -> None:
        self.failing, self.flaky, self.without_effect = failing, flaky, without_effect
        self.name = "containerd 2.3.4"
        self.faults: tuple[object, ...] = ()
        self.runs: list[list[str]] = []

    @contextmanager
    def proxy(self, faults: Sequence[object] = (), watch: object = None) -> Iterator[SimpleNamespace]:
        self.faults = tuple(faults)
        assert watch is None
        yield SimpleNamespace(endpoint="unix:///x", hits={"a": int(bool(faults) and not self.without_effect)})

    def run(self, endpoint: str, *, seconds: float, specs: list[str], fail_fast: bool) -> list[SpecResult]:
        assert endpoint
        assert seconds > 0
        assert fail_fast
        self.runs.append(specs)
        results = []
        for text in specs:
            fails = text in self.flaky or (bool(self.faults) and text in self.failing)
            results.append(SpecResult(text, "failed" if fails else "passed", 0, 1, "no" if fails else ""))
            if fails:
                break
        return results


def fault(identity: str) -> DerivedFault:
    return next(one for one in derived_faults() if one.id == identity)


def trials(runs: FakeRuns, **places: set[str]) -> Any:  # noqa: ANN401 - a class of the tool
    made = TOOL.CritestUnderFaults(runs, runs, 5)
    for number, (spec, here) in enumerate(places.items()):
        made.exercise.add(Exercised(spec, "passed", number, frozenset(here)))
    return made


CODES = {"ContainerStatus", "ContainerStatus.response.status"}
STATUS = {"ContainerStatus"}


def test_specs_that_receive_the_field_run() -> None:
    runs = FakeRuns(["b"])

    result = trials(runs, a=STATUS, b=CODES, c=set()).under(fault(WRONG))

    assert (result.outcome, result.by, result.reason) == (FaultOutcome.NOTICED, "b", "no")
    assert (result.specs, result.fitting, result.complete) == (1, 1, True)
    assert runs.runs == [["b"], ["b"]]


def test_a_fault_that_all_specs_pass_under_survives() -> None:
    result = trials(FakeRuns(), a=CODES, b=CODES).under(fault(WRONG))

    assert (result.outcome, result.specs, result.complete) == (FaultOutcome.SURVIVED, 2, True)


def test_a_spec_that_fails_without_the_fault_too_does_not_notice() -> None:
    result = trials(FakeRuns(flaky=["a"]), a=CODES, b=CODES).under(fault(WRONG))

    assert (result.outcome, result.unconfirmed, result.specs) == (FaultOutcome.SURVIVED, ["a"], 2)


def test_a_fault_without_effect_is_not_reached() -> None:
    result = trials(FakeRuns(["a"], without_effect=True), a=CODES).under(fault(WRONG))

    assert (result.outcome, result.specs, result.unconfirmed) == (FaultOutcome.NOT_REACHED, 1, [])


def test_no_spec_runs_if_none_sets_the_field_of_a_request() -> None:
    runs = FakeRuns()

    result = trials(runs, a={"StopContainer"}).under(fault("StopContainer.request.timeout:ignored"))

    assert (result.outcome, result.fitting, runs.runs) == (FaultOutcome.NOT_REACHED, 0, [])


def test_faults_in_logs_need_a_spec_with_a_log() -> None:
    runs = FakeRuns()

    result = trials(runs, a={"StartContainer"}, b={str(TOOL.LOGS), "StartContainer"}).under(
        fault("log:swap-streams")
    )

    assert (result.outcome, runs.runs) == (FaultOutcome.SURVIVED, [["b"]])


def test_finished_faults_are_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "critest.jsonl"
    file.write_text('{"fault": "Version:hangs", "outcome": "noticed", "by": "a"}\n')
    faults = [fault(name) for name in ("Version:hangs", "Version:does-nothing", "Exec.stream:upper")]

    results = TOOL._under_all(trials(FakeRuns(), a={"Version"}), faults, file)

    assert [one.fault for one in results] == ["Version:hangs", "Version:does-nothing"]
    assert results[0] == CritestResult(fault="Version:hangs", outcome=FaultOutcome.NOTICED, by="a")
    assert json.loads(file.read_text().splitlines()[1])["outcome"] == "survived"
    assert "[1/1] survived: Version:does-nothing (1 of 1 specs" in capsys.readouterr().out
