import dataclasses
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml, TestSuite

from critests.catalogue.words import Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.operations import OperationResult
from critests.record.results import TestResult
from critests.record.run import CapabilityFact, RunRecord
from critests.report.formats.junit import to_junit
from tests.report.sample_run import HOSTILE, sample_run

# What the published schema of this dialect allows: element to (attributes that must be there, attributes that
# may, children in order).
SHAPE: dict[str, tuple[set[str], set[str], tuple[str, ...]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, ("testsuite",)),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname"},
        ("properties", "testcase", "system-out", "system-err"),
    ),
    "properties": (set(), set(), ("property",)),
    "property": ({"name", "value"}, set(), ()),
    "testcase": (
        {"classname", "name", "time"},
        {"file", "line"},
        ("properties", "skipped", "error", "failure", "system-out", "system-err"),
    ),
    "skipped": ({"message"}, {"type"}, ()),
    "failure": ({"message"}, {"type"}, ()),
    "error": ({"message"}, {"type"}, ()),
    "system-out": (set(), set(), ()),
}


def check(element: ET.Element) -> None:
    must, may, children = SHAPE[element.tag]
    assert must <= set(element.attrib) <= must | may, element.attrib
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order), [child.tag for child in element]
    for child in element:
        check(child)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return sample_run(tmp_path)


def cases(record: RunRecord) -> dict[str, ET.Element]:
    root = ET.fromstring(to_junit(record))  # noqa: S314 - our own document
    check(root)
    return {str(case.get("name")): case for case in root.iter("testcase")}


def properties(case: ET.Element) -> dict[str, str]:
    return {str(item.get("name")): str(item.get("value")) for item in case.iter("property")}


def test_other_tools_read_the_same_numbers(record: RunRecord, tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(to_junit(record), encoding="utf-8")

    (suite,) = JUnitXml.fromfile(str(tmp_path / "junit.xml"))

    assert isinstance(suite, TestSuite)
    numbers = record.counts.outcomes
    assert suite.name == "cri"
    assert suite.tests == len(list(suite)) == len(record.tests) - numbers["disabled"]
    assert suite.failures == numbers["failed"] == 5
    assert suite.errors == numbers["error"] == 1
    assert suite.skipped == numbers["blocked"] + numbers["unsupported"] + numbers["known"]


def test_names_are_unique_without_their_module(record: RunRecord) -> None:
    twins = [
        TestResult(id=f"{module}.py::test_twin", name="test_twin", outcome=Outcome.PASSED, handler=handler)
        for module, handler in [("images/a", ""), ("images/b", ""), ("images/b", "crun")]
    ]

    document = to_junit(dataclasses.replace(record, tests=[*record.tests, *twins]))

    # our own document
    names = Counter(case.get("name") for case in ET.fromstring(document).iter("testcase"))  # noqa: S314 - see above
    assert set(names.values()) == {1}
    assert {"test_twin (images.a)", "test_twin (images.b)", "test_twin (images.b) #2"} <= set(names)


def test_skipped_cases_say_why(record: RunRecord) -> None:
    messages = {
        message
        for case in cases(record).values()
        for element in case.iter("skipped")
        if (message := element.get("message"))
    }

    assert "blocked: needs --disruptive" in messages
    assert "blocked: EXE-01 (Exec) stood in the way: Exec: INTERNAL: stream server is not running" in messages
    assert "known: https://example.org/issues/1" in messages
    assert any(message.startswith("unsupported: user namespaces") for message in messages)
    assert any(message.startswith("unsupported: unproven level") for message in messages)


def test_a_warning_passes_with_a_property_and_its_text(record: RunRecord) -> None:
    case = cases(record)["test_log_01_each_line_of_the[case 0]"]

    assert [child.tag for child in case] == ["properties", "system-out"]
    assert properties(case)["outcome"] == "warned"
    assert properties(case)["lifecycle"] == "informing"
    assert properties(case)["requirement"] == "LOG-01"


def test_a_failure_starts_with_its_requirement_and_says_how_to_repeat_it(record: RunRecord) -> None:
    (failure,) = cases(record)["test_stp_02_a_process_that_handles[case 2]"].iter("failure")

    assert str(failure.get("message")).startswith("STP-02: the exit code")
    assert "seen: exit_code == 137" in str(failure.text)
    assert "repeat: critests run --select STP-02" in str(failure.text)


def test_a_failure_that_repeats_another_says_of_which(record: RunRecord) -> None:
    repeated = next(test for test in record.tests if test.cause)
    case = cases(record)[repeated.name]
    failure = case.find("failure")

    assert properties(case)["cause"] == repeated.cause == "EXE-01"
    assert failure is not None
    assert failure.attrib["message"].startswith("EXE-01: as EXE-01: ")


def test_hostile_output_is_cleaned_and_bounded(record: RunRecord) -> None:
    hostile = dataclasses.replace(
        record.tests[0],
        outcome=Outcome.FAILED,
        reason=HOSTILE,
        seen=HOSTILE * 200_000,
        detail=HOSTILE,
        name=f"test_x[{HOSTILE}]",
    )

    document = to_junit(dataclasses.replace(record, tests=[hostile]))

    check(ET.fromstring(document))  # noqa: S314 - our own document
    assert len(document) < 200_000
    assert "\x1b" not in document
    assert "\x00" not in document
    assert "\u202e" not in document
    assert "]]>" not in document
    document.encode("utf-8")


@given(st.text(st.characters(codec=None, exclude_categories=())))
@settings(max_examples=60)
def test_any_text_gives_a_document_that_parses(text: str) -> None:
    test = TestResult(
        id=text,
        name=text,
        outcome=Outcome.FAILED,
        reason=text,
        seen=text,
        detail=text,
        requirement=text,
        handler=text,
    )
    record = RunRecord(
        run_id=text,
        suite_version=text,
        started=1.0,
        finished=2.0,
        runtime=RuntimeIdentity(name=text, version=text),
        machine={"hostname": text},
        capabilities=[CapabilityFact(name=text, present=None)],
        tests=[test],
        operations=[
            OperationResult(
                scenario=text,
                operation=text,
                dimensions={text: text},
                unit=text,
                count=1,
                mean=1.0,
                note=text,
            )
        ],
    )

    ET.fromstring(to_junit(record).encode())  # noqa: S314 - our own document
