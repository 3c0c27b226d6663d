"""What a test is judged by if the daemon has ended."""

from types import SimpleNamespace
from typing import Any

from critests import plugin
from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.run import item_results
from critests.run.classification import RawOutcome

END = Reason(code=ReasonCode.RUNTIME_ENDED, where="process 1")


def checked(raw: RawOutcome | None) -> tuple[RawOutcome | None, object]:
    """Return the outcome of the phase, and why the runtime is gone."""
    # the parts of the session that it uses
    session: Any = SimpleNamespace(
        gone=None,
        connection=None,
        recorder=SimpleNamespace(since=lambda _: []),
        watch=SimpleNamespace(ended=lambda *_, **__: END),
        log=SimpleNamespace(since=lambda _: b""),
    )
    progress = item_results.TestProgress(phases={"call": item_results.Phase()})
    return plugin._check_daemon(session, progress, raw, "call"), session.gone


def test_a_daemon_that_ends_during_a_test_has_crashed() -> None:
    raw, gone = checked(None)

    assert raw is not None
    assert (raw.outcome, raw.judged_as, gone) == (Outcome.FAILED, "GEN-17", END)


def test_a_daemon_that_does_not_come_back_after_a_kill_has_not_crashed() -> None:
    found = RawOutcome(Outcome.FAILED, judged_as="RST-14")

    assert checked(found) == (found, END)
