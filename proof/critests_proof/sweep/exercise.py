"""The places in the API that each test reaches on one runtime, from a recording without faults."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from critests.record.files import write_atomically
from critests_proof.derived.fault import DerivedFault, Reach
from critests_proof.derived.fields import fields_of
from critests_proof.language.descriptors import rpcs

FORM = 2
"""Version of the file format; a file of another version is discarded."""


@dataclass(frozen=True)
class Exercised:
    """The recording of one test without a fault.

    Attributes:
        test: its name, with its parameters.
        outcome: outcome of the test.
        seconds: duration of its set-up, including that of its module's fixtures, its call and its clean-up.
        places: the places that it reached, in the form of `Watch`.
        judges: the aspect that it judges; empty for none.
        source: digest of its module at that time.
    """

    test: str
    outcome: str
    seconds: float
    places: frozenset[str]
    judges: str = ""
    source: str = ""


@dataclass
class Exercise:
    """The recordings of all tests on one runtime.

    Attributes:
        runtime: its name and version.
        tests: by name.
        absent: RPCs that the runtime does not implement.
    """

    runtime: str
    tests: dict[str, Exercised] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()

    def add(self, test: Exercised) -> None:
        """Add or replace the recording of a test."""
        self.tests[test.test] = test
        self.__dict__.pop("_by_place", None)

    @cached_property
    def _by_place(self) -> dict[str, list[Exercised]]:
        found: dict[str, list[Exercised]] = defaultdict(list)
        for test in self.tests.values():
            for place in test.places:
                found[place].append(test)
        return found

    def reaching(self, reach: Reach) -> list[Exercised]:
        """Return the tests that reach a fault, with any outcome."""
        return self._by_place.get(str(reach), [])

    def never_answered(self) -> list[str]:
        """Return the RPCs without a successful call."""
        return [name for name in rpcs() if str(Reach(name, "response")) not in self._by_place]

    def never_filled(self, fault: DerivedFault) -> str:
        """Return the evidence that this runtime never fills the field of a fault, or never fails for a fault
        in an error; empty if it does, without a call, or if the fault is not in a response.
        """
        reach = fault.reach
        if self.reaching(reach):
            return ""
        if reach.side == "error":
            called = self.reaching(Reach(reach.rpc))
            return f"{reach.rpc} failed in none of {len(called)} tests" if called else ""
        if reach.side != "response":
            return ""
        asked = self.reaching(Reach(reach.rpc, "response"))
        return f"never filled in what {reach.rpc} answered to {len(asked)} tests" if asked else ""

    def save(self, file: Path) -> None:
        """Write the file; an existing file is replaced atomically.

        Raises:
            RecordError: the file cannot be written.
        """
        places = sorted({place for test in self.tests.values() for place in test.places})
        number = {place: index for index, place in enumerate(places)}
        tests = [
            {
                "test": test.test,
                "outcome": test.outcome,
                "seconds": round(test.seconds, 3),
                "judges": test.judges,
                "source": test.source,
                "places": sorted(number[place] for place in test.places),
            }
            for test in self.tests.values()
        ]
        document = {
            "form": FORM,
            "runtime": self.runtime,
            "absent": sorted(self.absent),
            "places": places,
            "tests": tests,
        }
        write_atomically(file, json.dumps(document) + "\n")

    @classmethod
    def load(cls, file: Path, runtime: str) -> Self:
        """Return the recording of a runtime; empty without a file, or if it is of another runtime."""
        exercise = cls(runtime)
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return exercise
        if document.get("form") != FORM or document.get("runtime") != runtime:
            return exercise
        exercise.absent = frozenset(document.get("absent", ()))
        names = document["places"]
        for test in document["tests"]:
            places = frozenset(names[index] for index in test["places"])
            exercise.add(
                Exercised(
                    test["test"],
                    test["outcome"],
                    test["seconds"],
                    places,
                    test["judges"],
                    test.get("source", ""),
                )
            )
        return exercise


@dataclass(frozen=True)
class Covered:
    """The coverage of one side of the API by some tests.

    Attributes:
        side: `request` or `response`.
        fields: all fields of the API.
        seen: fields that a test set, or the runtime filled.
    """

    side: str
    fields: tuple[str, ...]
    seen: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that no test set, or the runtime never filled."""
        seen = set(self.seen)
        return tuple(name for name in self.fields if name not in seen)


def coverage(exercise: Exercise, side: str, of: Iterable[str] = ()) -> Covered:
    """Return the coverage of the fields of all requests, or of all responses.

    Args:
        exercise: the recording.
        side: `request` or `response`.
        of: names of RPCs; all by default.
    """
    wanted = set(of)
    names = tuple(
        field.target
        for rpc in rpcs().values()
        if not wanted or rpc.name in wanted
        for field in fields_of(rpc, side)
    )
    seen = frozenset().union(*(test.places for test in exercise.tests.values()))
    return Covered(side, names, tuple(name for name in names if name in seen))
