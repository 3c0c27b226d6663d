"""Which field of every response is judged by which rule, or why by none."""

import fnmatch
from collections.abc import Iterator
from typing import Any, Final

from critests.api import api_pb2 as cri
from critests.responses.response_judge import RULES

FOLLOWED: Final = {
    "Container.annotations": "CTA-02",
    "Container.labels": "CTA-02",
    "Container.metadata": "CTA-23/equal",
    "Container.state": "CTA-26",
    "ContainerAttributes.annotations": "STA-01",
    "ContainerAttributes.labels": "STA-01",
    "ContainerAttributes.metadata": "STA-01",
    "ContainerMetadata.*": "CTA-01",
    "ContainerStatus.annotations": "CTA-02",
    "ContainerStatus.labels": "CTA-02",
    "ContainerStatus.log_path": "CTA-10",
    "ContainerStatus.metadata": "CTA-01",
    "ContainerStatus.state": "CTA-26",
    "ContainerStatus.stop_signal": "STP-12",
    "CpuUsage.usage_core_nano_seconds": "STA-03",
    "CpuUsage.usage_nano_cores": "STA-04",
    "IDMapping.*": "SBA-08",
    "ImageSpec.user_specified_image": "CTA-06/if-set",
    "Metric.metric_type": "MET-06/counters",
    "Metric.value": "MET-06/counters",
    "Mount.container_path": "CTA-09/required",
    "Mount.image": "CTA-09/recommended",
    "Mount.propagation": "CTA-09/recommended",
    "Mount.readonly": "CTA-09/required",
    "Mount.recursive_read_only": "CTA-09/recommended",
    "Mount.selinux_relabel": "CTA-09/recommended",
    "NamespaceOption.ipc": "SBA-08",
    "NamespaceOption.network": "SBA-08",
    "NamespaceOption.pid": "SBA-08",
    "NetworkInterfaceUsage.*": "STA-20/default",
    "PodSandbox.annotations": "SBA-05",
    "PodSandbox.labels": "SBA-04",
    "PodSandbox.metadata": "SBA-23",
    "PodSandbox.runtime_handler": "SBA-07",
    "PodSandbox.state": "SBX-12",
    "PodSandboxAttributes.annotations": "STA-30",
    "PodSandboxAttributes.labels": "STA-30",
    "PodSandboxAttributes.metadata": "STA-30",
    "PodSandboxMetadata.*": "SBA-02",
    "PodSandboxStatus.annotations": "SBA-05",
    "PodSandboxStatus.labels": "SBA-04",
    "PodSandboxStatus.metadata": "SBA-02",
    "PodSandboxStatus.runtime_handler": "SBA-07",
    "PodSandboxStatus.state": "SBX-12",
    "RestoredContainer.*": "CKP-16",
    "UserNamespace.*": "SBA-08",
}
"""Patterns of fields that are compared with the request or with earlier responses, and the aspect."""

NOT_JUDGED: Final = {
    "*Windows*": "the suite tests Linux nodes",
    "*.windows": "the suite tests Linux nodes",
    "Container.image": "list and status may name an image differently (CTA-23/image-form)",
    "*.image_id": "the id of an image is known only to a client that asks for the image",
    "ContainerEventResponse.container_event_type": "each value is possible at any time",
    "ExecSyncResponse.*": "the command decides",
    "FilesystemUsage.*": "usage may be any number",
    "HugepageLimit.*": "NRI plugins may change resources",
    "Image.pinned": "the configuration of the runtime decides",
    "ImageSpec.*": "annotations, handler and reference of an image are left to the runtime (IMS-08/spec)",
    "Image.spec": "left to the runtime (IMS-08/spec)",
    "LinuxContainerResources.*": "NRI plugins may change resources",
    "*ontainerStatus.resources": "NRI plugins may change resources",
    "ContainerResources.*": "NRI plugins may change resources",
    "*ontainerUser.*": "the image's user is not in the request",
    "ContainerStatus.user": "the image's user is not in the request",
    "LinuxRuntimeConfiguration.cgroup_driver": "each value is possible",
    "MemoryUsage.available_bytes": "left to the runtime without a limit (STA-06/no-limit)",
    "Mount.host_path": "runtimes resolve symbolic links",
    "Mount.image_sub_path": "recorded only (CTA-09/recorded)",
    "Mount.mount_options": "recorded only (CTA-09/recorded)",
    "Mount.*Mappings": "recorded only (CTA-09/recorded)",
    "NamespaceOption.target_id": "of a request only",
    "ProcessUsage.process_count": "the processes of a pod decide",
    "RuntimeConfigResponse.linux": "each value is possible",
    "RuntimeFeatures.*": "either value is possible",
    "RuntimeHandler.features": "either value is possible",
    "StatusResponse.features": "either value is possible",
    "RuntimeHandlerFeatures.*": "either value is possible",
    "SwapUsage.*": "usage may be any number",
}
"""Patterns of fields without a rule, and the reason."""


def response_fields() -> list[str]:
    """Return `Message.field` of every field of every response, sorted."""
    found: dict[str, None] = {}
    for service in cri.DESCRIPTOR.services_by_name.values():
        for method in service.methods:
            found.update(dict.fromkeys(_fields_of(method.output_type, set())))
    return sorted(found)


# descriptors of protobuf's C implementation have no public type
def _fields_of(message: Any, seen: set[str]) -> Iterator[str]:  # noqa: ANN401 - see above
    if message.name in seen or message.GetOptions().map_entry:
        return
    seen.add(message.name)
    for field in message.fields:
        yield f"{message.name}.{field.name}"
        if field.message_type is not None:
            yield from _fields_of(field.message_type, seen)


def judged() -> dict[str, list[str]]:
    """Return every field with the aspects that judge it, or with none.

    A message that only holds other messages is judged by their rules.
    """
    fields = response_fields()
    aspects: dict[str, list[str]] = {name: [] for name in fields}
    for rule in RULES:
        for name in rule.fields:
            aspects[name].append(rule.aspect)
    for pattern, aspect in FOLLOWED.items():
        for name in fnmatch.filter(fields, pattern):
            aspects[name].append(aspect)
    holders = [name for name in fields if not aspects[name]]
    while found := [name for name in holders if not aspects[name] and _holds_judged_fields(name, aspects)]:
        aspects.update({name: ["its fields"] for name in found})
    return aspects


def reason_without_rule(name: str) -> str:
    """Return why no rule judges a field; empty if nothing says so."""
    return next((reason for pattern, reason in NOT_JUDGED.items() if fnmatch.fnmatchcase(name, pattern)), "")


def _holds_judged_fields(name: str, aspects: dict[str, list[str]]) -> bool:
    message, _, field = name.partition(".")
    held = cri.DESCRIPTOR.message_types_by_name[message].fields_by_name[field].message_type
    return held is not None and any(aspects[each] for each in aspects if each.startswith(f"{held.name}."))
