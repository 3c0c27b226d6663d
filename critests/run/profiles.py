"""The profiles of a validation: named sets of tests."""

from typing import Final, NamedTuple

EVERYTHING: Final = "everything"
FULL, SLOW, RESTART, MALFORMED, DOCUMENTS = "full", "slow", "restart", "malformed", "documents"
SURVEY: Final = "survey"
"""With the five above, the six parts of `everything`; each test is in exactly one."""
MUST: Final = "must"
SMOKE: Final = "smoke"


class Profile(NamedTuple):
    """The tests of a profile, in words, and roughly how long they take with two workers."""

    tests: str
    takes: str


PROFILES: Final = {
    EVERYTHING: Profile("every test; the default, and the whole suite", "26 min"),
    FULL: Profile("all but survey, slow and disruptive tests", "5 min"),
    SLOW: Profile("tests that wait for more than two seconds", "3 min"),
    RESTART: Profile("tests that restart, starve or provoke the daemon", "3 min"),
    MALFORMED: Profile("requests that lack required fields", "1 min"),
    DOCUMENTS: Profile("unusual values in every field of images and other documents", "10 min"),
    SURVEY: Profile("behaviour where the API leaves a choice", "1 min"),
    MUST: Profile("all tests of a MUST", "3 min"),
    SMOKE: Profile("tests of the RPCs that other tests need", "1 min"),
}
MACHINE: Final = "-n 2, containerd 2.1, 2 idle cores"
"""The machine of these durations."""


def table() -> str:
    """Return the profiles for a help text, one per line."""
    width = max(len(profile.tests) for profile in PROFILES.values())
    return "\n".join(
        f"  {name:<11} {profile.tests:<{width}} {profile.takes:>7}" for name, profile in PROFILES.items()
    )
