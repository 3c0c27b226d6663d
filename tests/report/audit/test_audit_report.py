"""The page and the summary of an audit."""

import dataclasses
import io
import json
import re
from pathlib import Path

from critests.record.audits import AuditRecord
from critests.report.audit.page import audit_to_html
from critests.report.audit.terminal import print_audit
from critests.report.audit.views import headline, never_red, part, rows_of_tests, sentence_of
from critests.report.exports import export_audit
from critests.report.terminal.console import new_console
from tests.report.audit.sample_audit import AUDIT, NOTICED, SURVIVED


def printed(record: AuditRecord) -> str:
    out = io.StringIO()
    print_audit(record, new_console(out), "page: here")
    return out.getvalue()


def test_the_page_says_first_what_survived_and_who_looked() -> None:
    page = audit_to_html(AUDIT)
    assert page.index("Version.response.version:wrong") < page.index("StopContainer:hangs")
    assert "1 of 2 faults that a test reached were noticed (50 %); 1 were not reached." in page
    assert "1 test did not notice, 3 more get there" in page
    assert "a sample with the seed 7, stopped after 6 of 7 faults" in page
    assert "containerd 2.1.9 has no Version" in page


def test_what_a_test_is_called_is_harmless_and_the_page_needs_nothing_from_elsewhere() -> None:
    page = audit_to_html(AUDIT)
    assert "<script" not in page
    assert "test_b[&lt;script&gt;]" in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)


def test_every_link_of_the_page_has_its_target() -> None:
    page = audit_to_html(AUDIT)
    targets = re.findall(r'href="#([^"]+)"', page)
    assert {"survived", "scores", "noticed", "not-reached", "never-filled", "tests"} <= set(targets)
    for target in targets:
        assert f'id="{target}"' in page


def test_an_audit_of_nothing_has_a_page() -> None:
    nothing = AuditRecord(runtime="containerd 2.1.9")
    assert "No fault was reached by a test." in audit_to_html(nothing)
    assert part(nothing) == ""


def test_the_summary_names_survivors_and_scores() -> None:
    text = printed(AUDIT)
    assert text.index("survived Version.response.version:wrong") < text.index(
        "not reached Version:not-reached"
    )
    assert "not noticed by test_b[<script>] (passed); 3 tests more get there" in text
    assert re.search(r"containers +1 +· +100 % +· +100 % +·", text)
    assert "2 faults tried, 2.0 s each" in text
    assert text.rstrip().endswith("page: here")


def test_a_long_list_is_cut() -> None:
    many = dataclasses.replace(AUDIT, faults=[SURVIVED] * 50)
    assert "… and 10 more" in printed(many)


def test_what_a_fault_does_is_a_sentence() -> None:
    late = dataclasses.replace(SURVIVED, kind="log", says="lines come N seconds late")

    assert sentence_of(SURVIVED) == "The runtime reports another version."
    assert sentence_of(late) == "Lines come N seconds late."


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
    assert '2</span> <span class="text">more met no fault' in audit_to_html(AUDIT)


def test_an_older_record_says_nothing_of_tests_that_stayed_green() -> None:
    older = dataclasses.replace(AUDIT, passed=[])
    assert "never red" not in printed(older)
    assert 'id="never-red"' not in audit_to_html(older)


def test_a_whole_audit_needs_no_excuse() -> None:
    whole = dataclasses.replace(AUDIT, seed=None, faults_total=6)
    assert part(whole) == ""
    assert headline(whole) == headline(AUDIT)


def test_files_of_an_audit(tmp_path: Path) -> None:
    export_audit(AUDIT, tmp_path / "audit", html=tmp_path / "a.html", json=tmp_path / "a.json")
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    stored = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))
    assert stored == json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert stored["schema"] == "critests.audit"
    assert [fault["outcome"] for fault in stored["faults"]][:2] == ["noticed", "survived"]
