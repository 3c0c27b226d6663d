"""Two small runs for the golden files: one test of each outcome, and operations of every kind."""

import dataclasses
from pathlib import Path

from critests.catalogue.words import Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts, OperationResult, QuantileEstimate
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.record.tally import count, verdicts
from critests.report.comparison import StoredRun
from critests.report.formats import FORMATS, Publishing, Source, TextFormat
from tests.report.sample_run import HOSTILE, STARTED, sample_run, write_evidence

PUBLISHING = Publishing(
    bucket="bucket",
    mail="nodes@example.org",
    url="https://ci.example.org/run/7",
)


def rendered(name: str, source: Source) -> str:
    """Return the text of a run in one of the formats that are one file."""
    chosen = FORMATS[name]
    assert isinstance(chosen, TextFormat)
    return chosen.render(source)


def validation(folder: Path) -> Source:
    """Return a run with its folder, evidence and a baseline, in which one failure was a pass and one
    capability was there.
    """
    whole = sample_run(folder)
    examples: dict[tuple[Outcome, str], TestResult] = {}
    for test in whole.tests:
        # requirements that the catalogue does not have: its wording is free to change
        mine = dataclasses.replace(
            test,
            requirement=f"X{test.requirement}",
            requirement_id=f"X{test.requirement_id}",
            group=f"X{test.group}",
        )
        examples.setdefault((test.outcome, test.level.value), mine)
    record = with_tests(whole, list(examples.values()))
    record = dataclasses.replace(record, capabilities=record.capabilities[:4], notes=record.notes[-1:])
    run_dir = folder / "1795000000"
    run_dir.mkdir(exist_ok=True)
    write_evidence(record, run_dir, log_bytes=200)
    return Source(record=record, folder=run_dir, baseline=StoredRun(earlier(record)), publishing=PUBLISHING)


def earlier(record: RunRecord) -> RunRecord:
    """Return a run of the day before in which every test passed."""
    tests = [dataclasses.replace(test, outcome=Outcome.PASSED, reason="", seen="") for test in record.tests]
    capabilities = [dataclasses.replace(fact, present=True) for fact in record.capabilities]
    before = with_tests(
        dataclasses.replace(record, capabilities=capabilities, run_id="1794913600-d4e5f6"), tests
    )
    return dataclasses.replace(
        before, started=record.started - 86_400, finished=record.finished - 86_400, exit_code=0
    )


def with_tests(record: RunRecord, tests: list[TestResult]) -> RunRecord:
    """Return the record with other tests, and the numbers that follow from them."""
    requirements = verdicts(tests)
    blocked = {test.id for test in tests}
    causes = [
        dataclasses.replace(cause, blocked=[each for each in cause.blocked if each in blocked])
        for cause in record.root_causes
    ]
    return dataclasses.replace(
        record, tests=tests, requirements=requirements, counts=count(tests, requirements), root_causes=causes
    )


def benchmark() -> Source:
    """Return a benchmark run: durations with many and with few samples, rates, bytes, errors, nothing but
    errors, no samples.
    """
    tests = [
        TestResult(
            id=f"benchmark/test_speed.py::test_{name}",
            name=f"test_{name}",
            requirement=scenario,
            area="sandboxes",
            title="How long it takes",
            outcome=outcome,
            reason=reason,
            started=STARTED,
            seconds=58.2,
        )
        for scenario, name, outcome, reason in (
            ("B-01", "version", Outcome.PASSED, ""),
            ("B-22", "events", Outcome.UNSUPPORTED, "GetContainerEvents is Unimplemented"),
            ("B-34", "soak", Outcome.FAILED, f"every call failed: UNAVAILABLE: {HOSTILE}"),
        )
    ]
    record = RunRecord(
        kind="benchmark",
        run_id="1795000000-b3c4d5",
        suite_version="0.1.0",
        started=STARTED,
        finished=STARTED + 871.5,
        runtime=RuntimeIdentity(
            name="containerd",
            version="2.1.4+unknown",
            api_version="v1",
            endpoint="unix:///run/containerd.sock",
        ),
        machine={
            "kernel": "6.18.0",
            "architecture": "x86_64",
            "cpu": {"model": "Example CPU 9000", "count": 2},
        },
        tests=tests,
        counts=count(tests, {}),
        exit_code=1,
        exit_reason="one scenario failed",
        operations=_operations(),
        benchmark=BenchmarkFacts(profile="standard", seed=7, budget_seconds=900.0),
    )
    return Source(record=record, baseline=StoredRun(faster(record)), publishing=PUBLISHING)


def _operations() -> list[OperationResult]:
    version = {"0.1": 0.0005, "0.5": 0.00062, "0.9": 0.00076, "0.95": 0.00081, "0.99": 0.00165}
    many = {"client_seconds": 0.000212, "client_bound": True, "steadiness": "steady", "warm_up": 40}
    ends = {"minimum": 0.00037, "maximum": 0.00219}
    first = {"note": "the first 5 calls created the network's bridge", "headline": True}
    at_once = {"dimensions": {"concurrency": "8"}}
    rate = {"unit": "1/s", "better": "higher"}
    pull = {"0.1": 36.1e6, "0.5": 40.3e6, "0.9": 44.2e6}
    return [
        _measured("B-01", "Version", 2360, 0.00064, version, **many, **ends),
        _measured(
            "B-02",
            "RunPodSandbox",
            291,
            0.1445,
            {"0.1": 0.113, "0.5": 0.138, "0.9": 0.174, "0.95": 0.188},
            dimensions={"network": "pod", "handler": HOSTILE},
            **first,
        ),
        _measured("B-09", "StopContainer", 12, 0.0131, {"0.5": 0.012}, errors={"UNKNOWN": 3}),
        _measured("B-13", "ExecSync", 400, 0.0043, {"0.5": 0.004}, **at_once),
        _measured("B-13", "ExecSync", 5, 1930.0, {}, **at_once, **rate),
        _measured("B-23", "PullImage", 120, 40.4e6, pull, unit="B/s", better="higher"),
        _measured("B-34", "pod cycle", 0, None, {}, errors={"UNAVAILABLE": 12}),
        _measured("B-35", "RunPodSandbox", 0, None, {}, stopped="the budget was used up before it began"),
    ]


def _measured(
    scenario: str, operation: str, number: int, mean: float | None, at: dict[str, float], **more: object
) -> OperationResult:
    made = OperationResult(
        scenario=scenario, operation=operation, count=number, mean=mean, quantiles=_quantiles(at)
    )
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]  # names of real fields


def _quantiles(values: dict[str, float]) -> dict[str, QuantileEstimate]:
    return {
        name: QuantileEstimate(value=value, low=value * 0.96875, high=value * 1.03125)
        for name, value in values.items()
    }


def faster(record: RunRecord) -> RunRecord:
    """Return a run of two days before in which RunPodSandbox took half the time."""
    operations = [
        dataclasses.replace(
            operation,
            quantiles=_quantiles({name: each.value / 2 for name, each in operation.quantiles.items()}),
        )
        if operation.scenario == "B-02"
        else operation
        for operation in record.operations
    ]
    return dataclasses.replace(
        record, operations=operations, run_id="1794913600-d4e5f6", started=STARTED - 172_800
    )
