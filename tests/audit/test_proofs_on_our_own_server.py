"""Tests of features that no runtime at hand offers are proven on our own server: right, and wrong in every way of their faults."""

import re
import subprocess
import sys
from pathlib import Path

from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment

OFFERED_NOWHERE = "STP-11,STP-12,STP-13,CTA-08,RCL-04,SBA-10,SBA-13,SBA-14,IMS-04"


def test_features_that_no_runtime_here_offers(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        command = [sys.executable, "-m", "critests.audit", "-q", "--cri-allow-kubelet"]
        command += ["--runtime-endpoint", endpoint, "--cri-audit", "--cri-select", OFFERED_NOWHERE, "--cri-results", str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment(), check=False)

    red = re.search(r"(\d+) of \d+ tests were turned red by a fault; 0 faults went unnoticed", ended.stdout)
    assert red, ended.stdout + ended.stderr
    assert int(red[1]) == 11
    assert re.search(r"^\d+ passed, \d+ deselected", ended.stdout, re.MULTILINE)
