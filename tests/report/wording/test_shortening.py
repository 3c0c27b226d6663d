"""A message of a runtime in one line loses ids and wrappers before the innermost error."""

import pytest

from critests.report.wording.message_shortening import CUT, shortened_message

ID = "8ccdc286c1f5bf3f1581329b2b32ad6931ef10f15a2b0fcb4bf2f0a8a02ab3de"
KILL = (
    f'StopContainer failed with UNKNOWN: failed to stop container "{ID}": failed to kill container "{ID}":'
    " rpc error: code = Unknown desc = unknown error after kill: /opt/wrappers/runc did not terminate"
    " successfully: exit status 1: kill: not today"
)


@pytest.mark.parametrize("limit", [120, 160, 200, 240])
def test_the_innermost_error_stays_whole_and_there_is_one_cut_at_most(limit: int) -> None:
    text = shortened_message(KILL, limit)

    assert len(text) <= limit
    assert text.startswith("StopContainer failed with UNKNOWN: ")
    assert text.endswith("kill: not today")
    assert text.count(CUT.strip()) == (len(text) < 200)
    assert ID not in text
    assert "rpc error" not in text


def test_an_id_is_as_long_as_people_write_it() -> None:
    assert (
        shortened_message(f'container "{ID}" and sha256:{ID}', 200) == f'container "{ID[:12]}" and {ID[:12]}'
    )


def test_nested_messages_go_before_words() -> None:
    labels = 'metadata { name: "a" labels { key: "b" } }'
    text = f'waited 10 s for exit; last: id: "{ID}" {labels} state: RUNNING'

    assert shortened_message(text, 80) == f'waited 10 s for exit; last: id: "{ID[:12]}" state: RUNNING'
    assert shortened_message("short { as: 1 }", 80) == "short { as: 1 }"


def test_a_last_step_that_is_too_long_is_cut_at_its_end() -> None:
    text = shortened_message("CreateContainer failed: " + "x" * 500, 100)

    assert 95 < len(text) <= 100
    assert text.startswith("CreateContainer failed: xxx")
    assert text.endswith("…")
