"""One audit in several processes."""

import json
import sys
import time
from pathlib import Path

import pytest
from critests_proof.record import FaultOutcome, FaultResult
from critests_proof.sweep.sweep_parts import OtherParts, Part, read_results

from critests.record.codec import to_plain
from tests.criserver.clients import eventually

ROW = json.dumps(to_plain(FaultResult(fault="a", kind="call", text="", outcome=FaultOutcome.NOTICED))) + "\n"


@pytest.fixture
def writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the others be processes that write one row, half of another one, and wait."""
    program = tmp_path / "other.py"
    program.write_text(
        f"import pathlib, sys, time\n"
        f"number = sys.argv[-1].rpartition('=')[2].partition('/')[0]\n"
        f"pathlib.Path({str(tmp_path)!r}, f'verdicts-{{number}}.jsonl').write_text({ROW + ROW[:9]!r})\n"
        f"time.sleep(60)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, str(program)])
    return tmp_path


def test_every_fault_is_in_one_part() -> None:
    parts = [Part.read(f"{number}/3") for number in range(3)]
    assert [[part.has(position) for part in parts].count(True) for position in range(10)] == [1] * 10
    assert all(Part().has(position) for position in range(3))


def test_what_is_found_is_taken_over_once_and_whole(writing: Path) -> None:
    others = OtherParts(3, writing)
    others.start()
    try:
        found: list[FaultResult] = []

        def all_found() -> list[FaultResult]:
            found.extend(others.found())
            return found

        eventually(all_found, lambda seen: len(seen) == 2)
        assert not list(others.found())
        assert others.at_work()
    finally:
        begun = time.monotonic()
        others.end()
    assert time.monotonic() - begun < 30
    assert not others.at_work()
    assert [result.fault for result in found] == ["a", "a"]
    assert len(others.problems()) == 2


def test_without_others_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    alone = OtherParts(1, tmp_path)
    alone.start()
    assert not alone.at_work()
    assert not list(alone.found())
    alone.end()
    assert not alone.problems()


def test_files_are_read_as_far_as_they_are_there(tmp_path: Path) -> None:
    assert read_results(Part().verdicts(tmp_path)) == {}
    Part(1, 2).verdicts(tmp_path).write_text(ROW + ROW[:9], encoding="utf-8")
    assert read_results(Part(1, 2).verdicts(tmp_path))["a"].outcome is FaultOutcome.NOTICED
