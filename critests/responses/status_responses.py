"""What Version, Status, RuntimeConfig and the URLs of streaming sessions must hold."""

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, Rule, rule

REQUIRED_CONDITIONS = ("RuntimeReady", "NetworkReady")
CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")


@rule(
    "RT-30",
    "VersionResponse.version",
    "VersionResponse.runtime_name",
    "VersionResponse.runtime_version",
    "VersionResponse.runtime_api_version",
)
def version_is_complete(response: cri.VersionResponse, _: Response) -> Iterable[Difference]:
    """Version fills in all four fields."""
    for field in ("version", "runtime_name", "runtime_version", "runtime_api_version"):
        if not getattr(response, field):
            yield Difference(field, "non-empty", "")


@rule("RT-06", "RuntimeStatus.conditions", "RuntimeCondition.type", "StatusResponse.status")
def required_conditions_are_reported(status: cri.RuntimeStatus, _: Response) -> Iterable[Difference]:
    """Status reports RuntimeReady and NetworkReady once each."""
    types = Counter(condition.type for condition in status.conditions)
    for name in REQUIRED_CONDITIONS:
        if types[name] != 1:
            yield Difference("conditions", f"{name} once", f"{types[name]} times")


@rule("RT-11", "RuntimeStatus.conditions", "RuntimeCondition.type")
def condition_types_are_unique(status: cri.RuntimeStatus, _: Response) -> Iterable[Difference]:
    """No condition is reported twice, and each has a type."""
    types = [condition.type for condition in status.conditions]
    if len(set(types)) < len(types) or "" in types:
        yield Difference("conditions", "unique types", types)


@rule("RT-08", "RuntimeCondition.reason", "RuntimeCondition.message", "RuntimeCondition.status")
def false_condition_has_a_reason(condition: cri.RuntimeCondition, _: Response) -> Iterable[Difference]:
    """A required condition that is false has a reason in CamelCase and a message."""
    if condition.status or condition.type not in REQUIRED_CONDITIONS:
        return
    if not CAMEL_CASE.fullmatch(condition.reason):
        yield Difference("reason", "a CamelCase word", condition.reason, condition.type)
    if not condition.message:
        yield Difference("message", "non-empty", "", condition.type)


@rule("RT-14/unique", "StatusResponse.runtime_handlers", "RuntimeHandler.name")
def handler_names_are_unique(response: cri.StatusResponse, _: Response) -> Iterable[Difference]:
    """No handler is listed twice."""
    names = [handler.name for handler in response.runtime_handlers]
    if len(set(names)) < len(names):
        yield Difference("runtime_handlers", "unique names", names)


def _no_info_unless_verbose(aspect: str, rpc: str, *fields: str) -> Rule:
    def check(response: cri.StatusResponse, of: Response) -> Iterable[Difference]:
        # a test may send the message of another RPC
        if response.info and of.rpc == rpc and not getattr(of.request, "verbose", False):
            yield Difference("info", "empty", sorted(response.info))

    return Rule(aspect, (f"{rpc}Response.info", *fields), check)


def _url(message: str) -> Rule:
    def check(response: cri.ExecResponse, _: Response) -> Iterable[Difference]:
        parts = urlsplit(response.url)
        if not (parts.scheme and parts.netloc and parts.path.strip("/")):
            yield Difference("url", "a URL with scheme, host and path", response.url)

    return Rule("STR-01", (f"{message}.url",), check)


RULES = [
    version_is_complete,
    required_conditions_are_reported,
    condition_types_are_unique,
    false_condition_has_a_reason,
    handler_names_are_unique,
    _no_info_unless_verbose("RT-12", "Status"),
    _no_info_unless_verbose("SBA-12", "PodSandboxStatus", "PodSandboxStatusResponse.status"),
    _no_info_unless_verbose("CTA-15", "ContainerStatus", "ContainerStatusResponse.status"),
    _no_info_unless_verbose("IMS-10", "ImageStatus", "ImageStatusResponse.image"),
    *(_url(name) for name in ("ExecResponse", "AttachResponse", "PortForwardResponse")),
]
