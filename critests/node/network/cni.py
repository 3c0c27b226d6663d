"""The CNI plugins and the subnets of a private runtime's network.

It uses the reference plugins bridge, host-local and portmap. The runtimes call loopback themselves.
"""

import contextlib
import ipaddress
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from critests.exit_codes import CannotTest
from critests.node.host.binaries import search_path
from critests.node.run_state.footprint import Footprint
from critests.runtimes.cni_conflist import lease_directory

PLUGINS = ("bridge", "host-local", "loopback", "portmap")
"""The CNI plugins that a private runtime needs."""

PLUGIN_DIRECTORIES = (
    Path("/opt/cni/bin"),
    Path("/usr/lib/cni"),
    Path("/usr/libexec/cni"),
    Path("/usr/local/lib/cni"),
)
"""The directories in which distributions and Kubernetes installers put CNI plugins."""


_PREFIX = 20
_POOLS = tuple(
    ipaddress.IPv4Network(pool)
    for pool in ("10.192.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "10.0.0.0/9", "100.64.0.0/10")
)


class CniPluginsMissing(CannotTest):
    """The CNI plugins that the private network needs are not installed."""


class NoFreeSubnet(CannotTest):
    """Every private subnet overlaps a route, an address or another private runtime."""


def plugin_directory() -> Path:
    """Return the first directory with all CNI plugins that a private runtime needs; those in `CNI_PATH` come
    first.

    Raises:
        CniPluginsMissing: no directory has them; the message has the directories and how to install them.
    """
    configured = [Path(part) for part in os.environ.get("CNI_PATH", "").split(os.pathsep) if part]
    places = [*configured, *PLUGIN_DIRECTORIES]
    for directory in places:
        if all((directory / plugin).is_file() for plugin in PLUGINS):
            return directory
    raise CniPluginsMissing(
        f"no directory holds the CNI plugins {', '.join(PLUGINS)}; looked in {', '.join(map(str, places))}. "
        "On Debian and Ubuntu: apt install containernetworking-plugins; elsewhere set CNI_PATH"
    )


def networks_in_use() -> list[ipaddress.IPv4Network]:
    """Return the IPv4 networks of this machine's routes, addresses and name servers, without default
    routes.
    """
    found = [item.get("dst", "") for item in _ip("route", "show", "table", "all")]
    for link in _ip("address", "show"):
        found += [
            f"{address['local']}/{address['prefixlen']}"
            for address in link.get("addr_info", ())
            if address.get("family") == "inet"
        ]
    resolv = Path("/etc/resolv.conf")
    if resolv.is_file():
        lines = resolv.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    networks = []
    for text in found:
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:  # "default", and route types without a destination
            continue
        if isinstance(network, ipaddress.IPv4Network) and network.prefixlen > 0:
            networks.append(network)
    return networks


def free_subnet(taken: Iterable[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """Return the first private /20 (4,093 pods) that overlaps no network in use.

    Raises:
        NoFreeSubnet: every private /20 overlaps one.
    """
    busy = list(taken)
    for pool in _POOLS:
        if any(pool.subnet_of(network) for network in busy):
            continue
        for subnet in pool.subnets(new_prefix=_PREFIX):
            if not any(subnet.overlaps(network) for network in busy):
                return subnet
    raise NoFreeSubnet(
        f"no private /{_PREFIX} is free of this machine's routes ({', '.join(sorted(map(str, busy)))})"
    )


def unique_local_subnet(token: str) -> ipaddress.IPv6Network:
    """Return an IPv6 /64 below fd00::/8 with the token in its global id, which RFC 4193 requires to be
    random.
    """
    return ipaddress.IPv6Network(f"fdc7:{token[:2]}{token[2:4]}:{token[4:6]}00::/64")


def leases(footprint: Footprint) -> set[str]:
    """Return the allocated addresses of the IPAM plugin host-local, which has a file for each, named by the
    address.
    """
    found = set()
    for file in (lease_directory(footprint) / footprint.network).glob("*"):
        with contextlib.suppress(ValueError):
            found.add(str(ipaddress.ip_address(file.name)))
    return found


def pods_with_lease(footprint: Footprint) -> set[str]:
    """Return the ids of the pods in those files: the first word of each."""
    found = set()
    for file in (lease_directory(footprint) / footprint.network).glob("[0-9]*"):
        found.update(file.read_text(encoding="ascii", errors="replace").split()[:1])
    return found


def _ip(*arguments: str) -> list[dict[str, Any]]:
    program = shutil.which("ip", path=search_path())
    if program is None:
        raise CniPluginsMissing("the program ip is missing; on Debian and Ubuntu: apt install iproute2")
    answer = subprocess.run(
        [program, "-json", *arguments], capture_output=True, text=True, timeout=10, check=True
    )
    items: list[dict[str, Any]] = json.loads(answer.stdout or "[]")
    return items
