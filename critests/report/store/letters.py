"""Verdicts as letters, so that the verdicts of a run, and the history of a requirement, are short texts."""

from typing import Final

from critests.catalogue.words import WORST_FIRST, Outcome

UNTESTED: Final = "."
LETTERS: Final = {
    Outcome.PASSED: "P",
    Outcome.FAILED: "F",
    Outcome.WARNED: "W",
    Outcome.KNOWN: "K",
    Outcome.UNSUPPORTED: "U",
    Outcome.BLOCKED: "B",
    Outcome.DISABLED: UNTESTED,
    Outcome.ERROR: "E",
}
WORDS: Final = {letter: outcome.value for outcome, letter in LETTERS.items()} | {UNTESTED: "untested"}
"""Letter to the outcome's word. A deselected requirement is untested."""
JUDGED: Final = frozenset("PFWK")
"""Verdicts on the runtime; the other letters mean that there is none."""
DEVIATING: Final = frozenset("FWK")
BROKEN: Final = frozenset("FW")
"""Deviations that nobody expected."""
RANK: Final = {LETTERS[outcome]: rank for rank, outcome in enumerate(WORST_FIRST)} | {
    UNTESTED: len(WORST_FIRST)
}
"""Letter to its rank, the worst first."""


def worst_letter(letters: str) -> str:
    """Return the worst of several verdicts; `.` only if nothing was tested."""
    return min(set(letters), key=RANK.__getitem__) if letters else UNTESTED
