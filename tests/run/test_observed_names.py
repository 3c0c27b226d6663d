"""The name of what a test observed, without the test's expression."""

import ast

import pytest

from critests.run.observed_names import observed_name, other_name


def parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("after.container.state()", "state"),
        ("status.user.linux.uid", "uid"),
        ("container.output('cat', '/etc/hosts')", "output of cat /etc/hosts"),
        ("error_of(process.answer('effective user'))", "error of answer of effective user"),
        ("first.fields['Cpus_allowed_list']", "Cpus_allowed_list"),
        ("response.stdout.decode()", "stdout"),
        ("finished.stdout.splitlines(keepends=True)[-1]", "stdout"),
        ("status.annotations.get(key)", "annotations"),
        ("len(response.containers)", "number of containers"),
        ("sorted(addresses)", "addresses"),
        ("host_processes(token)", "host processes"),
        ("all(ids)", ""),
        ("groups - {1000}", ""),
    ],
)
def test_an_expression_has_the_name_of_its_last_field(expression: str, name: str) -> None:
    assert observed_name(parsed(expression)) == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("each name of states where name not in {'EXITED'}", "states"),
        ("each name, at of blocks.items() where at <= 0", "blocks"),
        ("listed(pod).created_at for each pod of pods", "created_at"),
        ("value + 1 for each value of values", ""),
    ],
)
def test_a_comprehension_in_words_has_the_name_of_its_field_or_of_the_whole(words: str, name: str) -> None:
    assert observed_name(ast.Name(words)) == name


def test_two_sides_of_one_name_are_distinguished() -> None:
    before = parsed("before.finished_at")

    assert other_name(before, "started_at") == "finished_at"
    assert other_name(before, "finished_at") == "before.finished_at"
