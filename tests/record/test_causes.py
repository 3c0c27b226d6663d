from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from tests.record.judged import end_of, judged, refused, result, saw


def test_the_same_answer_of_the_same_rpc_is_one_finding() -> None:
    found = judged(
        refused("test_other", "CTR-30", "container 12ab is busy"),
        refused("test_remove", "CTR-31", "container 34cd is busy"),
        refused("test_elsewhere", "CTR-32", "no such file"),
        result("test_remove_works", "CTR-28/removed"),
    )

    assert [test.cause for test in found.tests[:3]] == ["", "CTR-30", ""]
    assert {test.outcome for test in found.tests[:3]} == {Outcome.FAILED}, "a failure stays one"
    (cause,) = found.root_causes
    assert (cause.requirement, cause.blocked, cause.failed) == ("CTR-30", [], ["a.py::test_remove"])
    assert end_of(found).startswith("3 tests found a broken MUST, which are 2 distinct findings")


def test_failures_of_one_requirement_are_one_finding() -> None:
    found = judged(
        *(
            result(f"test_grace[{number}]", "STP-04", Outcome.FAILED, reason=str(number))
            for number in range(9)
        ),
        result("test_apart", "STP-05", Outcome.FAILED),
    )

    assert [cause.requirement for cause in found.root_causes] == ["STP-04"]
    assert len(found.root_causes[0].failed) == 8
    assert "10 tests found a broken MUST, which are 2 distinct findings" in end_of(found)


def test_two_ends_of_a_daemon_are_two_findings_where_their_words_differ() -> None:
    ends = {
        "test_stats": ("7", "Stats", "panic: a"),
        "test_metrics": ("8", "Stats", "panic: a"),
        "test_stop": ("9", "Stop", "panic: b"),
    }

    found = judged(
        *(
            result(
                name,
                "GEN-17",
                Outcome.FAILED,
                why=Reason(code=ReasonCode.RUNTIME_ENDED, subject=rpc, seen=f"process {pid}", words=words),
            )
            for name, (pid, rpc, words) in ends.items()
        )
    )

    assert [test.cause for test in found.tests] == ["", "GEN-17", ""]
    assert "which are 2 distinct findings" in end_of(found)


def test_the_same_value_of_the_same_field_after_the_same_call_is_one_finding() -> None:
    found = judged(
        saw("test_keeps_its_code", "STP-02", "exit_code", "137"),
        saw("test_ends_by_itself", "STP-05", "exit_code", "137"),
        saw("test_graceful", "CTR-30", "exit_code", "137"),
        saw("test_other_value", "STP-10", "exit_code", "143"),
        saw("test_other_field", "STP-11", "code", "137"),
        saw("test_other_call", "STP-12", "exit_code", "137", after="StartContainer"),
        saw("test_says_little", "STP-13", "pinned", "False"),
        saw("test_says_little_too", "STP-14", "pinned", "False"),
        saw("test_signal", "STP-17", "log_lines", "'ready'"),
        saw("test_signals", "STP-19", "log_lines", "'ready'"),
        saw("test_of_no_field", "STP-15", "", "2"),
        saw("test_of_no_field_either", "STP-16", "", "2"),
    )

    cause, other = found.root_causes
    assert (cause.requirement, cause.rpc) == ("STP-02", ""), "no call failed"
    assert cause.failed == ["a.py::test_ends_by_itself", "a.py::test_graceful"]
    assert (other.requirement, other.failed) == ("STP-17", ["a.py::test_signals"])
    assert "12 tests found a broken MUST, which are 9 distinct findings" in end_of(found)
    assert {test.outcome for test in found.tests[:12]} == {Outcome.FAILED}, "a failure stays one"


def test_a_finding_is_named_anew_when_it_is_judged_again() -> None:
    first = judged(refused("test_other", "CTR-30", "busy"), refused("test_remove", "CTR-31", "busy"))

    assert [test.cause for test in judged(*first.tests[1:]).tests] == [""]


def test_the_same_sentence_after_the_same_call_is_one_finding() -> None:
    def says(name: str, requirement: str, why: Reason) -> TestResult:
        return result(name, requirement, Outcome.FAILED, after="Exec", why=why)

    refused = Reason(code=ReasonCode.SESSION, words="the server chose another sub-protocol")
    late = Reason(code=ReasonCode.CONDITION, words="waited 10 s for the end; last seen: nothing")
    found = judged(
        says("test_code", "EXE-04", refused),
        says("test_size", "EXE-08", refused),
        says("test_end", "EXE-12", late),
        says("test_other_end", "EXE-16", late),
    )

    assert [test.cause for test in found.tests] == ["", "EXE-04", "", ""]
