"""A run record with everything a report must cope with: all outcomes, a root cause, hostile text, evidence on
disk.
"""

import dataclasses
import gzip
import json
from pathlib import Path

from critests.catalogue.words import Area, Capability, Level, Outcome
from critests.record.blocking import RequirementFacts
from critests.record.expectations import Expectations, load
from critests.record.identity import RuntimeIdentity
from critests.record.judgement import JudgeContext, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_layout import evidence_name
from critests.record.run_record import ApiCoverage, ApiLevel, CapabilityFact, RunRecord, Timing
from critests.report.wording.endings import worded

STARTED = 1_795_000_000.25
HOSTILE = (
    "<script>alert('x')</script> \x1b[31mred\x1b[0m \x00nul \u202egnirts\u202c ]]> &amp; \udc80 {{ 7*7 }} "
)
JUDGES = {
    "RunPodSandbox": "SBX-01",
    "CreateContainer": "CTR-01",
    "StartContainer": "CTR-06",
    "StopContainer": "STP-01",
    "Exec": "EXE-01",
    "PullImage": "IMG-01",
}

PROMISES: dict[Area, dict[str, list[str]]] = {
    Area.RUNTIME: {
        "RT": [
            "Version MUST carry the API version string that the kubelet expects",
            "The runtime's name MUST be the same in every answer",
            "The runtime's version MUST read as a semantic version",
            "Status MUST report the condition RuntimeReady",
        ],
        "GEN": [
            "An unknown field in a request MUST be ignored",
            "An unknown method MUST be answered with Unimplemented",
        ],
    },
    Area.SANDBOXES: {
        "SBX": [
            "RunPodSandbox MUST return only once the sandbox is READY",
            "A sandbox with the smallest valid config MUST start",
            "A sandbox without metadata MUST be refused",
            "The same metadata twice MUST be refused",
        ],
        "SBA": [
            "PodSandboxStatus MUST return the requested id",
            "A filter with a state MUST return only sandboxes in that state",
        ],
    },
    Area.CONTAINERS: {
        "CTR": [
            "CreateContainer MUST return an id in state CREATED",
            "The process MUST NOT run before StartContainer",
        ],
        "STP": [
            "A graceful stop MUST deliver the stop signal",
            "A process that handles the signal MUST keep its own exit code",
        ],
        "LOG": ["Each line of the log MUST have a time stamp, a stream, a tag and a payload"],
        "EXS": [
            "Exit codes MUST be returned without an error",
            "stdout and stderr MUST be returned separately",
        ],
    },
    Area.IMAGES: {
        "IMG": [
            "A pull by tag MUST return a reference that ImageStatus finds",
            "A pull without a tag MUST mean latest",
        ],
        "IMS": ["ImageStatus of an absent image MUST succeed without an image"],
    },
    Area.STREAMING: {
        "EXE": [
            "stdout and stderr MUST be separate without a tty",
            "The exit status MUST arrive on the error channel",
        ]
    },
    Area.NETWORKING: {
        "NET": ["Servers, searches and options of dns_config MUST be in resolv.conf in the given order"]
    },
}


def raw_tests(cases: int = 7) -> list[TestResult]:
    """Return raw results: mostly passed, some of everything else."""
    tests: list[TestResult] = []
    clock = STARTED
    for area, groups in PROMISES.items():
        for group, titles in groups.items():
            for index, title in enumerate(titles, 1):
                for case in range(cases if index > 1 else 3):
                    name = (
                        f"test_{group.lower()}_{index:02d}_{'_'.join(title.lower().split()[:4])}[case {case}]"
                    )
                    clock += 0.31
                    tests.append(
                        TestResult(
                            id=f"{area.value}/test_{group.lower()}.py::{name}",
                            name=name,
                            params={"case": str(case)},
                            requirement=f"{group}-{index:02d}",
                            area=area.value,
                            title=f"{title}.",
                            outcome=Outcome.PASSED,
                            started=clock,
                            seconds=0.18 + case / 50,
                            setup_seconds=0.06,
                            teardown_seconds=0.02,
                            worker=f"gw{case % 2}",
                            repeat_command=(
                                f"critests run --select {group}-{index:02d} --runtime-endpoint"
                                " unix:///run/containerd/containerd.sock"
                            ),
                        )
                    )
    return _spoiled(tests)


