"""What the machine withholds is told from what a runtime does not do."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from critests.catalogue.words import Capability
from critests.client import Endpoint, connect
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.node import probes
from critests.node.probes import ContainerProbes
from critests.record.run import CapabilityFact
from tests.criserver import CriServer, serve


def shared_processes(server: CriServer, tmp_path: Path) -> CapabilityFact:
    with serve(server) as endpoint:
        connection = connect(Endpoint.parse(endpoint))
        try:
            run = RunIdentity.new()
            requests = RequestBuilder(run, tmp_path, CgroupParents(run, CgroupDriver.CGROUPFS))
            made = ContainerProbes(connection, "", requests, image=pytest.fail, daemon_pid=1)
            return made.all()[Capability.SHARED_PROCESSES]()
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("held", "wrong", "present"),
    [
        ((), ["no-shared-processes"], False),
        ((), ["fails=RunPodSandbox"], True),
        ((), [], True),
        (("SYS_RESOURCE",), ["fails=RunPodSandbox"], True),
    ],
    ids=[
        "root may not lower the score",
        "no pod starts",
        "the runtime manages without",
        "the failure is the runtime's own",
    ],
)
def test_only_what_the_machine_withholds_blocks_pods_with_one_pid_namespace(
    held: tuple[str, ...], wrong: list[str], present: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "process_capabilities", lambda _: SimpleNamespace(permitted=held))
    fact = shared_processes(CriServer(wrong=wrong), tmp_path)
    assert fact.present is present
    assert ("lacks CAP_SYS_RESOURCE" in fact.evidence) is not present
