"""What a runtime may say to harm a reader is inert and bounded in every format."""

import csv
import dataclasses
import io
import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from critests.catalogue.words import Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.result_records import TestResult
from critests.record.run_record import CapabilityFact, RunRecord
from critests.report.comparison import StoredRun
from critests.report.formats import FORMATS, Source, TextFormat
from critests.report.formats.github import FINDINGS, NAMED
from tests.report.formats import samples
from tests.report.formats.samples import rendered
from tests.report.formats.test_golden import ELSEWHERE
from tests.report.pages import FORBIDDEN
from tests.report.sample_run import HOSTILE

LONG = "x" * 10_000_000
NASTY = [
    HOSTILE,
    (
        "| a | b |\n| --- | --- |\n```\n<img src=x onerror=alert(1)>\n# head @everyone #1"
        " https://evil.example.org ![x](y) `tick` ``"
    ),
    '=HYPERLINK("http://evil.example.org")',
    "\x00\x01\x1b]8;;http://evil.example.org\x07link\x1b]8;;\x07\ud800\udfff\udcff\u2028\u202e\ufeff",
    "../../../etc/passwd",
    "]]><script>alert(1)</script><!--",
    'quote " back \\ line\nnext\r\n# HELP x',
    ": [yaml, *anchor, !!python/object/apply:os.system ['x']]",
    LONG,
    "",
]


def hostile_source(text: str, folder: Path) -> Source:
    """Return a run that says `text` wherever it can say anything."""
    outcomes = [
        Outcome.FAILED,
        Outcome.WARNED,
        Outcome.KNOWN,
        Outcome.UNSUPPORTED,
        Outcome.BLOCKED,
        Outcome.ERROR,
        Outcome.PASSED,
    ]
    tests = [
        TestResult(
            id=f"{text[:3000]}/{number}.py::test_{outcome}[{text[:3000]}]",
            name=f"test_{outcome}[{text[:3000]}]",
            params={text[:300] or "p": text},
            requirement=text[:300],
            requirement_id=text[:300],
            area=text[:300],
            group=text[:300],
            title=text,
            handler=text[:300],
            outcome=outcome,
            reason=text,
            seen=text,
            detail=text,
            blocked_by=text[:300],
            setup_rpc=text[:300],
            form=text,
            worker=text[:300],
            evidence="../../etc",
            repeat_command=text,
            expectation=text,
        )
        for number, outcome in enumerate(outcomes)
    ]
    operation = OperationResult(
        scenario=text[:300],
        operation=text[:300],
        dimensions={text[:300] or "d": text},
        count=3,
        mean=1.0,
        quantiles={
            "0.5": QuantileEstimate(value=1.0, low=0.5, high=1.5),
            text[:20]: QuantileEstimate(value=2.0),
        },
        errors={text[:300] or "E": 2},
        stopped=text,
        note=text,
    )
    record = RunRecord(
        run_id=text[:300] or "run",
        suite_version=text[:300],
        catalogue_revision=text[:300],
        started=1_795_000_000.0,
        finished=1_795_000_001.0,
        arguments=[text],
        runtime=RuntimeIdentity(
            name=text[:300], version=text[:300], api_version=text[:300], endpoint=text, handlers=[text]
        ),
        machine={"kernel": text, "distribution": {"name": text}, "cpu": {"model": text}},
        capabilities=[CapabilityFact(name=text[:300], present=None, evidence=text, source=text)],
        tests=tests,
        exit_reason=text,
        notes=[text],
        operations=[operation, dataclasses.replace(operation, count=0, mean=None, quantiles={})],
    )
    record = samples.with_tests(record, tests)
    baseline = StoredRun(samples.earlier(record))
    publishing = dataclasses.replace(
        samples.PUBLISHING, url=text[:300], mail=text[:300], bucket=text[:300], job=text[:300]
    )
    return Source(record=record, folder=folder / "run", baseline=baseline, publishing=publishing)


