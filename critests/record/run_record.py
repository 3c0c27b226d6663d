"""The record of one run. Its JSON form is published in `schema/run-2.json`."""

from dataclasses import dataclass, field
from typing import Any, Final

from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.reasons import Reason
from critests.record.result_records import RequirementVerdict, RootCause, TestResult

SCHEMA: Final = "critests.run"
SCHEMA_VERSION: Final = 2


@dataclass(frozen=True, kw_only=True)
class ApiLevel:
    """The API level of the runtime, as a Kubernetes minor such as `1.34`.

    Attributes:
        declared: What the user declared, or empty.
        proven: What a probe proved, or empty.
        evidence: How it was proven.
    """

    declared: str = ""
    proven: str = ""
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class CapabilityFact:
    """Whether the runtime or the machine offers something.

    Attributes:
        name: The capability, as in `critests.catalogue.words.Capability`.
        present: True, False, or None if unknown.
        evidence: What was observed.
        source: Where it was observed: an RPC, a file, a flag.
        failed: It is unknown because the RPC in `source` failed.
    """

    name: str
    present: bool | None
    evidence: str = ""
    source: str = ""
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class RunConditions:
    """What else went on while the tests ran.

    Attributes:
        names: The conditions, as in `critests.conditions.condition_table`.
        seed: Seed of everything that they draw; None without conditions.
        counts: Condition to what it did to how often: calls of its clients by RPC and status code, operations
            that took long or failed by plan, signals to the daemon.
    """

    names: list[str] = field(default_factory=list)
    seed: int | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ApiCoverage:
    """Which parts of the API the run exercised.

    Attributes:
        rpcs: RPC to the number of calls.
        request_fields: `Message.field` to how often it was set in a request.
        response_fields: `Message.field` to how often it was set in a response.
        rpcs_total: Number of RPCs in the API.
        request_fields_total: Number of fields that a request can hold.
        response_fields_total: Number of fields that a response can hold.
    """

    rpcs: dict[str, int] = field(default_factory=dict)
    request_fields: dict[str, int] = field(default_factory=dict)
    response_fields: dict[str, int] = field(default_factory=dict)
    rpcs_total: int = 0
    request_fields_total: int = 0
    response_fields_total: int = 0


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many tests and requirements had which outcome.

    Attributes:
        outcomes: Outcome to the number of tests.
        areas: Area to outcome to the number of tests.
        requirements: Outcome to the number of requirements.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    areas: dict[str, dict[str, int]] = field(default_factory=dict)
    requirements: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunScope:
    """The selected part of the suite, and how much of it was judged.

    Attributes:
        selection: The options that selected tests, `--select IMG`; empty for all tests.
        shards: Parts of that selection in the run, `1/3`; empty for all of it.
        musts_judged: Number of aspects of level MUST that have a verdict.
        musts: Number of such aspects with a test in the suite.
        time_limit: The time limit that ended the run before all its tests, in seconds; 0 if none did.
        not_begun: Number of tests that it left out.
        musts_not_begun: How many of them judge a MUST.
    """

    selection: str = ""
    shards: list[str] = field(default_factory=list)
    musts_judged: int = 0
    musts: int = 0
    time_limit: float = 0.0
    not_begun: int = 0
    musts_not_begun: int = 0


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What the run cost.

    Attributes:
        startup_seconds: From the command to the first test, in seconds.
        wall_seconds: The whole run, in seconds.
        harness_cpu_seconds: Processor time of the harness's own processes, in seconds.
    """

    startup_seconds: float = 0.0
    wall_seconds: float = 0.0
    harness_cpu_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """The record of one run.

    Attributes:
        schema: Always `critests.run`.
        schema_version: Version of the schema.
        kind: `validation` or `benchmark`.
        run_id: `<epoch seconds>-<6 hex>`; also the label of everything that the run created.
        suite_version: Version of critests.
        catalogue_revision: Revision of the catalogue of requirements.
        started: Start, seconds since the epoch.
        finished: End, seconds since the epoch.
        arguments: Command line arguments, without secrets.
        runtime: The runtime.
        api_level: Its level of the API.
        machine: Facts of the machine.
        capabilities: What runtime and machine offer.
        conditions: What else went on while the tests ran.
        tests: All results.
        root_causes: Broken requirements with followers: blocked tests, and failures that only repeat theirs.
        requirements: Requirement id to its verdict.
        counts: Numbers of outcomes.
        coverage: Parts of the API that were exercised.
        exit_code: Exit code of the command.
        exit_reason: One sentence: why this exit code.
        interrupted: The user stopped the run.
        scope: The selected part of the suite.
        runtime_gone: Why the runtime could not be tested any more; None if it could.
        harness_error: Error in the harness itself, in words, or empty.
        remarks: Objects that could not be removed, and capabilities about which merged runs disagree.
        notes: Sentences that the reader should see, also those of `remarks`.
        workers: Number of workers.
        timing: What the run cost.
        operations: What a benchmark measured.
        benchmark: How it measured; None for other runs.
    """

    schema: str = SCHEMA
    schema_version: int = SCHEMA_VERSION
    kind: str = "validation"
    run_id: str
    suite_version: str
    catalogue_revision: str = ""
    started: float
    finished: float
    arguments: list[str] = field(default_factory=list)
    runtime: RuntimeIdentity
    api_level: ApiLevel = field(default_factory=ApiLevel)
    machine: dict[str, Any] = field(default_factory=dict)
    capabilities: list[CapabilityFact] = field(default_factory=list)
    conditions: RunConditions = field(default_factory=RunConditions)
    tests: list[TestResult] = field(default_factory=list)
    root_causes: list[RootCause] = field(default_factory=list)
    requirements: dict[str, RequirementVerdict] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    coverage: ApiCoverage = field(default_factory=ApiCoverage)
    exit_code: int = 0
    exit_reason: str = ""
    interrupted: bool = False
    scope: RunScope = RunScope()
    runtime_gone: Reason | None = None
    harness_error: str = ""
    remarks: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    workers: int = 1
    timing: Timing = field(default_factory=Timing)
    operations: list[OperationResult] = field(default_factory=list)
    benchmark: BenchmarkFacts | None = None
