"""Text as GitHub's Markdown: what GitHub would interpret is escaped, and nothing else."""

import pytest

from critests.report.wording.markdown import prose


@pytest.mark.parametrize(
    "text",
    [
        "3.31 ms: 25 % less",
        "2026-11-28 10:37 UTC",
        "--budget of CRI-O 1.36",
        "-10 to +0 %",
        "NET_BIND_SERVICE",
        "runc 1.1.5+ds1 at /usr/sbin/runc",
    ],
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert prose(text) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("- item", r"\- item"),
        ("---", r"\---"),
        ("- - -", r"\- - -"),
        ("===", r"\==="),
        ("1. item", r"1\. item"),
        ("12) item", r"12\) item"),
        ("_very_", r"\_very\_"),
        ("__init__", r"\_\_init\_\_"),
        ("https://a.example", r"https\://a.example"),
        ("www.a.example", r"www\.a.example"),
        (":tada:", r"\:tada:"),
        ("#7 @me", "#<!-- -->7 @<!-- -->me"),
        ("a|b", r"a\|b"),
    ],
)
def test_markup_is_escaped(text: str, escaped: str) -> None:
    assert prose(text) == escaped
