"""How the model judges lists of statistics."""

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from tests.model.fake_runtime import FakeRuntime, aspects


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
def test_a_list_of_statistics_does_not_fail(
    fake: FakeRuntime, rpc: str, code: str, broken: list[str]
) -> None:
    assert aspects(fake.run(Step(rpc), CallResult(code))) == broken
