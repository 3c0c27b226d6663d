"""Lists of statistics as the model of the API has them."""

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from tests.model.telling import Told, aspects


@pytest.mark.parametrize(
    ("rpc", "code", "broken"),
    [
        ("ListContainerStats", "OK", []),
        ("ListContainerStats", "UNKNOWN", ["STA-15"]),
        ("ListContainerStats", "UNIMPLEMENTED", ["STA-15"]),
        ("ListPodSandboxStats", "UNKNOWN", ["STA-25"]),
        ("ListPodSandboxStats", "UNIMPLEMENTED", []),
    ],
)
def test_a_list_of_statistics_does_not_fail(told: Told, rpc: str, code: str, broken: list[str]) -> None:
    assert aspects(told.play(Step(rpc), CallResult(code))) == broken
