"""The run as a folder of Allure results, which Allure 2 and Allure 3 render.

Everything is derived from the record and the evidence next to it. Allure identifies the history of a test by
its name and parameters. The runtime and its version are labels, and the version is an excluded parameter, so
the history survives an update. Two runtimes belong into two folders, or into two environments of Allure 3,
which distinguishes them by those labels. Sources: Allure's documentation of its result, categories,
environment and executor files; the model of a result is that of `allure_commons`.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from allure_commons.model2 import (
    Attachment,
    Label,
    Link,
    Parameter,
    Status,
    StatusDetails,
    TestResult,
    TestStepResult,
)
from attr import asdict

from critests.catalogue.words import Level, Outcome
from critests.record.files import write_atomically
from critests.record.identity import RuntimeIdentity
from critests.record.result_records import TestResult as Result
from critests.record.run_record import RunRecord
from critests.report.facts.explanations import description, skip_message, statement_of
from critests.report.facts.run_facts import run_facts
from critests.report.facts.stored_evidence import Budget, CallView, StoredEvidence, read_evidence
from critests.report.formats.source import Source
from critests.report.wording.markdown import code, prose
from critests.report.wording.texts import cut, one_line, visible

NAMESPACE: Final = uuid.UUID("6d3c1c62-7f6b-5b0e-9a53-0d8b6d0f7c1e")
"""Namespace of the UUIDs, which are derived from names: the same run gives the same files."""
EVIDENCE_BUDGET: Final = 16 * 1024 * 1024
"""Characters of evidence in one folder."""
MESSAGE_LIMIT: Final = 4 * 1024
STATUS: Final = {
    Outcome.PASSED: Status.PASSED,
    Outcome.WARNED: Status.PASSED,
    Outcome.FAILED: Status.FAILED,
    Outcome.ERROR: Status.BROKEN,
    Outcome.KNOWN: Status.SKIPPED,
    Outcome.UNSUPPORTED: Status.SKIPPED,
    Outcome.BLOCKED: Status.SKIPPED,
}
SEVERITY: Final = {Level.MUST: "critical", Level.OPT: "normal", Level.SHOULD: "minor", Level.DIV: "trivial"}
BLOCKED_BY: Final = "blocked by a requirement"
"""The code of results that a broken requirement blocked, unlike those that something missing blocked."""
CATEGORIES: Final = [
    {"name": "A MUST is broken", "matchedStatuses": ["failed"]},
    {"name": "The suite itself failed", "matchedStatuses": ["broken"]},
    *(
        # Allure matches neither labels nor parameters, so each trace begins with a code
        {"name": name, "matchedStatuses": [status], "traceRegex": rf"outcome: {code}\n[\s\S]*"}
        for name, status, code in (
            ("A SHOULD is broken", "passed", Outcome.WARNED.value),
            ("Known failure of the runtime", "skipped", Outcome.KNOWN.value),
            ("Blocked by a broken requirement", "skipped", BLOCKED_BY),
            ("Blocked: something is missing on this machine", "skipped", Outcome.BLOCKED.value),
            ("Not offered by the runtime", "skipped", Outcome.UNSUPPORTED.value),
        )
    ),
]
PRESERVED: Final = frozenset({"uuid", "start", "stop"})
"""Fields of a result of allure-pytest that are not replaced from the record."""
Files = dict[str, str]


def write_tree(source: Source, root: Path) -> list[Path]:
    """Write the results of a run; results of other runs in the folder are preserved.

    Results that allure-pytest wrote for the same tests during the run are updated from the record, except for
    their uuid, times and fixtures.

    Args:
        source: The run.
        root: Folder of the results; created if missing.

    Raises:
        RecordNotWritten: a file could not be written.
    """
    record, budget = source.record, Budget(EVIDENCE_BUDGET)
    files: Files = {}
    written = _written_by_pytest(root)
    for test in record.tests:
        if test.outcome is not Outcome.DISABLED:
            evidence = (
                read_evidence(source.folder, test.evidence, budget)
                if source.folder and test.evidence
                else StoredEvidence()
            )
            result = _plain(_result_of(source, test, evidence, files))
            for name, earlier in written.get(result["name"], []):
                # allure-pytest's names of modules are relative to where pytest was started
                if f".{earlier['fullName']}".endswith(result["fullName"].removeprefix("critests")):
                    update = {key: value for key, value in result.items() if key not in PRESERVED}
                    files[name] = _json(earlier | update)
                    break
            else:
                files[f"{result['uuid']}-result.json"] = _json(result)
    about_the_run = {
        "categories.json": _json(CATEGORIES),
        "environment.properties": "".join(
            f"{name}={_property(value)}\n" for name, value in run_facts(source.record).items()
        ),
        "executor.json": _json(_executor(source)),
    }
    # no fsync: there are thousands of files, which can be written again
    for name, content in (about_the_run | files).items():
        write_atomically(root / name, content, durable=False)
    return [root / name for name in about_the_run | files]


def _written_by_pytest(root: Path) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the results of allure-pytest that are not updated yet, with their file names, by test name."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for path in root.glob("*-result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        if {"name": "framework", "value": "pytest"} in result.get("labels", []):
            found.setdefault(result["name"], []).append((path.name, result))
    return found


def _result_of(source: Source, test: Result, evidence: StoredEvidence, files: Files) -> TestResult:
    """Return the result of one test.

    Args:
        source: Its run; only facts of the record that are known before the run ends are used.
        test: Its judged result.
        evidence: Its evidence: calls become steps, files are attached.
        files: The attachments are added to it, by the names that the result refers to.
    """
    record = source.record
    identity = _identity(record, test.id)
    module, _, _ = test.id.partition(".py::")
    full_name = one_line(f"critests.{module.replace('/', '.')}#{test.function}", 500)
    start = int((test.started or record.started) * 1000)
    result = TestResult(
        uuid=identity,
        name=one_line(test.name, 300),
        fullName=full_name,
        historyId=_md5(f"{test.id} {test.handler}"),
        testCaseId=_md5(full_name),
        status=STATUS[test.outcome],
        statusDetails=_details(test),
        stage="finished",
        start=start,
        stop=start + round(test.total_seconds * 1000),
        description=_promise(test),
        titlePath=["critests", *(one_line(part, 100) for part in module.split("/"))],
        labels=[Label(name, one_line(value, 200)) for name, value in _labels(record, test) if value],
        links=_links(test),
        parameters=_parameters(record.runtime, _case(test)),
    )
    end = start
    for number, call in enumerate(evidence.calls):
        step, end = _step(identity, number, call, end, files)
        result.steps.append(step)
    for number, file in enumerate(each for each in evidence.files if each.text):
        result.attachments.append(_attach(files, f"{identity} file {number}", file.title, "txt", file.text))
    return result


def _step(identity: str, number: int, call: CallView, after: int, files: Files) -> tuple[TestStepResult, int]:
    """Return the step of one call and its end, in milliseconds."""
    start = int(call.started * 1000) or after
    stop = start + max(round(call.milliseconds), 0)
    passed = call.code == "OK"
    step = TestStepResult(
        name=one_line(call.rpc if passed else f"{call.rpc}: {call.code}", 200),
        status=Status.PASSED if passed else Status.BROKEN,
        statusDetails=StatusDetails(message=cut(visible(call.details), MESSAGE_LIMIT))
        if call.details
        else None,
        stage="finished",
        start=start,
        stop=stop,
        parameters=[Parameter(name="took", value=f"{call.milliseconds:.1f} ms")],
    )
    messages = "\n\n".join(text for text in (call.request, call.response) if text)
    if messages:
        step.attachments.append(
            _attach(files, f"{identity} call {number}", "request and response", "txt", messages)
        )
    return step, stop


def _case(test: Result) -> dict[str, str]:
    """Return what distinguishes this case from others of its function: Allure shows two results with the same
    parameters as retries of one test.
    """
    found = dict(test.params) | ({"handler": test.handler} if test.handler else {})
    _, bracket, case = test.name.partition("[")
    return found or ({"case": case.removesuffix("]")} if bracket else {})


def _parameters(runtime: RuntimeIdentity, values: dict[str, str]) -> list[Parameter]:
    """Return the parameters; an excluded one is not part of the history."""
    shown = [
        Parameter(name=one_line(name, 100), value=one_line(value, 200))
        for name, value in sorted(values.items())
    ]
    return [*shown, Parameter(name="runtime version", value=one_line(runtime.version, 100), excluded=True)]


def _labels(record: RunRecord, test: Result) -> Iterator[tuple[str, str]]:
    module, _, _ = test.id.partition(".py::")
    yield "epic", test.area
    yield "feature", test.group
    yield "story", test.requirement_id
    yield "parentSuite", test.area
    yield "suite", module
    yield "requirement", test.requirement_id
    yield "aspect", test.requirement
    yield "level", test.level.value
    yield "outcome", test.outcome.value
    yield "handler", test.handler
    yield "severity", "minor" if test.judgement and test.level is Level.MUST else SEVERITY[test.level]
    yield "thread", test.worker
    yield "tag", test.outcome.value if test.outcome is not Outcome.PASSED else ""
    yield "tag", "slow" if test.slow else ""
    yield "runtime", record.runtime.name
    yield "runtime-version", record.runtime.version
    yield "framework", "critests"
    yield "language", "python"


def _links(test: Result) -> list[Link]:
    if not _is_address(test.expectation):
        return []
    name = one_line(test.expectation.rpartition("/")[2] or "issue", 60)
    return [Link(type="issue", name=name, url=one_line(test.expectation, 500))]


def _is_address(text: str) -> bool:
    return re.fullmatch(r"https?://[\x21-\x7e]{1,500}", text) is not None


def _promise(test: Result) -> str:
    """Return the title of the test and its requirement's statement, as Markdown."""
    parts, promised = [prose(test.title, 1000)], statement_of(test.requirement_id)
    if promised:
        parts.append(f"{code(test.requirement, 60)} {test.level.value}: {prose(promised, 1000)}")
    if test.repeat_command:
        parts.append(f"Repeat: {code(test.repeat_command, 500)}")
    return "\n\n".join(part for part in parts if part)


