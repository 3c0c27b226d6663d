import hashlib
import ipaddress
import json
import os
from pathlib import Path

import pytest

from critests.node.network import cni, firewall
from critests.node.network.cni import free_subnet, leases, plugin_directory
from critests.runtimes.cni_conflist import conflist
from tests.node.footprints import footprint_in

FOOTPRINT = footprint_in(Path("/run/x"), subnets=("10.192.0.0/20", "fdc7:a1b2:c300::/64"))


@pytest.mark.parametrize(
    ("taken", "chosen"),
    [
        ([], "10.192.0.0/20"),
        (["10.192.0.0/20"], "10.192.16.0/20"),
        (["10.192.15.255/32", "10.192.16.0/24"], "10.192.32.0/20"),
        (["10.0.0.0/8"], "172.16.0.0/20"),
        (["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"], "100.64.0.0/20"),
    ],
)
def test_free_subnet_overlaps_no_network_in_use(taken: list[str], chosen: str) -> None:
    assert free_subnet([ipaddress.IPv4Network(text) for text in taken]) == ipaddress.IPv4Network(chosen)


def test_networks_in_use_are_those_of_routes_addresses_and_name_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output: dict[str, list[dict[str, object]]] = {
        "route": [
            {"dst": "default"},
            {"dst": "0.0.0.0/0"},
            {"dst": "10.1.0.0/16"},
            {"type": "local", "dst": "10.2.0.1"},
            {"dst": "fd00::/8"},
        ],
        "address": [
            {
                "addr_info": [
                    {"family": "inet", "local": "10.3.0.1", "prefixlen": 24},
                    {"family": "inet6", "local": "::1", "prefixlen": 128},
                ]
            }
        ],
    }
    monkeypatch.setattr(cni, "_ip", lambda *words: output[words[0]])
    assert {str(network) for network in cni.networks_in_use()} >= {
        "10.1.0.0/16",
        "10.2.0.1/32",
        "10.3.0.0/24",
    }
    assert not [network for network in cni.networks_in_use() if network.prefixlen == 0]