def _spoiled(tests: list[TestResult]) -> list[TestResult]:
    """Give some of the tests other outcomes."""
    by_requirement: dict[str, list[int]] = {}
    for index, test in enumerate(tests):
        by_requirement.setdefault(test.requirement, []).append(index)

    def spoil(requirement: str, case: int, **changes: object) -> None:
        index = by_requirement[requirement][case]
        # a test names real fields
        test = dataclasses.replace(tests[index], **changes)  # type: ignore[arg-type]  # see above
        if test.outcome in {Outcome.FAILED, Outcome.ERROR}:
            test = dataclasses.replace(
                test, evidence=evidence_name(test.id), phase_of_failure=test.phase_of_failure or "call"
            )
        tests[index] = test

    spoil(
        "STP-02",
        2,
        outcome=Outcome.FAILED,
        reason="the exit code of the process was replaced by 137",
        seen="exit_code == 137, reason == 'Error', 30.02 s after StopContainer",
        detail=(
            "Traceback …\n    assert container.status().exit_code == 7\nE   assert 137 == 7\nE    +  where"
            " 137 = status().exit_code"
        ),
    )
    spoil(
        "SBA-02",
        1,
        outcome=Outcome.FAILED,
        reason="the filter let a sandbox of another state through",
        seen="3 sandboxes, one of them READY: 4f0c66a2d1",
        detail="E   assert '4f0c66a2d1' not in {'4f0c66a2d1', …}",
    )
    for case in range(3):
        spoil(
            "EXE-01",
            case,
            outcome=Outcome.FAILED,
            raw_rpc="Exec",
            reason="Exec: INTERNAL",
            seen=f"INTERNAL: {HOSTILE}",
        )
    for case in range(7):
        spoil(
            "EXE-02",
            case,
            outcome=Outcome.FAILED,
            raw_rpc="Exec",
            reason="Exec: INTERNAL: stream server is not running",
        )
    for case in range(2):
        spoil(
            "LOG-01",
            case,
            outcome=Outcome.FAILED,
            level=Level.SHOULD,
            reason="time stamps go backwards within stdout",
            seen=f"10:00:01.2 then 10:00:01.1 in {HOSTILE * 3}",
        )
    for case in range(4):
        spoil("SBX-04", case, outcome=Outcome.BLOCKED, reason="needs --disruptive")
    spoil(
        "SBX-03",
        1,
        outcome=Outcome.UNSUPPORTED,
        reason="user namespaces: Status lists no handler with the feature user_namespaces",
    )
    ignored = Reason(code=ReasonCode.SAID, words="the field was ignored")
    spoil("SBX-03", 2, outcome=Outcome.FAILED, unproven_since="1.34", why=ignored)
    spoil(
        "IMG-02",
        0,
        outcome=Outcome.ERROR,
        reason="the registry of the suite did not answer",
        detail=HOSTILE * 40,
    )
    spoil(
        "NET-01",
        0,
        outcome=Outcome.FAILED,
        reason="the options are missing",
        seen="no line of options",
    )
    spoil("EXS-01", 0, level=Level.DIV, form="an error for a missing binary")
    spoil("GEN-02", 3, outcome=Outcome.DISABLED)
    return tests


def expectations(folder: Path) -> Expectations:
    """Return expectations that know one of the failures."""
    path = folder / "containerd.toml"
    path.write_text("""[[known]]
requirement = "NET-01"
test = "test_net_01_servers,_searches_and_options[case 0]"
versions = "<2.0"
outcome = "failed"
reason = "options are dropped"
link = "https://example.org/issues/1"
owner = "runtime"
expires = 2099-06-30
""")
    return load(path)


