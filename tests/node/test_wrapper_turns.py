"""Actions of wrappers that have a turn: every N-th invocation, from a first one on."""

import subprocess
import time
from pathlib import Path

import pytest

from critests.node.wrappers.actions import Delay, Fail
from critests.node.wrappers.stand_in import OciWrapper
from tests.node.test_wrappers import SHELLS
from tests.programs import program


@pytest.fixture(params=SHELLS)
def wrapper(request: pytest.FixtureRequest, tmp_path: Path) -> OciWrapper:
    return OciWrapper(tmp_path / "wrapper", program(tmp_path / "runc", "exit 0"), shell=request.param)


def codes(wrapper: OciWrapper, operation: str, times: int) -> list[int]:
    return [
        subprocess.run([wrapper.path, operation, "id"], check=False, capture_output=True).returncode
        for _ in range(times)
    ]


def test_an_action_acts_at_its_turns_and_counts_each_operation(wrapper: OciWrapper) -> None:
    wrapper.plan({"create": [Fail(9, "no", 3, 2)], "delete": [Fail(8, "no", 3)]})

    assert codes(wrapper, "create", 6) == [0, 9, 0, 0, 9, 0]
    assert codes(wrapper, "delete", 4) == [0, 0, 8, 0]
    assert wrapper.acted() == ["create", "create", "delete"]


def test_a_delay_has_turns_of_its_own_and_others_have_none(wrapper: OciWrapper) -> None:
    wrapper.plan({"kill": [Delay(0.01), Delay(0.5, 2, 1), Fail(7, "no", 2, 2)]})

    begun = time.monotonic()
    first = codes(wrapper, "kill", 1)
    seconds = time.monotonic() - begun

    assert (first, seconds > 0.5) == ([0], True)
    assert codes(wrapper, "kill", 1) == [7]
    assert wrapper.acted() == ["kill", "kill"]


def test_a_new_plan_starts_to_count_again(wrapper: OciWrapper) -> None:
    plan = {"start": [Fail(9, "no", 2)]}
    wrapper.plan(plan)
    codes(wrapper, "start", 1)

    wrapper.plan(plan)

    assert wrapper.acted() == []
    assert codes(wrapper, "start", 2) == [0, 9]


@pytest.mark.parametrize(("every", "first"), [(0, 0), (2, 3), (2, -1)])
def test_turns_out_of_range_are_rejected(every: int, first: int) -> None:
    with pytest.raises(ValueError, match=r"every|first"):
        Delay(1, every, first)
