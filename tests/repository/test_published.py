"""The compressed records and samples in results/published, from which pages are built. Judging them again
gives the same verdicts, and no verdict depends on a sentence for readers.
"""

import dataclasses
from functools import cache
from pathlib import Path

import pytest

from critests.catalogue.rpcs import judge_of
from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.files import read as read_record
from critests.record.judgement import JudgeContext, Judgement, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_layout import COMPRESSED_RUN_FILE
from critests.record.samples import SUFFIX
from tests.record.judged import nonsense
from tests.repository import tree

PUBLISHED = tree.ROOT / "results/published"
MOST_FILES = 100
MOST_BYTES = 20 * 1000 * 1000
RECORDS = sorted(path for path in PUBLISHED.rglob(COMPRESSED_RUN_FILE))
JUDGING = JudgeContext(judge_of=judge_of)
read = cache(read_record)


def test_what_is_published_stays_small() -> None:
    sizes = {path: path.stat().st_size for path in tree.tracked() if path.is_relative_to(PUBLISHED)}

    assert len(sizes) <= MOST_FILES
    assert sum(sizes.values()) <= MOST_BYTES


def test_what_is_published_is_compressed_records_and_what_a_reader_looks_at() -> None:
    files = [path for path in tree.tracked() if path.is_relative_to(PUBLISHED)]
    records = [path for path in files if path.name == COMPRESSED_RUN_FILE]

    samples = [path for path in files if path.parent.name == "samples" and path.name.endswith(SUFFIX)]
    with_critest = [path for path in files if path.name == "comparison.json.gz"]
    others = {path.suffix for path in {*files}.difference(records, samples, with_critest)}
    assert others <= {".md", ".png", ".svg"}, "build pages where they are served, from the records"
    assert records
    assert all(read(path).tests for path in records)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: "/".join(path.parts[-4:-1]))
def test_published_verdicts_stand(path: Path) -> None:
    record = read(path)

    again = judge(record.tests, JUDGING)

    assert verdicts(again.tests) == verdicts(record.tests)
    assert again.requirements == record.requirements
    if record.kind == "validation":
        assert again.exit_code == record.exit_code


# no published run has an error of the suite, whose exit code hides that of a broken MUST
MISTAKE = Reason(code=ReasonCode.HARNESS, words="KeyError in the harness", where="call")


@pytest.mark.parametrize(
    ("mistakes", "exit_code"), [([], ExitCode.BROKEN), ([MISTAKE], ExitCode.HARNESS_ERROR)], ids=["", "error"]
)
@pytest.mark.parametrize("runtime", ["containerd/1.6.20~ds1", "cri-o/1.37.0"])
def test_no_verdict_hangs_on_a_word_that_a_person_reads(
    runtime: str, mistakes: list[Reason], exit_code: ExitCode
) -> None:
    path = min((PUBLISHED / runtime).rglob(COMPRESSED_RUN_FILE))  # the oldest is of the whole suite
    observed = [as_observed(test) for test in read(path).tests if not test.stands_for]
    at = next(number for number, test in enumerate(observed) if test.outcome is Outcome.PASSED)
    for mistake in mistakes:
        observed[at] = dataclasses.replace(observed[at], outcome=Outcome.ERROR, why=mistake)
    assert {test.outcome for test in observed} > {Outcome.FAILED, Outcome.BLOCKED, Outcome.UNSUPPORTED}

    plain, other = judge(observed, JUDGING), judge([nonsense(test) for test in observed], JUDGING)

    assert plain.exit_code == other.exit_code == exit_code
    assert any(test.cause for test in plain.tests)
    assert decided(other) == decided(plain)


def verdicts(tests: list[TestResult]) -> dict[str, tuple[Outcome, str, str]]:
    return {test.id: (test.outcome, test.blocked_by, test.cause) for test in tests}


def decided(judgement: Judgement) -> tuple[object, ...]:
    causes = [(each.requirement, each.rpc, each.blocked, each.failed) for each in judgement.root_causes]
    return (
        verdicts(judgement.tests),
        causes,
        judgement.counts,
        judgement.requirements,
        judgement.ending.broken,
    )


def as_observed(test: TestResult) -> TestResult:
    """Return a result of a stored run as it was before anybody judged it, and no list of failures known."""
    failed = test.outcome in {Outcome.KNOWN, Outcome.WARNED}
    return dataclasses.replace(test, outcome=Outcome.FAILED if failed else test.outcome, intermittent=False)
