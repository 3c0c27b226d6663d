"""What the kernel counts of a process and of what it starts, where it lets us count."""

import mmap
import os
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from critests.benchmark.measuring.counters import CannotCount, Counters

PAGES = 500


@pytest.fixture
def counting() -> Iterator[Counters]:
    """Count this process, or skip where the kernel does not let us."""
    held = Counters(os.getpid())
    try:
        held.__enter__()
    except CannotCount as error:
        pytest.skip(f"nothing can be counted here: {error}")
    yield held
    held.__exit__(None, None, None)


def touch(pages: int) -> None:
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1


def test_pages_that_are_touched_are_counted(counting: Counters) -> None:
    before = counting.read()["page faults"]
    touch(PAGES)
    first = counting.read()["page faults"] - before

    touch(3 * PAGES)
    second = counting.read()["page faults"] - before - first

    assert first >= PAGES
    assert second >= 3 * PAGES


def test_exited_child_processes_are_counted(counting: Counters) -> None:
    before = counting.read()["page faults"]

    script = (
        f"import mmap; m = mmap.mmap(-1, {4 * PAGES} * 4096); m.madvise(15); m[::4096] = bytes({4 * PAGES})"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

    assert counting.read()["page faults"] - before >= 4 * PAGES


def test_a_missing_counter_has_a_reason(counting: Counters) -> None:
    assert set(counting.names) | set(counting.missing) >= {"instructions", "page faults", "context switches"}
    assert not set(counting.names) & set(counting.missing)
    assert all(counting.missing.values())


def test_where_nothing_can_be_counted_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "abacus")

    with pytest.raises(CannotCount, match="perf_event_open on abacus is unknown"), Counters(os.getpid()):
        pass


def test_a_process_that_has_ended_cannot_be_counted() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()

    with pytest.raises(CannotCount, match="has ended"), Counters(ended.pid):
        pass