def test_conflist_has_only_names_and_paths_of_its_runtime() -> None:
    data = json.loads(conflist(FOOTPRINT))
    bridge, portmap = data["plugins"]
    assert data["name"] == "critests-a1b2c3"
    assert bridge["bridge"] == "crt-a1b2c3"
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.192.0.0/20"}], [{"subnet": "fdc7:a1b2:c300::/64"}]]
    assert bridge["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]
    assert bridge["ipam"]["dataDir"].startswith("/run/x/")
    assert portmap["capabilities"] == {"portMappings": True}


def test_conflist_disables_check() -> None:
    """CHECK of the bridge plugin may fail after udev has changed a MAC address, so libcni must skip it."""
    assert json.loads(conflist(FOOTPRINT))["disableCheck"] is True


def test_plugin_directory_is_found_in_cni_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for plugin in cni.PLUGINS:
        (tmp_path / plugin).touch()
    monkeypatch.setenv("CNI_PATH", os.pathsep.join(["/nowhere", str(tmp_path)]))
    assert plugin_directory() == tmp_path


NAT = r"""*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [1:60]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
:CNI-DN-ours - [0:0]
:CNI-DN-lost - [0:0]
:CNI-DN-other - [0:0]
:CNI-ours - [0:0]
:CNI-other - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A POSTROUTING -s 10.192.0.2/32 -m comment --comment "name: \"critests-a1b2c3\" id: \"1\"" -j CNI-ours
-A POSTROUTING -s 10.88.0.2/32 -m comment --comment "name: \"podman\" id: \"2\"" -j CNI-other
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"critests-a1b2c3\" id: \"1\"" \
-m multiport --dports 80 -j CNI-DN-ours
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"podman\" id: \"2\"" \
-m multiport --dports 81 -j CNI-DN-other
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000
-A CNI-DN-ours -s 10.192.0.0/20 -p tcp -m tcp --dport 80 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-ours -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.192.0.2:80
-A CNI-DN-lost -p tcp -m tcp --dport 82 -j DNAT --to-destination 10.192.15.255:80
-A CNI-DN-other -p tcp -m tcp --dport 81 -j DNAT --to-destination 10.88.0.2:80
-A CNI-ours -d 10.192.0.0/20 -m comment --comment "name: \"critests-a1b2c3\" id: \"1\"" -j ACCEPT
-A CNI-other -d 10.88.0.0/16 -m comment --comment "name: \"podman\" id: \"2\"" -j ACCEPT
COMMIT""".replace(" \\\n", " ").splitlines()


def test_removal_includes_only_rules_of_the_network() -> None:
    removal = firewall.removal_of(NAT, "critests-a1b2c3", ["10.192.0.0/20"])
    assert removal == [
        (
            r'-D POSTROUTING -s 10.192.0.2/32 -m comment --comment "name: \"critests-a1b2c3\" id: \"1\"" -j'
            r" CNI-ours"
        ),
        NAT[15].replace("-A", "-D"),
        *("-F CNI-DN-lost", "-F CNI-DN-ours", "-F CNI-ours"),
        *("-X CNI-DN-lost", "-X CNI-DN-ours", "-X CNI-ours"),
    ]


def test_chain_that_a_killed_plugin_left_empty_is_removed_by_its_hash() -> None:
    # FormatChainName of the reference plugins
    ours = "CNI-" + hashlib.sha512(b"critests-a1b2c3" + b"pod").hexdigest()[:24]
    lines = [*NAT[:-1], f":{ours} - [0:0]", ":CNI-d3e374edc88331daf2234915 - [0:0]", "COMMIT"]

    removal = firewall.removal_of(lines, "critests-a1b2c3", [], ["pod", "other"])

    assert set(removal) - set(firewall.removal_of(NAT, "critests-a1b2c3", [])) == {f"-F {ours}", f"-X {ours}"}


# the rules of CRI-O for a pod with a host port, and an unused chain of portmap
CRIO_NAT = r"""*nat
:PREROUTING ACCEPT [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CRIO-HOSTPORTS-MASQ - [0:0]
:CRIO-MASQ-OURS - [0:0]
:KUBE-HOSTPORTS - [0:0]
:KUBE-HP-OURS - [0:0]
:KUBE-HP-OTHER - [0:0]
-A PREROUTING -m comment --comment "kube hostport portals" -m addrtype --dst-type LOCAL -j KUBE-HOSTPORTS
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A OUTPUT -m comment --comment "kube hostport portals" -m addrtype --dst-type LOCAL -j KUBE-HOSTPORTS
-A POSTROUTING -m comment --comment "kube hostport masquerading" -m conntrack --ctstate DNAT \
-j CRIO-HOSTPORTS-MASQ
-A KUBE-HOSTPORTS -p tcp -m comment --comment "ours hostport 80" -m tcp --dport 80 -j KUBE-HP-OURS
-A KUBE-HOSTPORTS -p tcp -m comment --comment "other hostport 81" -m tcp --dport 81 -j KUBE-HP-OTHER
-A KUBE-HP-OURS -p tcp -m comment --comment "ours hostport 80" -m tcp -j DNAT --to-destination 10.192.0.2:80
-A KUBE-HP-OTHER -p tcp -m comment --comment "other hostport 81" -m tcp -j DNAT --to-destination 10.88.0.2:80
-A CRIO-HOSTPORTS-MASQ -m comment --comment "ours hostport 80" -j CRIO-MASQ-OURS
-A CRIO-MASQ-OURS -s 10.192.0.2/32 -d 10.192.0.2/32 -p tcp -m comment --comment "ours hostport 80" \
-m conntrack --ctorigdstport 80 -m tcp --dport 80 -j MASQUERADE
COMMIT""".replace(" \\\n", " ").splitlines()


def test_removal_includes_host_ports_that_crio_mapped_for_the_network() -> None:
    removal = firewall.removal_of(CRIO_NAT, "critests-a1b2c3", ["10.192.0.0/20"])
    assert removal == [
        '-D KUBE-HOSTPORTS -p tcp -m comment --comment "ours hostport 80" -m tcp --dport 80 -j KUBE-HP-OURS',
        '-D CRIO-HOSTPORTS-MASQ -m comment --comment "ours hostport 80" -j CRIO-MASQ-OURS',
        *("-F CRIO-MASQ-OURS", "-F KUBE-HP-OURS"),
        *("-X CRIO-MASQ-OURS", "-X KUBE-HP-OURS"),
    ]


def test_entry_chains_stay_while_a_port_is_mapped() -> None:
    assert firewall.removal_of_entry_chains(NAT) == []


def test_unused_entry_chains_are_removed_with_the_jumps_to_them() -> None:
    unused = [line for line in NAT if not line.startswith(("-A CNI-HOSTPORT-DNAT", "-A CNI-DN"))]
    assert firewall.removal_of_entry_chains(unused) == [
        "-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
        '-D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
        *(f"-F {chain}" for chain in firewall.PORTMAP_CHAINS),
        *(f"-X {chain}" for chain in firewall.PORTMAP_CHAINS),
    ]


def test_unused_entry_chains_of_crio_are_removed_with_the_jumps_to_them() -> None:
    unused = [line for line in CRIO_NAT if not line.startswith("-A KUBE-HOSTPORTS")]
    removal = firewall.removal_of_entry_chains(unused, ["CNI-HOSTPORT-DNAT"])
    assert [line.rpartition(" -j ")[2] for line in removal] == [
        *("KUBE-HOSTPORTS", "KUBE-HOSTPORTS", "CRIO-HOSTPORTS-MASQ"),
        *("-F KUBE-HOSTPORTS", "-F CRIO-HOSTPORTS-MASQ"),
        *("-X KUBE-HOSTPORTS", "-X CRIO-HOSTPORTS-MASQ"),
    ]


def test_entry_chains_that_existed_before_are_not_removed() -> None:
    unused = [line for line in CRIO_NAT if not line.startswith("-A KUBE-HOSTPORTS")]
    before = [firewall.PORTMAP_CHAINS[0], firewall.CRIO_CHAINS[1]]
    assert firewall.removal_of_entry_chains(unused, before) == []


def test_leases_are_read_from_the_files_of_host_local(tmp_path: Path) -> None:
    footprint = footprint_in(tmp_path)
    assert leases(footprint) == set()
    folder = Path(json.loads(conflist(footprint))["plugins"][0]["ipam"]["dataDir"]) / footprint.network
    folder.mkdir(parents=True)
    for name in ("10.9.0.7", "fd00::7", "last_reserved_ip.0", "lock"):
        (folder / name).touch()
    assert leases(footprint) == {"10.9.0.7", "fd00::7"}
