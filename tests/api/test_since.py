"""Every part of the API has a release, and releases compare as expected."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.api.since import ALWAYS, Minor, _data, since_field, since_rpc

FILE = cri.DESCRIPTOR
MESSAGES = FILE.message_types_by_name


def test_every_rpc_has_a_since_and_no_other() -> None:
    assert set(_data()["rpcs"]) == {
        method.name for service in FILE.services_by_name.values() for method in service.methods
    }


def test_every_field_has_a_since_and_no_other() -> None:
    described = {
        f"{name}.{field}" for name, message in _data()["messages"].items() for field in message["fields"]
    }
    assert described == {
        f"{name}.{field.name}" for name, message in MESSAGES.items() for field in message.fields
    }
    assert set(_data()["messages"]) == set(MESSAGES)


def test_no_part_is_older_than_its_message_or_newer_than_the_data() -> None:
    newest = Minor.parse(_data()["as_of"])
    for message in _data()["messages"].values():
        assert all(
            Minor.parse(message["since"]) <= Minor.parse(field) <= newest
            for field in message["fields"].values()
        )


def test_no_rpc_is_older_than_its_messages() -> None:
    for service in FILE.services_by_name.values():
        for method in service.methods:
            since = Minor.parse(since_rpc(method.name))
            assert since >= Minor.parse(_data()["messages"][method.input_type.name]["since"])
            assert since >= Minor.parse(_data()["messages"][method.output_type.name]["since"])


@pytest.mark.parametrize(
    ("look_up", "name", "release"),
    [
        (since_rpc, "RuntimeConfig", "1.28"),
        (since_field, "ContainerStatus.stop_signal", "1.33"),
    ],
)
def test_look_up_returns_the_first_release(look_up: Callable[[str], str], name: str, release: str) -> None:
    assert look_up(name) == release


@pytest.mark.parametrize(
    ("look_up", "name", "sentence"),
    [
        (since_rpc, "Restart", "CRI v1 has no RPC 'Restart'"),
        (since_field, "Mount.colour", "CRI v1 has no field 'Mount.colour'"),
        (since_field, "Mount", "CRI v1 has no field 'Mount'"),
    ],
)
def test_error_names_the_unknown_name(look_up: Callable[[str], str], name: str, sentence: str) -> None:
    with pytest.raises(LookupError, match=f"^{sentence}$"):
        look_up(name)


@pytest.mark.parametrize(
    ("text", "minor", "printed"),
    [
        ("1.28", Minor(1, 28), "1.28"),
        ("v1.28", Minor(1, 28), "1.28"),
        (" 1.9 ", Minor(1, 9), "1.9"),
        ("≤1.15", Minor(1, 15, or_earlier=True), "≤1.15"),
        ("<=1.15", Minor(1, 15, or_earlier=True), "≤1.15"),
        ("-", ALWAYS, "-"),
    ],
)
def test_minor_release_is_parsed_and_printed(text: str, minor: Minor, printed: str) -> None:
    assert Minor.parse(text) == minor
    assert str(Minor.parse(text)) == printed


@pytest.mark.parametrize("text", ["", "1", "1.28.3", "1.x", "latest", "≤", "--", "1.²"])
def test_text_without_a_minor_release_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes minor release"):
        Minor.parse(text)


def test_releases_compare_by_number_and_not_by_text() -> None:
    in_order = [Minor.parse(text) for text in ["-", "1.9", "≤1.15", "1.20", "1.37", "2.0"]]
    shuffled = [in_order[index] for index in (3, 0, 5, 1, 4, 2)]
    assert sorted(shuffled) == in_order
    assert Minor.parse("≤1.15") == Minor.parse("1.15")