def texts(name: str, source: Source, folder: Path) -> dict[str, str]:
    chosen = FORMATS[name]
    if isinstance(chosen, TextFormat):
        return {chosen.file_name: chosen.render(source)}
    files = chosen.write(source, folder / "out")
    assert all(path.resolve().is_relative_to((folder / "out").resolve()) for path in files)
    return {str(path): path.read_bytes().decode("utf-8") for path in files}


@pytest.mark.parametrize(
    "text",
    NASTY,
    ids=["html", "markdown", "formula", "control", "path", "cdata", "quotes", "yaml", "10 MB", "empty"],
)
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ELSEWHERE])
def test_it_is_inert_and_bounded(name: str, text: str, tmp_path: Path) -> None:
    if name == "testgrid" and text is LONG:
        pytest.skip(
            "its page and its record have tests of their own, and take a minute with texts that no stored"
            " record holds"
        )
    for path, content in texts(name, hostile_source(text, tmp_path), tmp_path).items():
        content.encode("utf-8")
        if path.endswith("run.json"):
            continue
        assert not FORBIDDEN.search(content), path
        assert len(content) < 2_500_000, path
        if path.endswith((".html", ".xml")) and "report" not in path:
            assert "<script>alert" not in content
        if path.endswith(".xml"):
            ET.fromstring(content)  # noqa: S314 - our own document
        if path.endswith(".json"):
            json.loads(content)
        if path.endswith(".md"):
            check_markdown(content)
        if path.endswith(".csv"):
            cells = [cell for row in csv.reader(io.StringIO(content)) for cell in row]
            assert not any(cell[:1] in {"=", "+", "-", "@"} for cell in cells)


def check_markdown(content: str) -> None:
    """Outside of code spans: no tag but ours, no mention, reference or address but ours, and each row of a
    table has its cells.
    """
    widths = set()
    for line in content.splitlines():
        plain = re.sub(
            r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|</?details>|</?summary>|<!-- [^>]*-->", " ", line
        )
        assert "<" not in plain, line
        assert not re.search(r"@\w|#\d|https?://(?!ci\.example)", plain), line
        if plain.startswith("|"):
            widths.add(plain.count("|"))
        elif widths:
            assert len(widths) == 1, widths
            widths = set()


def test_the_metrics_are_read_by_the_clients_own_parser(tmp_path: Path) -> None:
    for source in (
        samples.benchmark(),
        samples.validation(tmp_path),
        *(hostile_source(text, tmp_path) for text in NASTY),
    ):
        families = list(text_string_to_metric_families(rendered("prometheus", source)))
        assert families
        assert all(sample.timestamp is None for family in families for sample in family.samples)


@pytest.mark.nightly("thousands of failures, for their size")
def test_thousands_of_failures_stay_below_the_limits_and_the_page_says_so(tmp_path: Path) -> None:
    base = samples.validation(tmp_path)
    many = [
        TestResult(
            id=f"images/test_many.py::test_{number}",
            name=f"test_{number}",
            area="images",
            requirement=f"Y-{number}",
            requirement_id=f"Y-{number}",
            outcome=Outcome.FAILED,
            reason=f"{number} {HOSTILE * 8}",
            seen=f"{number} {HOSTILE * 30}",
            detail="d" * 1000,
        )
        for number in range(5000)
    ]
    record = samples.with_tests(base.record, many)
    source = dataclasses.replace(base, record=record, baseline=StoredRun(samples.earlier(record)))

    comment = rendered("github", source)

    assert len(comment.encode()) < 65_536
    assert comment.startswith("<!-- critests: ")
    assert f"and {5000 - FINDINGS - NAMED} more." in comment


def test_a_thousand_tests_are_written_in_a_moment(tmp_path: Path) -> None:
    base = samples.validation(tmp_path)
    tests = [
        dataclasses.replace(test, id=f"{test.id}{number}")
        for number in range(125)
        for test in base.record.tests
    ]
    source = dataclasses.replace(base, record=samples.with_tests(base.record, tests))

    for name in ("junit", "github", "prometheus", "allure"):
        began = time.process_time()
        texts(name, source, tmp_path / name)
        assert time.process_time() - began < 10, name  # a second where the machine is quiet
