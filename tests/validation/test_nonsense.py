"""Requests with nonsense in one field."""

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.validation.runtime.nonsense import PLACES, nonsense_for


def sound() -> cri.RunPodSandboxRequest:
    metadata = cri.PodSandboxMetadata(name="a", uid="b", namespace="c")
    return cri.RunPodSandboxRequest(
        config=cri.PodSandboxConfig(metadata=metadata, linux=cri.LinuxPodSandboxConfig())
    )


def spoilt(field: str, holds: str) -> Message:
    [found] = [each for each in nonsense_for(sound()) if str(each) == f"{field}: {holds}"]
    request = sound()
    found.spoil(request)
    return request


def test_everything_that_is_tried_changes_a_request() -> None:
    for nonsense in nonsense_for(sound()):
        request = sound()

        nonsense.spoil(request)

        assert request != sound(), nonsense
        assert type(request).FromString(request.SerializeToString()) == request


def test_a_message_is_absent_where_it_was_and_empty_where_it_was_not() -> None:
    lacking = sound()
    lacking.config.ClearField("linux")
    having = sound()
    having.config.linux.security_context.SetInParent()

    assert spoilt("config.linux", "is absent") == lacking
    assert spoilt("config.linux.security_context", "is empty") == having


def test_fields_of_elements_of_maps_and_of_values_are_spoilt() -> None:
    port, label, user = sound(), sound(), sound()
    port.config.port_mappings.add(host_port=-(1 << 31))
    label.config.labels["a\0b"] = "x"
    user.config.linux.security_context.run_as_user.value = (1 << 63) - 1

    assert spoilt("config.port_mappings.host_port", "the least number") == port
    assert spoilt("config.labels", "a NUL as a key") == label
    assert spoilt("config.linux.security_context.run_as_user.value", "the largest number") == user


def test_nothing_is_tried_inside_what_is_left_alone() -> None:
    tried = {each.field for each in nonsense_for(sound(), ["windows", "linux"])}

    assert "config.metadata.name" in tried
    assert not any(field.startswith(("config.windows", "config.linux")) for field in tried)


def test_no_place_on_the_node_is_named_that_could_be_made() -> None:
    places = {each.holds for each in nonsense_for(sound()) if each.field.split(".")[-1] in PLACES}

    assert places == {"a NUL", "5000 letters"}
