"""Tests that no runtime at hand can prove are proven on our own server: right, and wrong in every way of
their faults.
"""

import re
from pathlib import Path

import pytest
from command import proof

from critests import catalogue
from critests.catalogue.references import references_below
from critests.run.collected_tests import SUITE
from tests.criserver import CriServer, serve

pytestmark = pytest.mark.nightly("many runs, each with a fault")

OFFERED_NOWHERE = "STP-11,STP-12,STP-13,CTA-08,RCL-04,SBA-10,SBA-13,SBA-14,IMS-04,IMG-36,STR-14,STR-15"
CHECKPOINTS = "CKP-01,CKP-07,CKP-08,CKP-16,CKP-17"
"""Our server's own are counted lines and no memory; these stand for the whole group, which takes minutes."""
BROKEN = "LOG-11,LOG-20,EXS-09,EXS-10/bounded,RT-13,IMG-19/code,SBX-29,CTR-39,IMS-17"
"""What containerd 2.1 breaks, most of it in every other version too."""
BROKEN_WHERE_OFFERED = "LST-06/many-small,MET-09,CTR-09"
"""What CRI-O 1.36 breaks, and containerd 2.1 does not offer."""


VIRTUAL_MACHINES = "RCL-07,RCL-08"


@pytest.mark.parametrize(
    ("requirements", "ways"),
    [
        (OFFERED_NOWHERE, ()),
        (CHECKPOINTS, ()),
        (BROKEN, ()),
        (BROKEN_WHERE_OFFERED, ()),
        (VIRTUAL_MACHINES, ("own-kernel",)),
    ],
    ids=["offered nowhere", "checkpoints", "broken", "broken where it is offered", "virtual machines"],
)
def test_what_no_runtime_here_can_prove(tmp_path: Path, requirements: str, ways: tuple[str, ...]) -> None:
    aspects = catalogue.load().select([requirements])
    tests = sum(not aspects.isdisjoint(reference.aspects) for reference in references_below(SUITE))
    with serve(CriServer(ways)) as endpoint:
        options = ["--cri-allow-kubelet", "--cri-disruptive", f"--cri-results={tmp_path}", "-q"]
        ended = proof("audit", "--runtime-endpoint", endpoint, "--cri-select", requirements, *options)

    assert f"{tests} of {tests} tests were turned red by a fault; 0 faults went unnoticed" in ended.stdout, (
        ended.stdout + ended.stderr
    )
    assert re.search(r"^\d+ passed, \d+ deselected", ended.stdout, re.MULTILINE), ended.stdout
