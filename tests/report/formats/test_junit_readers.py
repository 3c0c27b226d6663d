"""The JUnit file as Prow, GitLab, Jenkins and GitHub reporters take it, and the outcomes back from it."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

import critests
from critests.catalogue.words import Level, Outcome
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.formats import FORMATS, Source
from critests.report.formats.places import file_of, line_of
from tests.report.formats import samples
from tests.report.formats.samples import rendered
from tests.report.formats.test_junit import check

SPYGLASS = re.compile(r"^artifacts(/.*/|/)junit.*\.xml$")
GITLAB_BYTES = 30 * 1024 * 1024


def suite_of(source: Source, folder: Path) -> TestSuite:
    path = folder / "junit.xml"
    FORMATS["junit"].write(source, path)
    (suite,) = JUnitXml.fromfile(str(path))
    assert isinstance(suite, TestSuite)
    return suite


def properties(case: TestCase | TestSuite) -> dict[str, str]:
    # of a suite those of its cases are left out
    return {
        str(item.get("name")): str(item.get("value")) for item in case._elem.findall("properties/property")
    }


def outcome_of(case: TestCase) -> Outcome:
    """The outcome by the standard elements alone, and the one that the properties say: they must not
    contradict each other.
    """
    told = Outcome(properties(case)["outcome"])
    elements = {type(element) for element in case.result}
    expected: dict[Outcome, set[type]] = {
        Outcome.FAILED: {Failure},
        Outcome.ERROR: {Error},
        Outcome.KNOWN: {Skipped},
        Outcome.BLOCKED: {Skipped},
        Outcome.UNSUPPORTED: {Skipped},
        Outcome.PASSED: set(),
        Outcome.WARNED: set(),
    }
    assert elements == expected[told]
    return told


def test_every_outcome_comes_back(tmp_path: Path) -> None:
    source = samples.validation(tmp_path)

    cases = [case for case in suite_of(source, tmp_path) if isinstance(case, TestCase)]

    before = {test.name: test.outcome for test in source.record.tests if test.outcome is not Outcome.DISABLED}
    assert {str(case.name): outcome_of(case) for case in cases} == before
    assert {properties(case)["requirement"] for case in cases} == {
        test.requirement for test in source.record.tests if test.outcome is not Outcome.DISABLED
    }


@pytest.mark.parametrize("kind", ["validation", "benchmark"])
def test_the_document_has_the_published_shape(kind: str, tmp_path: Path) -> None:
    source = samples.validation(tmp_path) if kind == "validation" else samples.benchmark()
    root = ET.fromstring(rendered("junit", source))  # noqa: S314 - our own document

    check(root)
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(attribute, "")) == sum(case.find(tag) is not None for case in cases), tag


def test_the_suite_knows_the_runtime_and_its_capabilities(tmp_path: Path) -> None:
    source = samples.validation(tmp_path)

    found = properties(suite_of(source, tmp_path))

    assert found["runtime"] == "containerd"
    assert found["runtime_version"] == "1.6.20~ds1"
    assert found["kind"] == "validation"
    assert {name.removeprefix("capability: ") for name in found if name.startswith("capability: ")} == {
        fact.name for fact in source.record.capabilities
    }


def test_what_binds_blocks_and_what_does_not_informs(tmp_path: Path) -> None:
    base = samples.validation(tmp_path)
    tests = [
        dataclasses.replace(
            base.record.tests[0],
            id=f"a.py::test_{number}",
            name=f"test_{number}",
            level=level,
            judgement=judgement,
        )
        for number, (level, judgement) in enumerate(
            [
                (Level.MUST, False),
                (Level.OPT, False),
                (Level.MUST, True),
                (Level.SHOULD, False),
                (Level.DIV, False),
            ]
        )
    ]
    source = dataclasses.replace(base, record=samples.with_tests(base.record, tests))

    cases = [case for case in suite_of(source, tmp_path) if isinstance(case, TestCase)]

    assert [properties(case)["lifecycle"] for case in cases] == [
        "blocking",
        "blocking",
        "informing",
        "informing",
        "informing",
    ]


def test_a_case_says_where_its_test_is_written() -> None:
    name = "test_version_names_the_api_version"
    module = next((Path(critests.__file__).parent / "validation" / "runtime").glob("test_*.py"))
    name = next(
        line[4 : line.index("(")] for line in module.read_text().splitlines() if line.startswith("def test_")
    )
    identity = f"runtime/{module.name}::{name}[case]"

    assert file_of(identity, "validation") == f"critests/validation/runtime/{module.name}"
    line = line_of(identity, "validation", critests.__version__)
    assert line is not None
    assert module.read_text().splitlines()[line - 1].startswith(f"def {name}(")
    assert line_of(identity, "validation", "another version") is None


@pytest.mark.parametrize(
    "identity",
    [
        "<set-up>",
        "../../../etc/passwd.py::test_x",
        "/etc/passwd.py::test_x",
        "a/../b.py::test_x",
        "a b.py::test_x",
        "",
    ],
)
def test_no_place_is_made_up(identity: str) -> None:
    assert file_of(identity, "validation") == ""
    assert line_of(identity, "validation", critests.__version__) is None


def test_the_tree_has_files_where_spyglass_looks(tmp_path: Path) -> None:
    source = samples.validation(tmp_path)
    files = FORMATS["testgrid"].write(source, tmp_path / "bucket")
    build = tmp_path / "bucket" / "logs" / source.job / str(source.build)

    assert [
        path for path in files if path.is_relative_to(build) and SPYGLASS.match(str(path.relative_to(build)))
    ]


def test_a_large_run_stays_below_gitlabs_limit(tmp_path: Path) -> None:
    long = "&<>\"'" * 4000
    base = samples.validation(tmp_path)
    tests = [
        TestResult(
            id=f"a.py::test_{number}",
            name=f"test_{number}",
            outcome=Outcome.FAILED,
            reason=long[:2000],
            seen=long[:2000],
            detail=long[:1000],
        )
        for number in range(1500)
    ]
    record: RunRecord = samples.with_tests(base.record, tests)

    assert len(rendered("junit", dataclasses.replace(base, record=record)).encode()) < GITLAB_BYTES
