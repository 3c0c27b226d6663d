"""The sentences of reasons that are values only."""

import pytest

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import said, worded_result

REFUSED = "dial tcp: connection refused"


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (Reason(code=ReasonCode.RUNTIME_ENDED, where="process 7"), "the daemon (process 7) exited"),
        (
            Reason(code=ReasonCode.RUNTIME_ENDED, where="process 8", other="process 7"),
            "process 8, which the daemon (process 7) works with, exited",
        ),
        (
            Reason(
                code=ReasonCode.RUNTIME_SILENT,
                subject="Version",
                where="unix:///a.sock",
                expected="5",
                unit="s",
            ),
            "the runtime stopped responding (unix:///a.sock: Version got no response within 5 s)",
        ),
        (
            Reason(code=ReasonCode.TOO_LONG, expected="60", unit="s"),
            "the test took more than 60 s in addition to its calls to the runtime",
        ),
        (
            Reason(
                code=ReasonCode.NOT_REMOVED,
                subject="container",
                where="1",
                seen="UNKNOWN",
                words="busy",
            ),
            "container 1 could not be removed: UNKNOWN: busy",
        ),
        (
            Reason(code=ReasonCode.CAPABILITY_MISSING, subject="IPv6"),
            "IPv6 is required by --require and was not found (no probe knows it)",
        ),
        (
            Reason(code=ReasonCode.CAPABILITY_MISSING, subject="IPv6", seen="None"),
            "IPv6 is required by --require and was not found",
        ),
    ],
)
def test_a_reason_has_one_sentence(why: Reason, words: str) -> None:
    assert said(why) == words


def test_an_unreachable_registry_says_what_would_help() -> None:
    words = said(Reason(code=ReasonCode.REGISTRY_UNREACHABLE, where="127.0.0.1:5010", words=REFUSED))

    assert f"the suite's registry at 127.0.0.1:5010 ({REFUSED}). " in words
    assert '[[registry]] location = "127.0.0.1:5010" insecure = true' in words
    assert words.endswith("give --image-prefix")


@pytest.mark.parametrize(
    ("result", "title"),
    [
        (
            {"why": Reason(code=ReasonCode.CAPABILITY_MISSING, subject="IPv6")},
            "The runtime must offer what --require declares: IPv6.",
        ),
        (
            {"why": Reason(code=ReasonCode.ANSWER, subject="Mend"), "raw_rpc": "Mend", "stands_for": "a"},
            "Mend works, as the set-up of other tests needs it.",
        ),
        ({"why": Reason(code=ReasonCode.SAID, words="no"), "title": "A promise."}, "A promise."),
    ],
)
def test_a_result_without_a_test_gets_a_title(result: dict[str, object], title: str) -> None:
    test = TestResult(id="b", name="b", outcome=Outcome.FAILED, **result)  # type: ignore[arg-type]  # real fields only

    assert worded_result(test).title == title
