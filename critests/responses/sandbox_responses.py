"""What each message about one sandbox must hold, whatever came before."""

import ipaddress
from collections.abc import Iterable

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, rule


@rule("SBX-01", "RunPodSandboxResponse.pod_sandbox_id")
def run_returns_an_id(response: cri.RunPodSandboxResponse, _: Response) -> Iterable[Difference]:
    """RunPodSandbox returns the id of the new sandbox."""
    if not response.pod_sandbox_id:
        yield Difference("pod_sandbox_id", "an id", "")


@rule("SBA-01", "PodSandboxStatus.id")
def status_is_of_the_requested_sandbox(status: cri.PodSandboxStatus, of: Response) -> Iterable[Difference]:
    """PodSandboxStatus reports the sandbox whose id, or the beginning of it, was in the request."""
    if not status.id:
        yield Difference("id", "an id", "")
    if isinstance(of.request, cri.PodSandboxStatusRequest) and not status.id.startswith(
        of.request.pod_sandbox_id
    ):
        yield Difference("id", of.request.pod_sandbox_id, status.id, status.id)


@rule("SBA-23", "PodSandbox.id")
def listed_sandbox_has_an_id(entry: cri.PodSandbox, _: Response) -> Iterable[Difference]:
    """An entry of ListPodSandbox names the sandbox."""
    if not entry.id:
        yield Difference("id", "an id", "")


@rule("SBA-09", "PodSandboxNetworkStatus.ip")
def address_is_valid(network: cri.PodSandboxNetworkStatus, _: Response) -> Iterable[Difference]:
    """The address of a sandbox is empty or an IP address."""
    if network.ip and not _is_address(network.ip):
        yield Difference("ip", "an IP address", network.ip)


@rule("SBA-10", "PodSandboxNetworkStatus.additional_ips", "PodIP.ip")
def further_addresses_are_valid(network: cri.PodSandboxNetworkStatus, _: Response) -> Iterable[Difference]:
    """Each further address is an IP address, and none is there twice."""
    addresses = [network.ip, *(each.ip for each in network.additional_ips)]
    for address in addresses[1:]:
        if not _is_address(address) or addresses.count(address) > 1:
            yield Difference("additional_ips", "different IP addresses", addresses)


@rule("STA-18", "PodSandboxStatsResponse.stats", "PodSandboxStats.attributes", "PodSandboxAttributes.id")
def stats_are_of_the_requested_sandbox(
    response: cri.PodSandboxStatsResponse, of: Response
) -> Iterable[Difference]:
    """PodSandboxStats reports the sandbox whose id was in the request."""
    if not isinstance(of.request, cri.PodSandboxStatsRequest) or not response.HasField("stats"):
        return
    reported = response.stats.attributes.id
    if not reported or not reported.startswith(of.request.pod_sandbox_id):
        yield Difference("attributes.id", of.request.pod_sandbox_id, reported)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


RULES = [
    run_returns_an_id,
    status_is_of_the_requested_sandbox,
    listed_sandbox_has_an_id,
    address_is_valid,
    further_addresses_are_valid,
    stats_are_of_the_requested_sandbox,
]
