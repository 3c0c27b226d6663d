"""Faults in the log of containers, in front of our small CRI server, and line by line."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from critests_proof.language.log_changes import LOG_CHANGES, LogLine, LogState
from critests_proof.proxy.fault_proxy import FaultProxy

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import Client, connect, eventually

SCRIPT = "echo '  two  spaces '; echo; echo err >&2; sleep 0.1; printf end"
TIME = b"2026-11-20T10:00:00.123456789Z"


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with serve(CriServer()) as endpoint, FaultProxy(endpoint) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: FaultProxy, tmp_path: Path) -> Iterator[Client]:
    with connect(proxy.endpoint, str(tmp_path)) as client:
        yield client


def broken(name: str, *lines: tuple[bytes, bytes, bytes], argument: float | None = None) -> list[bytes]:
    change = LOG_CHANGES[name]
    state = LogState()
    written = b""
    for stream, tag, payload in lines:
        state.lines += 1
        line = LogLine(TIME, stream, tag, payload)
        written += b"".join(
            map(bytes, change.change(line, change.default if argument is None else argument, state))
        )
    return [re.sub(rb"^\S+Z ", b"", line) for line in written.split(b"\n")[:-1]]


OUT, ERR = b"stdout", b"stderr"
LONG = [(OUT, b"P", b"aaa"), (ERR, b"F", b"x"), (OUT, b"F", b"b"), (OUT, b"P", b"end")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("merge-split", [b"stderr F x", b"stdout F aaab"]),
        ("first-piece", [b"stdout P aaa", b"stderr F x", b"stdout P end"]),
        ("drop-last-partial", [b"stderr F x", b"stdout P aaa", b"stdout F b"]),
        ("tag-full", [b"stdout F aaa", b"stderr F x", b"stdout F b", b"stdout F end"]),
        ("swap-streams", [b"stderr P aaa", b"stdout F x", b"stderr F b", b"stderr P end"]),
        ("one-stream", [b"stdout P aaa", b"stdout F x", b"stdout F b", b"stdout P end"]),
        ("drop-stderr", [b"stdout P aaa", b"stdout F b", b"stdout P end"]),
        ("drop-nth", [b"stdout P aaa", b"stdout F b"]),
        (
            "duplicate-nth",
            [b"stdout P aaa", b"stderr F x", b"stderr F x", b"stdout F b", b"stdout P end", b"stdout P end"],
        ),
        ("swap-pairs", [b"stderr F x", b"stdout P aaa", b"stdout P end", b"stdout F b"]),
        ("upper", [b"stdout P AAA", b"stderr F X", b"stdout F B", b"stdout P END"]),
        ("no-tag", [b"stdout aaa", b"stderr x", b"stdout b", b"stdout end"]),
        ("nothing", []),
    ],
)
def test_changes_of_lines(name: str, expected: list[bytes]) -> None:
    assert broken(name, *LONG) == expected


def test_changes_of_payloads_and_times() -> None:
    assert broken("clean", (OUT, b"F", b"a\0b\xff")) == [b"stdout F ab\xef\xbf\xbd"]
    assert broken("strip-cr", (OUT, b"F", b"a\r")) == [b"stdout F a"]
    assert broken("drop-empty", (OUT, b"F", b""), (OUT, b"F", b"a")) == [b"stdout F a"]
    change = LOG_CHANGES["shift-time"].change
    (shifted,) = change(LogLine(TIME, OUT, b"F", b""), -3600, LogState())
    assert bytes(shifted).startswith(b"2026-11-20T09:00:00.123456789Z ")
    (whole,) = LOG_CHANGES["whole-seconds"].change(LogLine(TIME, OUT, b"F", b""), 0, LogState())
    assert bytes(whole).startswith(b"2026-11-20T10:00:00Z ")


def log_of(client: Client, container: str) -> list[bytes]:
    """Read the log at the moment at which the status says that the container has exited."""
    return [
        line.split(b" ", 1)[1]
        for line in Path(client.wait_exited(container).log_path).read_bytes().splitlines()
    ]


@pytest.mark.parametrize(
    ("fault", "stdout"),
    [
        ("log: strip-spaces", [b"stdout F two  spaces", b"stdout F ", b"stdout P end"]),
        ("log: squeeze-spaces", [b"stdout F  two spaces ", b"stdout F ", b"stdout P end"]),
        ("log: drop-empty", [b"stdout F   two  spaces ", b"stdout P end"]),
        ("log: drop-last-partial", [b"stdout F   two  spaces ", b"stdout F "]),
        ("log: upper", [b"stdout F   TWO  SPACES ", b"stdout F ", b"stdout P END"]),
        ("log: swap-streams", [b"stdout F err"]),
    ],
)
def test_the_log_is_broken_as_the_fault_says_and_otherwise_complete(
    proxy: FaultProxy, client: Client, tmp_path: Path, fault: str, stdout: list[bytes]
) -> None:
    proxy.faults = [fault]
    container = client.run_container(client.run_sandbox(), ["sh", "-c", SCRIPT])
    assert [line for line in log_of(client, container) if line.startswith(b"stdout")] == stdout
    assert client.status(container).log_path == str(tmp_path / "main.log")
    assert proxy.hits[fault] >= 1
    client.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container))
    assert [path.name for path in tmp_path.iterdir()] == ["main.log"]


def test_a_change_that_has_nothing_to_change_is_no_hit(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["log: drop-empty"]
    container = client.run_container(client.run_sandbox(), ["echo", "x"])
    assert log_of(client, container) == [b"stdout F x"]
    assert proxy.hits == {"log: drop-empty": 0}


def test_no_file_and_late(proxy: FaultProxy, client: Client, tmp_path: Path) -> None:
    proxy.faults = ["log: no-file"]
    box = client.run_sandbox()
    client.wait_exited(client.run_container(box, ["echo", "x"], name="a"))
    assert not (tmp_path / "a.log").exists()
    proxy.faults = ["log: late 0.3"]
    client.wait_exited(client.run_container(box, ["echo", "x"], name="b"))
    assert (tmp_path / "b.log").read_bytes() == b""
    eventually((tmp_path / "b.log").read_bytes, lambda log: b"x" in log)


def test_a_line_that_is_late_has_been_changed_before_it_comes(
    proxy: FaultProxy, client: Client, tmp_path: Path
) -> None:
    proxy.faults = ["log: late 3600"]
    client.wait_exited(client.run_container(client.run_sandbox(), ["echo", "x"]))
    eventually(lambda: proxy.hits["log: late 3600"], lambda hits: hits == 1)
    assert (tmp_path / "main.log").read_bytes() == b""


@pytest.mark.parametrize(
    ("fault", "old_grows", "preserved"),
    [
        ("log: upper", False, True),
        ("log: ignore-reopen", True, True),
        ("log: truncate-on-reopen", False, False),
    ],
)
def test_reopen(
    proxy: FaultProxy, client: Client, tmp_path: Path, fault: str, *, old_grows: bool, preserved: bool
) -> None:
    proxy.faults = [fault]
    container = client.run_container(
        client.run_sandbox(), ["sh", "-c", "while :; do echo line; sleep 0.02; done"]
    )
    log, old = tmp_path / "main.log", tmp_path / "main.log.1"
    eventually(log.read_bytes, lambda seen: seen.lower().count(b"line") > 2)
    log.rename(old)
    log.write_bytes(b"before\n")
    client.runtime.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container))
    size = old.stat().st_size
    grown = eventually(lambda: (old.stat().st_size > size, b"line" in log.read_bytes().lower()), any)
    assert grown == (old_grows, not old_grows)
    assert log.read_bytes().startswith(b"before\n") == preserved


def test_a_file_that_is_put_in_the_place_of_the_log_is_gone_on_with(
    proxy: FaultProxy, client: Client, tmp_path: Path
) -> None:
    proxy.faults = ["log: upper"]
    client.wait_exited(client.run_container(client.run_sandbox(), ["echo", "first"]))
    (honest,) = tmp_path.glob(".audit-honest-*")
    anew = tmp_path / "anew"
    anew.write_bytes(TIME + b" stdout F second\n")
    anew.rename(honest)
    seen = eventually((tmp_path / "main.log").read_bytes, lambda log: b"SECOND" in log)
    assert seen.count(b"FIRST") == 1
    assert seen.count(b"SECOND") == 1


@pytest.mark.parametrize(
    ("fault", "followed", "hits"), [("log: upper", False, None), ("log: follow-links", True, 1)]
)
def test_a_link_in_the_place_of_a_log(
    proxy: FaultProxy, client: Client, tmp_path: Path, fault: str, *, followed: bool, hits: int | None
) -> None:
    proxy.faults = [fault]
    container = client.run_container(
        client.run_sandbox(), ["sh", "-c", "while :; do echo line; sleep 0.02; done"]
    )
    log, old, elsewhere = (tmp_path / name for name in ("main.log", "main.log.1", "elsewhere"))
    eventually(log.read_bytes, lambda seen: seen.lower().count(b"line") > 2)
    log.rename(old)
    elsewhere.touch()
    log.symlink_to(elsewhere)
    client.runtime.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container))
    size = old.stat().st_size
    grown = eventually(lambda: (old.stat().st_size > size, elsewhere.stat().st_size > 0), any)
    assert grown == (not followed, followed)
    assert hits in (None, proxy.hits[fault])


def test_the_file_of_a_removed_container(proxy: FaultProxy, client: Client, tmp_path: Path) -> None:
    proxy.faults = ["log: remove-with-container"]
    container = client.run_container(client.run_sandbox(), ["echo", "x"])
    client.wait_exited(container)
    assert (tmp_path / "main.log").exists()
    client.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container))
    assert not list(tmp_path.iterdir())


def test_a_fault_that_is_taken_away_leaves_what_was_written(
    proxy: FaultProxy, client: Client, tmp_path: Path
) -> None:
    proxy.faults = ["log: upper"]
    client.wait_exited(client.run_container(client.run_sandbox(), ["echo", "x"]))
    proxy.faults = []
    assert (tmp_path / "main.log").read_bytes().endswith(b" stdout F X\n")
    assert [path.name for path in tmp_path.iterdir()] == ["main.log"]


def test_a_busy_log_is_complete(proxy: FaultProxy, client: Client) -> None:
    proxy.faults = ["log: upper"]
    container = client.run_container(client.run_sandbox(), ["sh", "-c", "seq 1 20000"])
    numbers = [int(line.rsplit(b" ", 1)[1]) for line in log_of(client, container)]
    assert all(after == before + 1 for before, after in itertools.pairwise(numbers))
    assert len(numbers) == 20000
