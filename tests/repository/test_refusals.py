"""A timeout is no rejection: conformance tests use `critests.fixtures.runtime` to distinguish them."""

import ast
from collections.abc import Iterator

from tests.repository import tree

PACKAGE = "critests/validation/"
CHECK = "refused_with"
"""Raises a hang, a daemon that is gone and an RPC that is missing again."""
JUDGED_THERE = {
    # the answer is too large for one client and not for the other, and everything else is raised
    "containers/test_exec_sync_output.py::response_or_none",
    # how a stream ends with its daemon is what the test judges
    "runtime/test_restart_under_way.py::code_at_end_of",
    # whatever is answered is right, and silence and death are what is counted
    "runtime/test_nonsense_in_requests.py::harm_of",
    # takes away what should not have been made, on a runtime that goes after the test
    "runtime/test_nonsense_in_requests.py::remove",
    # whether the daemon is alive, and whether it responded in time, is looked at after each document
    "documents/harmless_use.py::_used",
    "documents/harmless_use.py::_damage_of_machine",
    "documents/test_cdi_documents.py::use",
    "documents/answered_network.py::_run_pod",
    # every error is raised again, after a look at what the registry was asked
    "documents/configured_pulls.py::check",
    # tried again until the network is there again
    "documents/answered_network.py::restore",
    "documents/answered_network.py::used",
    # asked until there is another daemon
    "networking/test_network_release.py::has_no_network",
    (
        "networking/test_network_release.py::"
        "test_address_is_released_if_the_network_is_configured_late_after_a_reboot"
    ),
}
"""Functions that look at the error of a call themselves, each for a reason of its own."""


def catches_calls(node: ast.expr | None) -> bool:
    return node is not None and "RpcError" in ast.unparse(node)


def undistinguished(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each place that takes any end of a call for a refusal: its line, and the function it is in."""
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler):
                checked = any(CHECK in ast.unparse(line) for line in node.body)
                if catches_calls(node.type) and not checked:
                    yield node.lineno, function.name
            elif (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).endswith(("suppress", "raises"))
                and any(map(catches_calls, node.args))
            ):
                yield node.lineno, function.name


def test_no_validation_test_takes_a_hang_or_a_death_for_a_refusal() -> None:
    found = {
        f"{tree.named(path).removeprefix(PACKAGE)}::{function}": line
        for path in tree.python_files()
        if tree.named(path).startswith(PACKAGE)
        for line, function in undistinguished(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert {place: line for place, line in found.items() if place not in JUDGED_THERE} == {}, (
        f"ask {CHECK}, or take may_be_refused or must_be_refused"
    )
    assert found.keys() >= JUDGED_THERE, "a function is gone, or tells refusals by now: take it off the list"
