"""The JUnit file as its readers take it, and the outcomes back from it; its golden file has what it says."""

import dataclasses
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from critests.catalogue.words import Level, Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.operations import OperationResult
from critests.record.result_records import TestResult
from critests.record.run_record import CapabilityFact, RunRecord
from critests.report.formats.junit import to_junit
from tests.report.formats import samples
from tests.report.sample_run import sample_run

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
        set(),
        ("properties", "skipped", "error", "failure", "system-out", "system-err"),
    ),
    "skipped": ({"message"}, {"type"}, ()),
    "failure": ({"message"}, {"type"}, ()),
    "error": ({"message"}, {"type"}, ()),
    "system-out": (set(), set(), ()),
}
ELEMENTS: dict[Outcome, set[type]] = {
    Outcome.FAILED: {Failure},
    Outcome.ERROR: {Error},
    Outcome.KNOWN: {Skipped},
    Outcome.BLOCKED: {Skipped},
    Outcome.UNSUPPORTED: {Skipped},
    Outcome.PASSED: set(),
    Outcome.WARNED: set(),
}
GITLAB_BYTES = 30 * 1024 * 1024


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
    return {str(case.get("name")): case for case in root.iter("testcase")}


def properties(case: ET.Element) -> dict[str, str]:
    return {str(item.get("name")): str(item.get("value")) for item in case.iter("property")}


@pytest.mark.parametrize("kind", ["validation", "benchmark"])
def test_the_document_follows_the_schema_with_right_counts(kind: str, record: RunRecord) -> None:
    root = ET.fromstring(to_junit(record if kind == "validation" else samples.benchmark().record))  # noqa: S314 - ours

    check(root)
    (suite,) = root
    found = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(found)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(attribute, "")) == sum(case.find(tag) is not None for case in found), tag


def test_every_outcome_comes_back_by_the_standard_elements_alone(record: RunRecord, tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(to_junit(record), encoding="utf-8")

    (suite,) = JUnitXml.fromfile(str(tmp_path / "junit.xml"))

    assert isinstance(suite, TestSuite)
    assert suite.name == "cri"
    shown = [test for test in record.tests if test.outcome is not Outcome.DISABLED]
    for test, case in zip(shown, suite, strict=True):
        assert isinstance(case, TestCase)
        assert {type(element) for element in case.result} == ELEMENTS[test.outcome]
        assert properties(case._elem)["outcome"] == test.outcome


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


@pytest.mark.parametrize(
    ("cause", "head"), [("EXE-01", "EXE-01: stdout"), ("STP-01", "EXE-01: caused by STP-01: ")]
)
def test_a_failure_names_its_cause_if_that_is_another_requirement(
    record: RunRecord, cause: str, head: str
) -> None:
    found = next(test for test in record.tests if test.cause)
    repeated = dataclasses.replace(found, cause=cause)
    case = cases(dataclasses.replace(record, tests=[repeated]))[found.name]
    failure = case.find("failure")

    assert properties(case)["cause"] == cause
    assert failure is not None
    assert failure.attrib["message"].startswith(head)


@pytest.mark.parametrize(
    ("level", "judgement", "lifecycle"),
    [
        (Level.MUST, False, "blocking"),
        (Level.OPT, False, "blocking"),
        (Level.MUST, True, "informing"),
        (Level.SHOULD, False, "informing"),
        (Level.DIV, False, "informing"),
    ],
)
def test_binding_levels_are_blocking_and_others_informing(
    level: Level, judgement: bool, lifecycle: str, record: RunRecord
) -> None:
    test = dataclasses.replace(record.tests[0], level=level, judgement=judgement)

    (case,) = cases(dataclasses.replace(record, tests=[test])).values()

    assert properties(case)["lifecycle"] == lifecycle


def test_a_large_run_stays_below_gitlabs_limit(record: RunRecord) -> None:
    long = "&<>\"'" * 4000
    one = TestResult(
        id="a.py::t",
        name="t",
        outcome=Outcome.FAILED,
        reason=long[:2000],
        seen=long[:2000],
        detail=long[:1000],
    )
    tests = [dataclasses.replace(one, id=f"a.py::t{number}", name=f"t{number}") for number in range(1500)]

    assert len(to_junit(samples.with_tests(record, tests)).encode()) < GITLAB_BYTES


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
        machine={"kernel": text},
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
