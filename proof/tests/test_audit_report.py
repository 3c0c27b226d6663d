"""The summary of an audit."""

import dataclasses
import io
import re

from critests_proof.audit_terminal import print_audit
from critests_proof.audit_views import headline, never_red, part, rows_of_tests
from critests_proof.record import AuditRecord
from sample_audit import AUDIT, NOTICED, SURVIVED

from critests.report.terminal.console import new_console


def printed(record: AuditRecord) -> str:
    out = io.StringIO()
    print_audit(record, new_console(out), "record: here")
    return out.getvalue()


def test_an_audit_of_nothing() -> None:
    nothing = AuditRecord(runtime="containerd 2.1.9")
    assert headline(nothing) == "No fault was reached by a test."
    assert part(nothing) == ""


def test_the_summary_names_survivors_and_scores() -> None:
    text = printed(AUDIT)
    assert text.index("survived Version.response.version:wrong") < text.index(
        "not reached Version:not-reached"
    )
    assert "not noticed by test_b[<script>] (passed); 3 tests more get there" in text
    assert re.search(r"containers +1 +· +100 % +· +100 % +·", text)
    assert "2 faults tried, 2.0 s each" in text
    assert text.rstrip().endswith("record: here")


def test_a_long_list_is_cut() -> None:
    many = dataclasses.replace(AUDIT, faults=[SURVIVED] * 50)
    assert "… and 10 more" in printed(many)


def test_what_each_test_was_tried_on() -> None:
    rows = rows_of_tests(dataclasses.replace(AUDIT, faults=[NOTICED, SURVIVED]))
    assert [(row.name, row.noticed, row.missed) for row in rows] == [
        ("test_a", ["StopContainer:hangs"], []),
        ("test_b[<script>]", [], ["Version.response.version:wrong"]),
        ("test_c", [], []),
    ]


def test_tests_that_no_fault_turned_red_are_named() -> None:
    never = never_red(AUDIT)

    assert [row.name for row in never.met] == ["test_b[<script>]"]
    assert never.spared == ["test_c", "test_d"]
    text = printed(AUDIT)
    assert "never red test_b[<script>], under 1 fault" in text
    assert (
        "4 tests passed without a fault: 1 turned red by one, 1 by none that changed something in them, and"
        " 2 met none that did" in text
    )


def test_an_older_record_says_nothing_of_tests_that_stayed_green() -> None:
    older = dataclasses.replace(AUDIT, passed=[])
    assert "never red" not in printed(older)


def test_a_whole_audit_needs_no_excuse() -> None:
    whole = dataclasses.replace(AUDIT, seed=None, faults_total=6)
    assert part(whole) == ""
    assert headline(whole) == headline(AUDIT)
