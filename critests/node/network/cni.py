"""The private network of a throwaway runtime: a free subnet, and the CNI configuration of a bridge of its
own.

The format is the CNI specification's network configuration list, version 1.0.0; the plugins are the reference
ones (bridge, host-local, portmap; loopback is called by the runtimes themselves).
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
"""The CNI plugins that a throwaway runtime needs."""

PLUGIN_DIRECTORIES = (
    Path("/opt/cni/bin"),
    Path("/usr/lib/cni"),
    Path("/usr/libexec/cni"),
    Path("/usr/local/lib/cni"),
)
"""Where distributions and Kubernetes installers put CNI plugins."""


_PREFIX = 20
_POOLS = tuple(
    ipaddress.IPv4Network(pool)
    for pool in ("10.192.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "10.0.0.0/9", "100.64.0.0/10")
)


class CniPluginsMissing(CannotTest):
    """The CNI plugins that the private network needs are not installed."""


class NoFreeSubnet(CannotTest):
    """Every private subnet overlaps a route, an address or another throwaway runtime."""


def plugin_directory() -> Path:
    """Return the first directory that holds all the CNI plugins needed; those in `CNI_PATH` are asked first.

    Raises:
        CniPluginsMissing: none does; says what is missing where, and how to get it.
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
    """Return every IPv4 network that this machine routes to, has an address in, or asks for names; default
    routes left out.
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
        except ValueError:  # "default", and types of route that have no destination
            continue
        if isinstance(network, ipaddress.IPv4Network) and network.prefixlen > 0:
            networks.append(network)
    return networks


def free_subnet(taken: Iterable[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """Return the first private /20 (4,093 pods) that overlaps none of the networks taken.

    Raises:
        NoFreeSubnet: there is none left.
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
    """Return an IPv6 /64 below fd00::/8 whose global id is made of the token (RFC 4193 wants it random;
    tokens are).
    """
    return ipaddress.IPv6Network(f"fdc7:{token[:2]}{token[2:4]}:{token[4:6]}00::/64")


def leases(footprint: Footprint) -> set[str]:
    """Return the addresses that the network's own IPAM plugin (host-local) has given away and not got back: a
    file each, called after the address.
    """
    found = set()
    for file in (lease_directory(footprint) / footprint.network).glob("*"):
        with contextlib.suppress(ValueError):
            found.add(str(ipaddress.ip_address(file.name)))
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
