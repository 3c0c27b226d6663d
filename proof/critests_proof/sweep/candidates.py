"""The tests to try for a fault and their order: first those known to check the field, then the fastest."""

from collections import defaultdict
from collections.abc import Iterable

from critests.catalogue.words import Outcome
from critests.lifecycle.process import EXEC, FIRST_PROCESS, HOST
from critests_proof.derived.fault import DerivedFault
from critests_proof.language.faults import Fault, LogFault, OciFault, StreamFault
from critests_proof.matrix import Matrix, base_name
from critests_proof.sweep.exercise import Exercise, Exercised

EXACTLY, NEAR, JUDGES, SIBLING, SAME_NAME, SAME_RPC, GETS_THERE = range(7)
"""Likelihood that a test notices a fault, in descending order: it notices faults in the same field, in a
parent or nested field, it judges a requirement that the fault breaks, it notices faults in a sibling field of
a nested message, in a field of the same name elsewhere, in the same RPC, or it only reaches the place.
"""
LONG_SECONDS = 3.0
"""Slower tests are tried after the fast tests that are likely to notice."""
_Target = tuple[str, str, tuple[str, ...]]
_STEPS = 2
"""Depth of nested fields that a test of a field also checks, such as the numbers in a mapping."""


class Candidates:
    """The tests for each fault.

    Args:
        exercise: the places that each test reaches.
        matrix: the faults in the files next to the tests.
    """

    def __init__(self, exercise: Exercise, matrix: Matrix) -> None:
        self._exercise = exercise
        self._notices: dict[str, set[_Target]] = defaultdict(set)
        self._notices_alone: dict[str, set[_Target]] = defaultdict(set)
        self._cases_for: dict[tuple[str, _Target], set[str]] = defaultdict(set)
        for entry in matrix.entries:
            targets = {target for fault in entry.faults if (target := _target(fault)) is not None}
            for test in entry.turns_red:
                self._notices[base_name(test)] |= targets
                # with several faults at once it is unknown which one a test noticed
                self._notices_alone[base_name(test)] |= targets if len(entry.faults) == 1 else set()
                for target in targets:
                    self._cases_for[base_name(test), target].add(test)

    def for_fault(self, fault: DerivedFault) -> list[Exercised]:
        """Return the tests that reach a fault and pass without it, by likelihood and then by duration. An
        unsupported test is included if it is known to notice faults in this field, because it may depend on
        whether the field is set.
        """
        target = _target(fault.faults[0])
        return sorted(
            (
                test
                for test in self._getting_there(fault)
                if test.outcome == Outcome.PASSED.value
                or (
                    test.outcome == Outcome.UNSUPPORTED.value
                    and target in self._notices.get(base_name(test.test), ())
                )
            ),
            key=lambda test: (
                self._likely(test, fault, target),
                not _is_case_of(test, target, self._notices.get(base_name(test.test), set())),
                not _is_named_as(test, fault.faults[0]),
                self._is_another_case(test, target),
                _place_of_what_it_judges(test, fault),
                _is_of_another_process(test, fault),
                test.seconds,
                test.test,
            ),
        )

    def _getting_there(self, fault: DerivedFault) -> Iterable[Exercised]:
        """Return the tests that reach a fault. For faults below the runtime these include the tests of the
        broken requirements, because they may expect a rejection, so that no call succeeds.
        """
        tests = self._exercise.reaching(fault.reach)
        if _target(fault.faults[0]) is not None:
            return tests
        judging = (test for test in self._exercise.tests.values() if _judges(test, fault))
        return dict.fromkeys([*tests, *judging])

    def judging(self, fault: DerivedFault, requirement: str, most: int) -> list[Exercised]:
        """Return the tests of a requirement, the likeliest first. A test whose set-up failed in a step points
        to the requirement of that step, which in a whole run its own tests decide.
        """
        tests = (test for test in self.for_fault(fault) if test.judges.partition("/")[0] == requirement)
        return first(tests, most)

    def foreseen(self, test: Exercised, fault: DerivedFault) -> bool:
        """Return whether a test is known to notice faults in this field, so that its failure is expected."""
        return self._likely(test, fault, _target(fault.faults[0])) == EXACTLY

    def failing(self, fault: DerivedFault) -> list[str]:
        """Return the tests that reach a fault and do not pass without it."""
        return [test.test for test in self._exercise.reaching(fault.reach) if test.outcome != "passed"]

    def not_offered(self, fault: DerivedFault) -> list[str]:
        """Return the tests that check the changed field most closely, if all of them are unsupported without
        the fault: the feature is not offered here. These are the tests known to notice faults in this field
        or a parent, preferably alone; for faults below the runtime, the tests of the broken requirements.
        Failed and blocked tests do not count, because they might notice.
        """
        tests = self._exercise.tests.values()
        if _target(fault.faults[0]) is None:
            closest = [test for test in tests if _judges(test, fault)]
        else:
            nearness = {test.test: self._nearness(test, fault) for test in tests}
            nearest = max(nearness.values(), default=(0, False))
            closest = [test for test in tests if nearness[test.test] == nearest and nearest[0]]
        offered = any(test.outcome != Outcome.UNSUPPORTED.value for test in closest)
        return [] if offered else [test.test for test in closest]

    def likely(self, fault: DerivedFault, most: int) -> list[Exercised]:
        """Return the tests to try: those known to notice faults in this field, with some more of their cases,
        then those that are likelier than merely reaching it, the fast ones of these first, then the others.
        Every function is tried with one of its cases before any function with a second one.

        Args:
            fault: the fault.
            most: limit; 0 for all.
        """
        tests, target = self.for_fault(fault), _target(fault.faults[0])
        near = [test for test in tests if self._likely(test, fault, target) <= JUDGES]
        far = tests[len(near) :]
        # a test of this field may notice the fault in one of its cases only
        exactly = first((test for test in near if self._likely(test, fault, target) == EXACTLY), most // 2)
        nearest = [*exactly, *(test for test in first(near, 0) if test not in exactly)]
        # some tests that only reach the field are always included
        share = max(most * 2 // 3, most - len(far)) if most else len(nearest)
        # the duration decides only the order of the tests, not the selection
        chosen = sorted(nearest[:share], key=lambda test: test.seconds > LONG_SECONDS) + first(far, 0)
        return chosen[:most] if most else chosen

    def _is_another_case(self, test: Exercised, target: _Target | None) -> bool:
        """Return whether only other cases of this function are known to notice faults in this field."""
        known = self._cases_for.get((base_name(test.test), target), set()) if target is not None else set()
        return bool(known) and not known & {test.test, base_name(test.test)}

    def _nearness(self, test: Exercised, fault: DerivedFault) -> tuple[int, bool]:
        """Return how many steps of a fault's path match those of a fault that the test is known to notice,
        and whether it notices that fault alone.
        """
        target, name = _target(fault.faults[0]), base_name(test.test)
        return max(
            (
                (len(one[2]), one in self._notices_alone.get(name, ()))
                for one in self._notices.get(name, ())
                if target is not None and _holds(one, target)
            ),
            default=(0, False),
        )

    def _likely(self, test: Exercised, fault: DerivedFault, target: _Target | None) -> int:
        known = self._notices.get(base_name(test.test), set())
        if target in known or _is_case_of(test, target, known):
            return EXACTLY
        near = target is not None and any(_near(target, other) for other in known)
        # all log tests read logs, so only the requirements of a log fault distinguish them
        of_a_log = isinstance(fault.faults[0], LogFault)
        if near and not of_a_log:
            return NEAR
        if _judges(test, fault):
            return JUDGES
        if near or (target is not None and any(_is_sibling(target, other) for other in known)):
            return SIBLING
        names = {path[-1:] for _, side, path in known if side != "call"}
        if target is not None and target[1] != "call" and target[2][-1:] in names:
            return SAME_NAME
        return SAME_RPC if fault.reach.rpc in {rpc for rpc, _, _ in known} else GETS_THERE


def _judges(test: Exercised, fault: DerivedFault) -> bool:
    """Return whether a test judges a requirement that a fault breaks."""
    return test.judges.partition("/")[0] in fault.breaks or test.judges in fault.breaks


def _place_of_what_it_judges(test: Exercised, fault: DerivedFault) -> int:
    """Return the position of a test's requirement among those that a fault breaks; the main one is first."""
    names = (test.judges, test.judges.partition("/")[0])
    return min(
        (fault.breaks.index(name) for name in names if name in fault.breaks), default=len(fault.breaks)
    )


def _target(fault: object) -> _Target | None:
    """Return the target of a fault: an RPC or a document, its side, and the names of the fields."""
    if isinstance(fault, Fault):
        # for a whole call the action matters
        path = tuple(step.field for step in fault.steps) if fault.steps else (fault.action,)
        return fault.rpc.name, fault.side, path
    if isinstance(fault, StreamFault):
        return (fault.rpcs[0] if len(fault.rpcs) == 1 else "", "stream", (fault.action,))
    return ("log", "log", (fault.action,)) if isinstance(fault, LogFault) else None


def _is_case_of(test: Exercised, target: _Target | None, known: set[_Target]) -> bool:
    """Return whether a test has a case for each field, is known to notice faults on this side of this RPC,
    and this is the case of the field.
    """
    if target is None or target[1] not in {"request", "response"}:
        return False
    case = test.test.removeprefix(base_name(test.test)).strip("[]")
    return case == target[2][-1] and target[:2] in {other[:2] for other in known}


def _is_named_as(test: Exercised, fault: object) -> bool:
    """Return whether the name of a test's case matches the target of a fault: `tx` for `tx_bytes`, or
    `STARTED` for messages of `CONTAINER_STARTED_EVENT`.
    """
    if not isinstance(fault, Fault):
        return False
    case = test.test.removeprefix(base_name(test.test)).strip("[]")
    fields = [step.field for step in fault.steps if step.field != "value"]
    names = [*fields[-1:], *(each.value for each in fault.conditions)]
    return bool(case) and any(case in {name, *name.split("_")} for name in names)


def _is_of_another_process(test: Exercised, fault: DerivedFault) -> bool:
    """Return whether a test's case checks a container's first process while the fault is in execs only, or
    the other way round.
    """
    operations = {each.operation for each in fault.faults if isinstance(each, OciFault)}
    if operations == {"exec"}:
        return test.test.endswith((f"{FIRST_PROCESS}]", f"{HOST}]"))
    return operations == {"create"} and test.test.endswith(f"{EXEC}]")


def _near(one: _Target, other: _Target) -> bool:
    if one[:2] != other[:2] or one[1] == "call":
        return False
    if one[1] in {"stream", "log"}:
        return True
    shorter = min(len(one[2]), len(other[2]))
    return shorter > 0 and one[2][:shorter] == other[2][:shorter]


def _is_sibling(one: _Target, other: _Target) -> bool:
    """Return whether two fields belong to the same nested message, which a test may compare as a whole, such
    as name and attempt in the metadata.
    """
    holder = one[2][:-1]
    return one[:2] == other[:2] and len(holder) >= _STEPS and other[2][:-1] == holder


def _holds(one: _Target, other: _Target) -> bool:
    """Return whether a target equals another one, or is its parent within two steps."""
    if one[1] == "call":
        return one == other
    deeper = len(other[2]) - len(one[2])
    return one[:2] == other[:2] and 0 <= deeper <= _STEPS and other[2][: len(one[2])] == one[2] != ()


def first(tests: Iterable[Exercised], most: int) -> list[Exercised]:
    """Return the first of some tests, each function with one of its cases before any function with a second
    one.

    Args:
        tests: the likeliest first.
        most: limit; 0 for all.
    """
    seen: dict[str, int] = defaultdict(int)
    rounds = []
    for number, test in enumerate(tests):
        name = base_name(test.test)
        rounds.append((seen[name], number, test))
        seen[name] += 1
    ordered = [test for _, _, test in sorted(rounds, key=lambda entry: entry[:2])]
    return ordered[:most] if most else ordered
