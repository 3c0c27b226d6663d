"""Faults of somebody else's: a command that serves a broken runtime in front of the real one."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from critests.api import api_pb2 as cri
from critests.audit.language.faults import FaultError, ThroughFault, parse_fault
from critests.audit.proxy.fault_proxy import FaultProxy
from tests.criserver import CriServer, serve
from tests.criserver.clients import connect

BREAKS = """
import sys, threading
from critests.audit.proxy.fault_proxy import FaultProxy

proxy = FaultProxy(sys.argv[-1])
proxy.faults = ["Version.response.runtime_name: set other"]
proxy.start()
print(proxy.endpoint, flush=True)
threading.Event().wait()
"""


def command(folder: Path, text: str) -> str:
    """Return the command that runs a program."""
    program = folder / "broken.py"
    program.write_text(text, encoding="utf-8")
    return shlex.join([sys.executable, str(program)])


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    with serve(CriServer()) as endpoint:
        yield endpoint


def test_calls_go_through_it_while_it_is_set(tmp_path: Path, real: str) -> None:
    text = f"runtime: through {command(tmp_path, BREAKS)}"
    before = set(psutil.Process().children(recursive=True))
    with FaultProxy(real) as proxy, connect(proxy.endpoint, str(tmp_path)) as client:

        def name() -> str:
            return client.runtime.Version(cri.VersionRequest(), timeout=10).runtime_name

        proxy.faults = [text]
        assert name() == "other"
        assert proxy.hits == {text: 1}
        with proxy.honest():
            assert name() == "criserver"
        proxy.faults = []
        assert name() == "criserver"
    assert set(psutil.Process().children(recursive=True)) <= before


def test_it_is_read_with_all_its_words() -> None:
    fault = parse_fault("runtime: through ./broken --when now")
    assert fault == ThroughFault("runtime: through ./broken --when now", "./broken --when now")
    with pytest.raises(FaultError, match="only be reached through a command"):
        parse_fault("runtime: swallow")


@pytest.mark.parametrize(
    ("program", "complaint"),
    [("raise SystemExit(3)", "the endpoint is empty"), ("print('here')", "no endpoint")],
    ids=["ends", "nonsense"],
)
def test_a_command_that_does_not_say_where_it_listens(
    tmp_path: Path, real: str, program: str, complaint: str
) -> None:
    with FaultProxy(real) as proxy, pytest.raises(FaultError, match=complaint):
        proxy.faults = [f"runtime: through {command(tmp_path, program)}"]


def test_a_command_that_is_not_there(real: str) -> None:
    with FaultProxy(real) as proxy, pytest.raises(FaultError, match="No such file"):
        proxy.faults = ["runtime: through /nowhere/broken"]
