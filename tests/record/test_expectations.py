import dataclasses
import datetime as dt
import re
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.expectations import load
from critests.record.result_records import TestResult
from critests.record.versions import parse_condition, parse_version
from critests.report.wording.endings import notes_of
from critests.report.wording.reason_sentences import sentence
from critests.toml_file import TomlMalformed

ENTRY = """# known failures
[[known]]
requirement = "STP-09"
test = "test_stop"
handlers = ["*"]
versions = "<2.0"
outcome = "warned"
reason = "answers NotFound"
link = "https://example.org/1"
owner = "runtime"
expires = 2027-06-30
"""
TODAY = dt.date(2026, 11, 20)


def result(outcome: Outcome, **more: str) -> TestResult:
    fields = {"name": "test_stop", "requirement": "STP-09/error", "requirement_id": "STP-09"} | more
    return TestResult(id=f"containers/test_stop.py::{fields['name']}", outcome=outcome, **fields)  # type: ignore[arg-type]  # texts only


def outcome_of(tmp_path: Path, text: str, test: TestResult, version: str = "1.6.20~ds1") -> TestResult:
    (tmp_path / "x.toml").write_text(text)
    return load(tmp_path / "x.toml").apply([test], version, TODAY).tests[0]


def test_an_expected_warning_is_known(tmp_path: Path) -> None:
    test = outcome_of(tmp_path, ENTRY, result(Outcome.WARNED))

    assert test.outcome is Outcome.KNOWN
    assert test.expectation == "https://example.org/1"
    assert sentence(test) == "answers NotFound"


@pytest.mark.parametrize(
    ("conditions", "outcome"),
    [(["restarts", "churn"], Outcome.KNOWN), (["churn"], Outcome.WARNED), ([], Outcome.WARNED)],
)
def test_an_entry_of_a_condition_holds_only_under_it(
    tmp_path: Path, conditions: list[str], outcome: Outcome
) -> None:
    (tmp_path / "x.toml").write_text(f'{ENTRY}conditions = ["restarts"]\n')
    listed = load(tmp_path / "x.toml").under(conditions)

    assert listed.apply([result(Outcome.WARNED)], "1.6.20", TODAY).tests[0].outcome is outcome


@pytest.mark.parametrize(
    ("handler", "outcome"),
    [("", Outcome.KNOWN), ("runc-1.3", Outcome.KNOWN), ("crun", Outcome.WARNED)],
    ids=["the default one", "a pattern holds", "none does"],
)
def test_what_handlers_an_entry_is_about(tmp_path: Path, handler: str, outcome: Outcome) -> None:
    entry = ENTRY.replace('["*"]', '["", "run*"]')

    assert outcome_of(tmp_path, entry, result(Outcome.WARNED, handler=handler)).outcome is outcome


ENDS = ENTRY.replace("STP-09", "GEN-17").replace('"test_stop"', '"*"').replace('"warned"', '"failed"')
ENDS += """intermittent = true
words = "stats.update"
"""


@pytest.mark.parametrize(
    ("detail", "outcome"),
    [("panic: nil pointer\nmain.stats.update(0x1)", Outcome.KNOWN), ("panic: in pull", Outcome.FAILED)],
)
@pytest.mark.parametrize("synthesized", [False, True])
def test_an_end_is_known_by_its_words_whatever_test_met_it(
    tmp_path: Path, detail: str, outcome: Outcome, synthesized: bool
) -> None:
    end = result(
        Outcome.FAILED, requirement="GEN-17", requirement_id="GEN-17", name="test_any", detail=detail
    )

    judged = outcome_of(tmp_path, ENDS, dataclasses.replace(end, synthesized=synthesized))

    assert judged.outcome is outcome


def test_an_entry_for_any_test_needs_the_words_of_a_failure(tmp_path: Path) -> None:
    with pytest.raises(TomlMalformed, match='names the "words"'):
        outcome_of(tmp_path, ENDS[: ENDS.index("words")], result(Outcome.PASSED))


def test_a_failure_where_a_warning_is_expected_stays_a_failure(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, ENTRY, result(Outcome.FAILED)).outcome is Outcome.FAILED


def test_an_unexpected_pass_fails_and_says_what_to_do(tmp_path: Path) -> None:
    test = outcome_of(tmp_path, ENTRY, result(Outcome.PASSED))

    assert test.outcome is Outcome.FAILED
    assert sentence(test) == (
        "unexpected pass: x.toml:2 expects it to be warned; limit the entry to earlier versions, or remove it"
    )


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("1.6.34", Outcome.KNOWN),
        ("1.6.35", Outcome.WARNED),
        ("1.7.0", Outcome.KNOWN),
        ("1.7.20", Outcome.KNOWN),
        ("1.7.21", Outcome.WARNED),
        ("2.0", Outcome.WARNED),
    ],
)
def test_a_fix_may_end_an_entry_in_each_series(tmp_path: Path, version: str, outcome: Outcome) -> None:
    text = ENTRY.replace('"<2.0"', '["<1.6.35", ">=1.7,<1.7.21"]')

    assert outcome_of(tmp_path, text, result(Outcome.WARNED), version).outcome is outcome


