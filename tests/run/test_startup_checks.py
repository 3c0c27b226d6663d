"""A daemon that ends during the startup checks is a finding of its own, not of a test."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from critests.catalogue.words import Capability
from critests.client.call_recording import Recorder
from critests.client.endpoint import Endpoint
from critests.node.observing.probes import MachineProbes
from critests.report.wording.reason_sentences import sentence
from critests.run.context import RunContext, daemon_of
from critests.run.startup_checks import StartupChecks
from tests.plugin.broken_rpcs import broken_server
from tests.run.test_handover import CONTEXT

NOBODY = 2**22 + 1
"""A number that no process has: the kernel's highest is below."""


@dataclass
class StartedAgain:
    """A throwaway runtime whose next process is sound."""

    folder: Path
    servers: ExitStack
    restarts: list[str] = field(default_factory=list)

    def restart(self) -> None:
        (self.folder / "cri.sock").unlink(missing_ok=True)
        self.restarts.append(self.servers.enter_context(broken_server("unimplemented=Nothing", self.folder)))


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


# only its runtime is used
def looked_at(endpoint: str, owned: Any = None) -> RunContext:  # noqa: ANN401 - see above
    at = Endpoint.parse(endpoint)
    context = replace(
        CONTEXT,
        endpoint=at,
        image_endpoint=at,
        daemon_pid=daemon_of(at),
        runtime_log="",
        facts=[],
        notes=[],
        crashes=[],
        owned=owned,
    )
    recorder = Recorder()
    connection = context.connect(recorder)
    try:
        StartupChecks(context, connection, recorder).run("")
    finally:
        connection.close()
    return context


def test_a_crash_during_the_startup_checks_is_one_finding(tmp_path: Path) -> None:
    with broken_server("dies-at=StreamPodSandboxes", tmp_path) as endpoint:
        context = looked_at(endpoint)

    assert [crash.requirement for crash in context.crashes] == ["GEN-17"]
    assert context.gone is not None
    assert context.gone.subject == "StreamPodSandboxes"
    assert "exited before the first test at StreamPodSandboxes" in sentence(context.crashes[0])


def test_a_throwaway_runtime_is_started_again_and_looked_at_further(
    tmp_path: Path, servers: ExitStack
) -> None:
    endpoint = servers.enter_context(broken_server("dies-at=StreamPodSandboxes", tmp_path))
    again = StartedAgain(tmp_path, servers)

    context = looked_at(endpoint, type("Owned", (), {"runtime": again})())

    assert [crash.requirement for crash in context.crashes] == ["GEN-17"]
    assert len(again.restarts) == 1
    assert context.gone is None
    assert next(fact for fact in context.facts if fact.name == "pod network").present is True
    assert context.daemon_pid == daemon_of(context.endpoint)


def test_a_daemon_that_has_ended_is_no_fault_of_the_harness() -> None:
    probes = MachineProbes(lambda: NOBODY, mutating=True, disruptive=True)

    found = probes.all()[Capability.DAEMON_SYS_RESOURCE]()

    assert found.present is None
    assert "there is no process" in found.evidence
