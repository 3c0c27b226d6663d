"""Every field of every response has a rule, or a reason why not."""

import fnmatch

from critests import catalogue
from critests.responses.field_table import FOLLOWED, NOT_JUDGED, judged, reason_without_rule, response_fields
from critests.responses.response_judge import EMPTY_ENTRY, RULES


def test_every_field_of_every_response_has_a_rule_or_a_reason() -> None:
    open_fields = [
        name for name, aspects in judged().items() if not aspects and not reason_without_rule(name)
    ]

    assert open_fields == []


def test_the_aspects_of_rules_are_in_the_catalogue() -> None:
    named = {*(rule.aspect for rule in RULES), *FOLLOWED.values(), EMPTY_ENTRY}

    assert named <= {*catalogue.load().aspects}


def test_rules_and_patterns_name_fields_of_responses() -> None:
    fields = response_fields()

    assert {name for rule in RULES for name in rule.fields} <= {*fields}
    assert [pattern for pattern in (*FOLLOWED, *NOT_JUDGED) if not fnmatch.filter(fields, pattern)] == []


def test_most_fields_of_linux_nodes_are_judged() -> None:
    on_linux = {name: aspects for name, aspects in judged().items() if "indows" not in name}

    assert sum(map(bool, on_linux.values())) > 0.7 * len(on_linux)
