"""The matrix of faults: what it reads, what it refuses, and that each module of the suite has its own."""

import re
from pathlib import Path

import pytest
from critests_proof.matrix import SUFFIX, Matrix, faults_file, load
from critests_proof.verdicts import Audit, verdict_of

from critests.catalogue.references import references_below
from critests.catalogue.words import Outcome
from critests.run.classification import RawOutcome
from critests.run.collected_tests import SUITE
from critests.toml_file import TomlMalformed

GOOD = """
[[fault]]
id = "one"
break = "StopContainer: swallow"
promise = "p"
turns_red = ["test_a", "test_b[x]"]

[[fault]]
id = "two"
break = ["Version: error UNAVAILABLE", "log: upper"]
promise = "p"
turns_red = "test_b"
during = "call"
spoils = true
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def matrix(tmp_path: Path) -> Matrix:
    return load(write(tmp_path / "faults.toml", GOOD))


def test_what_is_read(tmp_path: Path) -> None:
    one, two = matrix(tmp_path).entries
    assert (one.id, one.during, one.spoils, len(one.faults)) == ("one", "all", False, 1)
    assert (two.turns_red, two.during, two.spoils, len(two.faults)) == (("test_b",), "call", True, 2)
    assert two.where == f"{tmp_path / 'faults.toml'}:8"


def test_all_files_of_a_folder_and_of_those_below_it(tmp_path: Path) -> None:
    write(tmp_path / "test_a.faults.toml", GOOD)
    write(tmp_path / "not_faults.toml", "")
    write(tmp_path / "area/test_b.faults.toml", GOOD.replace("one", "three").replace("two", "four"))
    assert [entry.id for entry in load(tmp_path).entries] == ["three", "four", "one", "two"]
    assert len(load(tmp_path, tmp_path / "test_a.faults.toml").entries) == 4


def test_which_fault_is_for_which_test(tmp_path: Path) -> None:
    read = matrix(tmp_path)
    assert [entry.id for entry in read.for_test("test_b[x]")] == ["one", "two"]
    assert [entry.id for entry in read.for_test("test_b[y]")] == ["two"]
    assert read.coverage(["test_a", "test_b[x]", "test_c[1]", "test_c[2]"]) == ["test_c"]
    assert [name for _, name in read.unknown(["test_a", "test_c"])] == ["test_b[x]", "test_b"]


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        (GOOD.replace('"two"', '"one"'), 8, "is taken by"),
        (GOOD.replace('"two"', '"Two!"'), 9, "no id"),
        (GOOD.replace("swallow", "swalow"), 4, "did you mean swallow"),
        (GOOD.replace("log: upper", "log: uppr"), 10, "did you mean upper"),
        (GOOD.replace('promise = "p"', "promise = 3", 1), 5, "promise"),
        (GOOD.replace('turns_red = "test_b"', "turns_red = []"), 12, "turns_red"),
        (GOOD.replace('"call"', '"cal"'), 13, "during"),
        (GOOD.replace("true", "1"), 14, "spoils"),
        (GOOD + "\nwhen = 1\n", 16, '"when" is not a key'),
        (GOOD + "\n[other]\n", 16, '"other" is not a key here; there are [[fault]]'),
        (GOOD + "\nid = \n", 16, "Invalid value"),
    ],
)
def test_what_is_refused_with_file_and_line(tmp_path: Path, text: str, line: int, complaint: str) -> None:
    file = write(tmp_path / "faults.toml", text)
    with pytest.raises(TomlMalformed, match=re.escape(complaint)) as error:
        load(file)
    assert str(error.value).startswith(f"{file}:{line}: ")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TomlMalformed, match="No such file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "module", sorted(SUITE.rglob("test_*.py")), ids=lambda path: path.relative_to(SUITE).as_posix()
)
def test_the_faults_of_a_module_are_in_a_file_next_to_it_and_cover_all_of_its_tests(module: Path) -> None:
    tests = {
        reference.name for reference in references_below(module.parent) if reference.file == Path(module.name)
    }
    faults = load(faults_file(module))
    assert faults.coverage(tests) == []
    assert [(entry.where, name) for entry, name in faults.unknown(tests)] == []


def test_every_faults_file_is_next_to_a_module() -> None:
    modules = {faults_file(module) for module in SUITE.rglob("test_*.py")}
    assert set(SUITE.rglob(f"*{SUFFIX}")) - modules == set()


def test_a_test_has_noticed_only_what_broke_its_promise_while_the_fault_acted(tmp_path: Path) -> None:
    one = matrix(tmp_path).entries[0]
    assert verdict_of(one, "test_a", RawOutcome(Outcome.FAILED), 1).noticed
    assert not verdict_of(one, "test_a", RawOutcome(Outcome.FAILED), 0).noticed
    assert not verdict_of(one, "test_a", None, 1).noticed
    for outcome in (Outcome.BLOCKED, Outcome.UNSUPPORTED, Outcome.ERROR):
        assert not verdict_of(one, "test_a", RawOutcome(outcome), 1).noticed


def test_one_case_of_a_test_is_enough_unless_the_matrix_names_the_case(tmp_path: Path) -> None:
    read = matrix(tmp_path)
    one, two = read.entries
    seen, unseen = RawOutcome(Outcome.FAILED), None
    audit = Audit(
        verdicts=[
            verdict_of(one, "test_b[x]", unseen, 1),
            verdict_of(two, "test_b[x]", unseen, 1),
            verdict_of(two, "test_b[y]", seen, 1),
            verdict_of(one, "test_a", unseen, 1),
        ],
        honest={"test_a": "failed"},
        tests={"test_a", "test_b[x]", "test_b[y]", "test_c"},
    )
    assert [(verdict.fault, verdict.test) for verdict in audit.unnoticed(read)] == [
        ("one", "test_b[x]"),
        ("one", "test_a"),
    ]
    lines = audit.lines(read)
    assert lines[0].startswith(
        "NOT NOTICED: one (StopContainer: swallow) in test_b[x]: passed, it changed something 1 times"
    )
    assert "not judged: test_a did not pass without a fault" in lines
    assert "no fault is known for: test_c" in lines
    assert lines[-1] == "1 of 3 tests were turned red by a fault; 2 faults went unnoticed"


@pytest.mark.parametrize(
    ("honest", "under_it", "hits", "unnoticed", "not_tried"),
    [
        ("unsupported", Outcome.UNSUPPORTED, 1, [], ["test_a"]),
        ("passed", Outcome.UNSUPPORTED, 1, ["test_a"], []),
        ("failed", Outcome.FAILED, 0, [], ["test_a"]),
        ("passed", Outcome.FAILED, 0, ["test_a"], []),
    ],
)
def test_a_test_that_is_so_without_a_fault_has_overlooked_nothing(
    tmp_path: Path, honest: str, under_it: Outcome, hits: int, unnoticed: list[str], not_tried: list[str]
) -> None:
    read = matrix(tmp_path)
    verdict = verdict_of(read.entries[0], "test_a", RawOutcome(under_it), hits)
    audit = Audit(verdicts=[verdict], honest={"test_a": honest}, tests={"test_a"})
    assert [verdict.test for verdict in audit.unnoticed(read)] == unnoticed
    assert audit.not_tried() == not_tried


def test_of_what_a_fault_breaks_one_test_is_enough(tmp_path: Path) -> None:
    (tmp_path / "broad.toml").write_text(
        """
        [[fault]]
        id = "seen"
        break = "StopContainer: swallow"
        promise = "a"
        breaks = ["STP-02"]
        [[fault]]
        id = "survived"
        break = "StopContainer: twice"
        promise = "b"
        breaks = ["STP-02/x", "STP-03"]
        [[fault]]
        id = "unreached"
        break = "StopContainer: hang"
        promise = "c"
        breaks = ["STP-02"]
        [[fault]]
        id = "nobody"
        break = "StopContainer: empty"
        promise = "d"
        breaks = ["STP-04"]
        """,
        encoding="utf-8",
    )
    read = load(tmp_path / "broad.toml")
    assert [entry.id for entry in read.for_test("test_a", "STP-02/y")] == ["seen", "unreached"]
    assert [entry.id for entry in read.for_test("test_a", "STP-03")] == ["survived"]
    seen, survived, unreached, _ = read.entries
    red = RawOutcome(Outcome.FAILED)
    audit = Audit(
        verdicts=[
            verdict_of(seen, "test_a", None, 1),
            verdict_of(seen, "test_b", red, 1),
            verdict_of(survived, "test_a", None, 2),
            verdict_of(unreached, "test_a", None, 0),
        ]
    )
    assert [verdict.fault for verdict in audit.unnoticed(read)] == ["survived", "unreached"]
    assert audit.lines(read) == [
        "unnoticed: survived (StopContainer: twice), by test_a (passed)",
        "not reached: unreached (StopContainer: hang) changed nothing in test_a (passed)",
        "no test: nobody (StopContainer: empty) breaks STP-04",
        "1 of 4 faults were noticed; 1 were reached and not noticed, 1 not reached, 1 concern no test here",
    ]


def test_a_fault_names_tests_or_requirements(tmp_path: Path) -> None:
    file = tmp_path / "neither.toml"
    file.write_text('[[fault]]\nid = "a"\nbreak = "StopContainer: hang"\npromise = "a"\n', encoding="utf-8")
    with pytest.raises(TomlMalformed, match="either the tests that it turns red, or what it breaks"):
        load(file)
