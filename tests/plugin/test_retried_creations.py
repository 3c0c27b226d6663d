"""A runtime may hold repeated requests until their client cancels, and respond to a later one."""

from pathlib import Path

import pytest

from tests.criserver import CriServer, serve
from tests.plugin.command import ran_in, validate

pytestmark = pytest.mark.nightly("waits out deadlines")

SCALE = "0.1"


@pytest.mark.parametrize(
    ("rpc", "requirements"), [("CreateContainer", "CTR-12,GEN-07"), ("RunPodSandbox", "SBX-11,GEN-08")]
)
def test_cancelled_creation_is_retried_with_short_deadlines(
    rpc: str, requirements: str, tmp_path: Path
) -> None:
    with serve(CriServer(wrong={f"holds-until-third={rpc}"})) as endpoint:
        result = validate(endpoint, tmp_path, f"--select {requirements} --deadline-scale {SCALE}")

    ran = ran_in(tmp_path)
    assert {test["requirement_id"]: test["outcome"] for test in ran} == dict.fromkeys(
        requirements.split(","), "passed"
    ), result.stdout + result.stderr