PROVEN = ENTRY.replace('"<2.0"', '"*"\nproven = ["==1.6.20", ">=1.7.24,<=2.1.9"]')


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("1.6.19", Outcome.PASSED),
        ("1.6.20~ds1", Outcome.FAILED),
        ("1.6.21", Outcome.PASSED),
        ("2.0.5", Outcome.FAILED),
        ("2.2", Outcome.PASSED),
        ("devel", Outcome.PASSED),
    ],
)
def test_an_unexpected_pass_fails_only_where_runs_have_shown_the_failure(
    tmp_path: Path, version: str, outcome: Outcome
) -> None:
    assert outcome_of(tmp_path, PROVEN, result(Outcome.PASSED), version).outcome is outcome
    assert outcome_of(tmp_path, PROVEN, result(Outcome.WARNED), version).outcome is Outcome.KNOWN


def test_what_hangs_on_more_than_the_version_is_never_an_unexpected_pass(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(re.sub(r"proven = .*", "proven = []", PROVEN))
    known = load(tmp_path / "x.toml")

    passed = known.apply([result(Outcome.PASSED)], "1.6.20", TODAY)

    assert [test.outcome for test in passed.tests] == [Outcome.PASSED]
    (note,) = notes_of(passed, "2.2.0")
    assert note.endswith("earlier runs showed it to be warned, which depends on more than the version")
    broken = known.apply([result(Outcome.WARNED)], "1.6.20", TODAY)
    assert [test.outcome for test in broken.tests] == [Outcome.KNOWN]


def test_a_pass_beyond_what_runs_have_shown_is_noted_once(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(PROVEN)
    known = load(tmp_path / "x.toml")
    cases = [result(Outcome.PASSED, name=f"test_stop[{case}]") for case in "ab"]

    applied = known.apply(cases, "2.2.0", TODAY)

    assert applied.tests == cases
    (note,) = notes_of(applied, "2.2.0")
    assert note.startswith("x.toml:2: no longer needed from 2.2.0: STP-09 (test_stop) passed")
    assert note.endswith("earlier runs showed it to be warned only in ==1.6.20 or >=1.7.24,<=2.1.9")
    broken = result(Outcome.WARNED, name="test_stop[c]")
    assert known.apply([*cases, broken], "2.2.0", TODAY).obsolete == []
    assert known.apply([result(Outcome.BLOCKED)], "2.2.0", TODAY).obsolete == []


@pytest.mark.parametrize(
    ("found", "outcome", "this_time"),
    [
        (Outcome.WARNED, Outcome.KNOWN, "failed"),
        (Outcome.PASSED, Outcome.PASSED, "passed"),
    ],
)
def test_what_fails_only_now_and_then_may_pass_and_either_is_said(
    tmp_path: Path, found: Outcome, outcome: Outcome, this_time: str
) -> None:
    (tmp_path / "x.toml").write_text(f"{ENTRY}intermittent = true\n")
    known = load(tmp_path / "x.toml")

    applied = known.apply([result(found)], "1.6", TODAY)
    again = known.apply(applied.tests, "1.6", TODAY)

    assert applied.tests[0].outcome is outcome
    assert applied.tests[0].expectation == "https://example.org/1"
    why = "known to fail intermittently: answers NotFound"
    assert sentence(applied.tests[0]) == why
    assert notes_of(applied, "2.2.0") == [f"STP-09/error (test_stop) {this_time} this time; {why}"]
    assert again == applied


def test_what_fails_only_now_and_then_is_not_excused_beyond_its_entry(tmp_path: Path) -> None:
    text = f"{ENTRY}intermittent = true\n"

    assert outcome_of(tmp_path, text, result(Outcome.FAILED)).outcome is Outcome.FAILED
    assert outcome_of(tmp_path, text, result(Outcome.PASSED), "2.0").reason == ""


@pytest.mark.parametrize(
    ("old", "new", "test"),
    [
        ("<2.0", ">=2.0", result(Outcome.WARNED)),
        ('["*"]', '["crun*"]', result(Outcome.WARNED)),
        ('"test_stop"', '"test_stop[a]"', result(Outcome.WARNED, name="test_stop[b]")),
        ("STP-09", "STP-09/code", result(Outcome.WARNED)),
        ("", "", result(Outcome.BLOCKED)),
        ("", "", result(Outcome.ERROR)),
    ],
)
def test_an_entry_speaks_only_of_what_it_names(tmp_path: Path, old: str, new: str, test: TestResult) -> None:
    assert outcome_of(tmp_path, ENTRY.replace(old, new, 1) if old else ENTRY, test) is test


def test_a_case_and_a_handler_can_be_named(tmp_path: Path) -> None:
    text = ENTRY.replace('"test_stop"', '"test_stop[a b]"').replace('["*"]', '["crun"]')

    assert (
        outcome_of(tmp_path, text, result(Outcome.WARNED, name="test_stop[a b]", handler="crun")).outcome
        is Outcome.KNOWN
    )


@pytest.mark.parametrize(
    ("name", "handler"),
    [
        ("test_stop[runc-digest]", "runc"),
        ("test_stop[digest-runc]", "runc"),
        ("test_stop[default-digest]", ""),
    ],
)
def test_a_case_is_named_without_the_handler_of_a_run_on_several(
    tmp_path: Path, name: str, handler: str
) -> None:
    entry = ENTRY.replace('"test_stop"', '"test_stop[digest]"')
    of_several = {"handler": handler, "params": {"runtime_handler": handler, "form": "digest"}}

    known = dataclasses.replace(result(Outcome.WARNED, name=name), **of_several)  # type: ignore[arg-type]  # its fields differ in type
    assert outcome_of(tmp_path, entry, known).outcome is Outcome.KNOWN

    other = dataclasses.replace(known, name=name.replace("digest", "tag"))
    assert outcome_of(tmp_path, entry, other).outcome is Outcome.WARNED


def test_an_expired_entry_does_not_apply_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(ENTRY)

    applied = load(tmp_path / "x.toml").apply([result(Outcome.WARNED)], "1.6", dt.date(2027, 7, 1))

    assert applied.tests[0].outcome is Outcome.WARNED
    assert notes_of(applied, "2.2.0") == [
        "x.toml:2: the entry for STP-09 (test_stop) expired on 2027-06-30 and does not apply"
    ]
    assert load(tmp_path / "x.toml").apply([], "1.6", dt.date(2027, 6, 30)).expired == []


def test_a_runtime_without_a_file_has_no_known_failures(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml").known == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ('"STP-09"', '"STP-99"', 3, 'no requirement "STP-99"'),
        ('outcome = "warned"', 'outcome = "known"', 7, 'outcome: must be "failed" or "warned"'),
        ('"<2.0"', '"about 2"', 6, "no condition on versions"),
        ('"<2.0"', "[]", 6, "versions: must be a list of texts"),
        ('"<2.0"', '["<2.0", "about 2"]', 6, '"about 2" is no condition'),
        ('"<2.0"', '"<2.0"\nproven = "1.6"', 7, '"1.6" is no condition'),
        ("2027-06-30", '"2027-06-30"', 11, "a day without quotes"),
        ('owner = "runtime"', "", 2, 'no "owner"'),
        ('owner = "runtime"', 'owners = "runtime"', 10, '"owners" is not a key'),
        ('reason = "answers NotFound"', 'reason = ""', 8, "reason: must be a text"),
        ('link = "https://example.org/1"', "", 2, '"link"'),
        ('["*"]', '"*"', 5, "handlers: must be a list"),
        ('["*"]', '["", 1]', 5, "handlers: must be a list"),
        ('"STP-09"', '"STP-09', 3, "not TOML"),
        ('owner = "runtime"', 'owner = "runtime"\nintermittent = "yes"', 11, "intermittent: must be"),
        ('owner = "runtime"', 'owner = "runtime"\nexplored = "STP-09: *"', 11, "explored: must be a list"),
        ("[[known]]", "[known]", 2, "must be written as [[known]]"),
        ("[[known]]", "[[knwon]]", 2, '"knwon" is not a key here; there are [[known]]'),
        ("# known failures\n", ENTRY, 12, "the same entry as on line 2"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    path = tmp_path / "containerd.toml"
    path.write_text(ENTRY.replace(old, new, 1))

    with pytest.raises(TomlMalformed) as caught:
        load(path, known_requirement=lambda name: name.startswith("STP-0"))

    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("version", "condition", "holds"),
    [
        ("1.6.20~ds1", "<2.0", True),
        ("1.6.20~ds1", ">=1.6,<1.7", True),
        ("v1.7.24~ds1", ">=1.6,<1.7", False),
        ("2.1.9+unknown", "<2.0", False),
        ("2.1.9+unknown", ">=2.1.9", True),
        ("2.0.0-rc.1", "<2.0", False),
        ("2.0.0-rc.1", "<2.0.0-rc.2", True),
        ("2.0.0", ">2.0.0-rc.2", True),
        ("1.37.0", "==1.37", True),
        ("1.10", ">1.9", True),
        ("1.37.0", "!=1.37", False),
        ("unknown", "<2.0", False),
        ("unknown", "*", True),
        ("", "*", True),
    ],
)
def test_conditions_read_the_versions_that_runtimes_report(version: str, condition: str, holds: bool) -> None:
    assert parse_condition(condition).holds(version) is holds


@pytest.mark.parametrize("text", ["", "2.0", "<", "<2.0,", "~=1.6", "<2.x"])
def test_a_condition_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no condition on versions"):
        parse_condition(text)


def test_a_version_without_numbers_is_none() -> None:
    assert parse_version("devel") is None
