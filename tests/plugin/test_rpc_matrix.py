"""Runs against a server with one broken RPC, for every RPC that the suite calls and every way to break it.

`rpc_matrix.toml` has a row for each RPC and a cell for each way. A few cells run always, all of them with
`CRITESTS_MATRIX=all`, and a few with a containerd behind a proxy if the marker `runtime` is selected.
"""

import ast
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from critests_proof.language.descriptors import RpcDescriptor
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.proxy.watch import Watch

import critests
from critests.exit_codes import ExitCode
from critests.lifecycle.cgroup_parents import remove_cgroups_of
from critests.lifecycle.run_label import RunIdentity
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry
from tests.criserver.server import METHODS
from tests.plugin.broken_rpcs import FAULTS, RunResult, broken_server, run_on
from tests.plugin.command import record_in

TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("rpc_matrix.toml").read_text(encoding="utf-8")
)
PACKAGES = ("fixtures", "lifecycle", "node", "run", "validation")
"""The packages whose calls a run of the validation tests can make."""
SECONDS = {"unimplemented": 30.0, "unavailable": 30.0, "hangs": 60.0, "dies": 30.0}
"""Longest duration of a run by column, times the load per processor of a busy machine. On an idle one, a run
takes a tenth of it, and with a hang also the longest deadline.
"""
IN_CI = {
    *(("ListImages", "unimplemented"), ("RuntimeConfig", "unavailable")),
    *(("ExecSync", "hangs"), ("CreateContainer", "dies")),
}
ON_CONTAINERD = [
    ("ReopenContainerLog", "unimplemented", "error UNIMPLEMENTED"),
    ("ImageStatus", "unavailable", "error UNAVAILABLE"),
    ("StartContainer", "hangs", "hang"),
]
FAILING = {"failed", "error"}
CELLS = [
    pytest.param(rpc, column, id=f"{rpc}-{column}")
    for rpc in TABLE
    for column in FAULTS
    if os.environ.get("CRITESTS_MATRIX") == "all" or (rpc, column) in IN_CI
]


def called() -> Iterator[str]:
    """Yield every RPC that these packages name, as an attribute or in a string."""
    root = Path(critests.__file__).parent
    for file in (file for package in PACKAGES for file in (root / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", None) or getattr(node, "value", None)
            if isinstance(name, str) and name in METHODS:
                yield name


def check(result: RunResult, row: dict[str, Any], column: str) -> None:
    """Compare the result of a run with the cell of the table."""
    expected = row[column]
    assert result.exit == expected["exit"], result.output
    assert result.failed == set(expected.get("failed", [])), result.output
    counted = {outcome: number for outcome, number in expected.items() if outcome not in {"exit", "failed"}}
    assert {each: n for each, n in result.outcomes.items() if each not in FAILING} == counted, result.output
    assert "error" not in result.outcomes, result.output
    roots = {requirement.partition("/")[0] for requirement in result.failed}
    # without a daemon or a reachable registry, tests are blocked by no requirement
    no_requirement = {""} if column == "dies" or result.exit is ExitCode.NOT_TESTED else set()
    assert result.blocked_by <= roots | no_requirement, result.output
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert result.seconds < SECONDS[column] * busy


def test_every_rpc_that_the_suite_calls_has_a_row() -> None:
    assert set(called()) <= set(TABLE)
    assert set(TABLE) <= set(METHODS)
    assert all(set(row) - {"require"} == {"select", *FAULTS} for row in TABLE.values())


@pytest.mark.parametrize(("rpc", "column"), CELLS)
def test_a_broken_rpc_is_one_root_cause(rpc: str, column: str, tmp_path: Path) -> None:
    row = TABLE[rpc]
    with broken_server(f"{FAULTS[column]}={rpc}", tmp_path) as endpoint:
        result = run_on(endpoint, column, row["select"], tmp_path, row.get("require", ()))

    check(result, row, column)


@pytest.fixture(scope="module")
def containerd() -> Iterator[ThrowawayRuntime]:
    with throwaway_with_registry() as (started, _):
        yield started


class KillsAtCall(Watch):
    """Kills a daemon when an RPC is called, before the proxy forwards the call."""

    def __init__(self, daemon: ThrowawayRuntime, rpc: str) -> None:
        super().__init__()
        self._kills = {rpc: daemon.kill}

    def request(self, rpc: RpcDescriptor, raw: bytes) -> None:
        # only once: it cannot be killed again
        kill = self._kills.pop(rpc.name, None)
        if kill is not None:
            kill()
        super().request(rpc, raw)


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(("rpc", "column", "action"), ON_CONTAINERD)
def test_a_broken_rpc_of_containerd_is_one_root_cause(
    rpc: str, column: str, action: str, containerd: ThrowawayRuntime, tmp_path: Path
) -> None:
    row = TABLE[rpc]
    with FaultProxy(containerd.endpoint) as proxy:
        proxy.faults = [f"{rpc}: {action}"]
        result = run_on(proxy.endpoint, column, row["select"], tmp_path, row.get("require", ()))

    check(result, row, column)


@pytest.mark.runtime
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_killed_containerd_is_one_root_cause(tmp_path: Path) -> None:
    rpc, column = "StartContainer", "dies"
    row = TABLE[rpc]
    with throwaway_with_registry() as (daemon, _), FaultProxy(daemon.endpoint) as proxy:
        proxy.watch = KillsAtCall(daemon, rpc)
        result = run_on(proxy.endpoint, column, row["select"], tmp_path)

    # without the daemon the run could not remove its pods, but their cgroups are empty by now
    assert remove_cgroups_of(RunIdentity(record_in(tmp_path / "results")["run_id"])) == []
    check(result, row, column)
    assert all(rpc in reason for reason in result.reasons), result.reasons
