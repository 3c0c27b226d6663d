"""What several audits prove together."""

from pathlib import Path
from typing import Any

from critests_proof.matrix import load, written_tests
from critests_proof.proven import lines

from critests.run.collected_tests import SUITE


def report(*noticed: str) -> dict[str, Any]:
    verdicts = [{"test": name, "noticed": True} for name in noticed]
    verdicts += [{"test": "test_c", "noticed": False}, {"test": "test_d", "noticed": True}]
    honest = dict.fromkeys([*noticed, "test_c"], "passed") | {"test_d": "failed"}
    return {"verdicts": verdicts, "honest": honest, "unnoticed": [["fault", "test_c"]]}


def test_a_test_is_proven_on_one_runtime_or_another() -> None:
    summary, left = lines(
        {"test_a", "test_b", "test_c", "test_d"},
        [("one", report("test_a[x]")), ("other", report("test_a[y]", "test_b"))],
    )
    assert left == {"test_c", "test_d"}
    assert summary == [
        "one: 1 tests turned red, 1 of them not before; 1 went unnoticed",
        "other: 2 tests turned red, 1 of them not before; 1 went unnoticed",
        "never turned red: test_c",
        "never turned red: test_d",
        "2 of 4 tests were turned red by a fault",
    ]


def test_tests_are_found_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "area").mkdir()
    text = "def test_one(): ...\n\n@slow\ndef test_two(): ...\n\ndef other(): ...\n"
    (tmp_path / "area" / "test_some.py").write_text(text, encoding="utf-8")
    assert written_tests(tmp_path) == {"test_one", "test_two"}


def test_every_test_of_the_suite_has_a_fault() -> None:
    assert load().coverage(written_tests(SUITE)) == []
    assert load().unknown(written_tests(SUITE)) == []
