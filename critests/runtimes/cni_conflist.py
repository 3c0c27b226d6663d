"""The CNI configuration of a private runtime: a bridge of its own.

Source: the CNI specification's network configuration list, version 1.0.0, and the reference plugins.
"""

import json
from pathlib import Path

from critests.runtimes.runtime_paths import RuntimePaths

LEASES_NAME = "cni-leases"
"""Directory in which the IPAM plugin records allocated addresses."""
CONFLIST_NAME = "10-critests.conflist"


def conflist(paths: RuntimePaths) -> str:
    """Return the text of the network configuration list of a throwaway runtime.

    The bridge masquerades, so that a pod reaches what the machine reaches. Both plugins use iptables even if
    newer versions prefer nftables, so that their rules can be found and removed in one way.

    CHECK is off, as the CNI specification allows if it is known to fail without a reason: with systemd, udev
    changes the MAC address of the host's end of each veth pair right after ADD
    (`MACAddressPolicy=persistent` in systemd.link(5)), and the CHECK of the bridge plugin then fails.
    """
    ranges = [[{"subnet": subnet}] for subnet in paths.subnets]
    routes = [{"dst": "::/0" if ":" in subnet else "0.0.0.0/0"} for subnet in paths.subnets]
    bridge = {
        "type": "bridge",
        "bridge": paths.bridge,
        "isGateway": True,
        "ipMasq": True,
        "ipMasqBackend": "iptables",
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(lease_directory(paths)),
            "ranges": ranges,
            "routes": routes,
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "iptables"}
    network = {
        "cniVersion": "1.0.0",
        "name": paths.network,
        "disableCheck": True,
        "plugins": [bridge, portmap],
    }
    return json.dumps(network, indent=2) + "\n"


def lease_directory(paths: RuntimePaths) -> Path:
    """Return the directory of the IPAM plugin, with a directory of addresses for each network."""
    return paths.state / LEASES_NAME