def _details(test: Result) -> StatusDetails | None:
    if test.outcome is Outcome.PASSED:
        return None
    head = f"{test.requirement}: " if test.requirement else ""
    if STATUS[test.outcome] == Status.SKIPPED:
        message = skip_message(test)
    else:
        message = f"{head}{'warned: ' if test.outcome is Outcome.WARNED else ''}{test.reason or test.title}"
    follows = test.outcome is Outcome.BLOCKED and test.blocked_by
    return StatusDetails(
        known=test.outcome is Outcome.KNOWN,
        message=one_line(message, MESSAGE_LIMIT),
        trace=f"outcome: {BLOCKED_BY if follows else test.outcome.value}\n{description(test)}",
    )


def _attach(files: Files, key: str, name: str, suffix: str, text: str) -> Attachment:
    """Add an attachment to the files; it is always plain text, which no viewer interprets."""
    file = f"{uuid.uuid5(NAMESPACE, _sound(key))}-attachment.{suffix}"
    files[file] = visible(text)
    return Attachment(name=one_line(name, 200), source=file, type="text/plain")


def _executor(source: Source) -> dict[str, object]:
    url = source.publishing.url if _is_address(source.publishing.url) else ""
    return {
        "name": "critests",
        "type": "critests",
        "buildOrder": source.build,
        "buildName": f"{source.job} #{source.build}",
        "reportName": one_line(f"{source.record.runtime.name} {source.record.runtime.version}", 200),
        **({"buildUrl": url} if url else {}),
    }


def _plain(result: TestResult) -> dict[str, Any]:
    return asdict(result, filter=lambda _, value: value is False or bool(value))


def _identity(record: RunRecord, name: str) -> str:
    return str(uuid.uuid5(NAMESPACE, _sound(f"{record.run_id} {name}")))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _sound(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _property(value: str) -> str:
    return one_line(value, 300).replace("\\", "\\\\")


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
