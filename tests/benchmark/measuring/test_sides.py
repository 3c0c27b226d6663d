from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from critests.benchmark.measuring import sides
from critests.benchmark.measuring.sides import settings_of_other
from critests.node.starting.targets import EndpointSubject, ThrowawaySubject
from critests.run.context import RunContext
from critests.run.run_settings import Settings

FIRST = Settings(node="containerd", registry_port=5123, handler_binary=("runc=/opt/runc",))


def test_the_other_side_pulls_from_the_same_port() -> None:
    other = settings_of_other(FIRST, ThrowawaySubject("crio", Path("/opt/crio")))

    assert (other.node, other.registry_port, other.handler_binary) == (
        "crio=/opt/crio",
        5123,
        ("runc=/opt/runc",),
    )


def test_a_runtime_that_runs_has_its_own_configuration() -> None:
    first = replace(FIRST, runtime_handler=("kata",), runtime_log="/a.log")
    other = settings_of_other(first, EndpointSubject("unix:///b.sock"))

    assert other == Settings(runtime_endpoint="unix:///b.sock", registry_port=5123)


def test_both_sides_have_one_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        """Ends the opening where it would begin to measure."""

    registry = object()
    given: list[object] = []

    def begin(_settings: Settings, **options: object) -> None:
        given.append(options["registry"])
        raise Stop

    made = SimpleNamespace(settings=replace(FIRST, against="crio"), registry=registry)
    context = cast("RunContext", made)
    monkeypatch.setattr(sides, "begin_run", begin)

    with pytest.raises(Stop), sides.opened(context):
        pass
    assert given == [registry]
