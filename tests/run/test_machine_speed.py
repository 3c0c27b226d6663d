"""The scale of the deadlines on slow machines."""

from types import SimpleNamespace

import pytest

from critests.run import machine_speed, run_settings
from critests.run.machine_speed import MachineSpeed, measure_speed
from critests.run.run_settings import Settings


@pytest.mark.parametrize(
    ("program", "sync", "scale"),
    [
        (0.0, 0.0, 1.0),  # not measured
        (0.0006, 0.0002, 1.0),
        (0.004, 0.03, 1.0),  # loaded, with a rotating disk
        (0.02, 0.001, 10.0),
        (0.001, 0.1, 5.0),
        (1.0, 1.0, 30.0),
    ],
)
def test_slower_action_sets_the_scale(program: float, sync: float, scale: float) -> None:
    assert MachineSpeed(program, sync).scale == scale


@pytest.mark.parametrize(
    ("given", "measured", "scale"),
    [(None, 0.001, None), (None, 0.02, 10.0), (1.0, 0.02, 1.0), (0.2, 0.02, 0.2)],
)
def test_scale_of_the_user_overrules_the_measured_one(
    given: float | None, measured: float, scale: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_settings, "measure_speed", lambda: MachineSpeed(measured, 0.0))

    assert Settings(deadline_scale=given).with_scale().deadline_scale == scale


def test_speed_is_measured_in_a_moment_without_the_outliers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a clock that only the actions move, as on a machine without other load."""
    now = 0.0
    seconds = {"start_program": iter([0.0, 0.03, *[0.001] * 10]), "sync_block": iter([0.5, *[0.02] * 3])}

    def advance(action: str) -> None:
        nonlocal now
        now += next(seconds[action])

    monkeypatch.setattr(machine_speed, "time", SimpleNamespace(perf_counter=lambda: now))
    for name in seconds:
        monkeypatch.setattr(machine_speed, name, lambda *_, name=name: advance(name))

    assert measure_speed.__wrapped__() == MachineSpeed(program_seconds=0.001, sync_seconds=0.02)
    assert list(seconds["sync_block"]) == [], "after 40 ms three rounds are enough"


def test_machine_on_which_nothing_can_be_measured_has_the_usual_deadlines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise FileNotFoundError("true")

    monkeypatch.setattr(machine_speed, "start_program", missing)

    assert measure_speed.__wrapped__().scale == 1.0