def sample_run(folder: Path, **changes: object) -> RunRecord:
    """Return a judged record; `changes` replace its fields.

    Args:
        folder: A folder for the expectations file.
        changes: Fields of the record.
    """
    known = expectations(folder)
    judged = judge(
        raw_tests(),
        JudgeContext(
            judge_of=JUDGES.get,
            facts_of=lambda _: RequirementFacts(area="sandboxes"),
            version="1.6.20~ds1",
            expectations=known,
        ),
    )
    record = RunRecord(
        run_id="1795000000-a1b2c3",
        suite_version="0.1.0",
        catalogue_revision="5d41402abc4b",
        started=STARTED,
        finished=STARTED + 47.6,
        arguments=["run", "--runtime-endpoint", "unix:///run/containerd/containerd.sock", "-n", "2"],
        runtime=RuntimeIdentity(
            name="containerd",
            version="1.6.20~ds1",
            api_version="v1",
            endpoint="unix:///run/containerd/containerd.sock",
            image_endpoint="unix:///run/containerd/containerd.sock",
            handlers=["", "crun"],
            binary_path="/usr/bin/containerd",
            binary_sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            pid=4242,
        ),
        api_level=ApiLevel(proven="1.26", evidence="RuntimeConfig is Unimplemented"),
        machine={
            "os": "Debian GNU/Linux 12 (bookworm)",
            "kernel": "6.18.0",
            "architecture": "x86_64",
            "processors": 2,
            "memory bytes": 8_323_444_736,
            "cgroup": {"version": 1, "driver": "cgroupfs"},
            "LSMs": ["capability", "landlock"],
        },
        capabilities=[
            CapabilityFact(
                name=capability.value,
                present=[True, False, None][index % 5 % 3],
                evidence="Status.conditions: NetworkReady is true" if index % 2 else HOSTILE,
                source="Status",
            )
            for index, capability in enumerate(Capability)
        ],
        coverage=ApiCoverage(
            rpcs={"RunPodSandbox": 213, "CreateContainer": 180, "Version": 12, "Exec": 10},
            request_fields={f"RunPodSandboxRequest.field_{number}": number for number in range(40)},
            response_fields={f"PodSandboxStatusResponse.field_{number}": number for number in range(30)},
            rpcs_total=43,
            request_fields_total=260,
            response_fields_total=218,
        ),
        tests=judged.tests,
        root_causes=judged.root_causes,
        requirements=judged.requirements,
        counts=judged.counts,
        exit_code=judged.exit_code,
        notes=["the daemon lacks CAP_SYS_RESOURCE"],
        workers=2,
        timing=Timing(startup_seconds=1.2, wall_seconds=47.6, harness_cpu_seconds=9.1),
    )
    return dataclasses.replace(worded(record, judged), **changes)  # type: ignore[arg-type]  # a test names real fields


def write_evidence(record: RunRecord, run_dir: Path, *, log_bytes: int = 2000) -> None:
    """Write the evidence of the failed tests.

    Args:
        record: The run.
        run_dir: Its folder.
        log_bytes: Size of the container logs.
    """
    for test in record.tests:
        if not test.evidence:
            continue
        folder = run_dir / test.evidence
        folder.mkdir(parents=True, exist_ok=True)
        metadata = {"name": "sandbox", "uid": "1", "namespace": "critests"}
        calls = [
            {
                "rpc": rpc,
                "started": STARTED + number,
                "ms": 12.345 * (number + 1),
                "code": "OK" if number < 4 else "INTERNAL",
                "details": "" if number < 4 else HOSTILE,
                "streamed": 0,
                "request": {"config": {"metadata": metadata, "labels": {"critests.run": "x"}}},
                "response": {"pod_sandbox_id": "4f0c66a2d1"} if number < 4 else None,
            }
            for number, rpc in enumerate(
                ["RunPodSandbox", "CreateContainer", "StartContainer", "ContainerStatus", "StopContainer"]
            )
        ]
        (folder / "calls.jsonl").write_text("\n".join(json.dumps(call) for call in calls) + "\n{cut off")
        line = b"2026-11-20T10:42:00.000000000Z stdout F \x1b[31m<script>alert(1)</script>\x00\xff ]]>\n"
        (folder / "container.log").write_bytes(line * (log_bytes // len(line) + 1))
        runtime_line = (
            'time="2026-11-20T10:42:00Z" level=error msg="StopContainer failed" error="context deadline'
            ' exceeded"\n'
        )
        (folder / "runtime.log").write_text(runtime_line * 8)
    (run_dir / "calls").mkdir(exist_ok=True)
    with gzip.open(run_dir / "calls" / "gw0.jsonl.gz", "wt") as file:
        file.write("{}\n")
