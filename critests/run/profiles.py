"""The profiles of a validation: named sets of tests."""

from typing import Final, NamedTuple

EVERYTHING: Final = "everything"
FULL, SLOW, RESTART, MALFORMED = "full", "slow", "restart", "malformed"
SURVEY: Final = "survey"
"""With the four above, the five parts of `everything`; each test is in exactly one."""
MUST: Final = "must"
SMOKE: Final = "smoke"


class Profile(NamedTuple):
    """The tests of a profile, in words, and roughly how long they take with two workers."""

    tests: str
    takes: str


PROFILES: Final = {
    EVERYTHING: Profile("every test: the default, and what a whole run is", "14 min"),
    FULL: Profile("all but the survey and what is slow or disruptive", "5 min"),
    SLOW: Profile("what has to wait for more than two seconds", "2 min"),
    RESTART: Profile("what restarts, starves or provokes the daemon", "3 min"),
    MALFORMED: Profile("requests that lack what they need", "1 min"),
    SURVEY: Profile("how runtimes differ where the API is silent", "1 min"),
    MUST: Profile("what a MUST asks, in all parts", "3 min"),
    SMOKE: Profile("what judges the RPCs that other tests need", "1 min"),
}
MACHINE: Final = "-n 2, containerd 2.1, 2 idle cores"
"""The machine of these durations."""


def table() -> str:
    """Return the profiles for a help text, one per line."""
    width = max(len(profile.tests) for profile in PROFILES.values())
    return "\n".join(
        f"  {name:<11} {profile.tests:<{width}} {profile.takes:>7}" for name, profile in PROFILES.items()
    )
