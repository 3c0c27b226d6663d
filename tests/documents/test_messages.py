"""Requests with an invalid or extreme value in one field."""

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.documents.message_values import PATHS, nonsense_for


def valid() -> cri.RunPodSandboxRequest:
    metadata = cri.PodSandboxMetadata(name="a", uid="b", namespace="c")
    return cri.RunPodSandboxRequest(
        config=cri.PodSandboxConfig(metadata=metadata, linux=cri.LinuxPodSandboxConfig())
    )


def spoiled(field: str, holds: str) -> Message:
    [found] = [each for each in nonsense_for(valid()) if str(each) == f"{field}: {holds}"]
    request = valid()
    found.spoil(request)
    return request


def test_every_value_changes_the_request() -> None:
    for nonsense in nonsense_for(valid()):
        request = valid()

        nonsense.spoil(request)

        assert request != valid(), nonsense
        assert type(request).FromString(request.SerializeToString()) == request


def test_present_messages_become_absent_and_absent_ones_empty() -> None:
    without_linux = valid()
    without_linux.config.ClearField("linux")
    with_context = valid()
    with_context.config.linux.security_context.SetInParent()

    assert spoiled("config.linux", "is absent") == without_linux
    assert spoiled("config.linux.security_context", "is empty") == with_context


def test_fields_of_elements_of_maps_and_of_values_are_spoiled() -> None:
    port, label, user = valid(), valid(), valid()
    port.config.port_mappings.add(host_port=-(1 << 31))
    label.config.labels["a\0b"] = "x"
    user.config.linux.security_context.run_as_user.value = (1 << 63) - 1

    assert spoiled("config.port_mappings.host_port", "the least number") == port
    assert spoiled("config.labels", "a NUL as a key") == label
    assert spoiled("config.linux.security_context.run_as_user.value", "the largest number") == user


def test_skipped_messages_are_not_changed() -> None:
    tried = {each.field for each in nonsense_for(valid(), ["windows", "linux"])}

    assert "config.metadata.name" in tried
    assert not any(field.startswith(("config.windows", "config.linux")) for field in tried)


def test_paths_get_only_values_that_cannot_be_created() -> None:
    values = {each.holds for each in nonsense_for(valid()) if each.field.split(".")[-1] in PATHS}

    assert values == {"a NUL", "5000 letters"}
