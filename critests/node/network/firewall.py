"""Removal of the iptables rules of one pod network.

The bridge plugin (masquerading) and the portmap plugin add rules to the `nat` table: each has a comment with
the name of the network, and jumps to a chain of one pod. CRI-O maps host ports itself, with chains of one pod
whose rules contain only the pod's address. The entry chains, which jump to all of these, are shared by all
networks of a machine and stay until `remove_entry_chains`.
"""

import hashlib
import ipaddress
import re
import shutil
import subprocess
from collections.abc import Collection, Sequence

from critests.node.host.binaries import search_path

PORTMAP_CHAINS = ("CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK")
CRIO_CHAINS = ("KUBE-HOSTPORTS", "CRIO-HOSTPORTS-MASQ")
ENTRY_CHAINS = (PORTMAP_CHAINS, CRIO_CHAINS)
"""The entry chains by the program that creates them together; the first has a rule for every mapped port."""
_OF_ONE_POD = ("CNI-", "KUBE-HP-", "CRIO-MASQ-")
"""Prefixes of the chains of one pod."""
_HASHED = re.compile("CNI-(?:DN-|SN-)?([0-9a-f]{21,24})")
"""The chains of the reference plugins for one pod, with the beginning of a SHA-512 of network and pod."""
_JUMP = re.compile(r" -j ([A-Z][A-Za-z0-9-]+)")
_ADDRESS = re.compile(r"--to-destination \[?([0-9a-f.:]+?)\]?:\d+| -s ([0-9a-f.:]+)/(?:32|128) ")
_ATTEMPTS = 5


def nat_rules(program: str = "iptables") -> list[str]:
    """Return the lines of the `nat` table as `iptables-save` or `ip6tables-save` prints them; empty without
    the program.
    """
    save = shutil.which(f"{program}-save", path=search_path())
    if save is None:
        return []
    answer = subprocess.run([save, "-t", "nat"], capture_output=True, text=True, timeout=15, check=False)
    return answer.stdout.splitlines() if answer.returncode == 0 else []


def removal_of(
    lines: Sequence[str], network: str, subnets: Sequence[str], pods: Collection[str] = ()
) -> list[str]:
    """Return the `iptables-restore` lines that remove the rules and chains of one CNI network.

    Args:
        lines: the `nat` table, from `nat_rules`.
        network: the CNI network's name, as the plugins write it into comments.
        subnets: the network's subnets; a chain with a rule for an address in one of them belongs to the
            network even without a comment.
        pods: ids of the network's pods; a plugin that was killed may have left a chain without rules, whose
            name has a hash of network and pod.
    """
    named = re.compile(rf'name: \\?"{re.escape(network)}\\?"')
    rules = [line for line in lines if line.startswith("-A ")]
    ours = [rule for rule in rules if named.search(rule)]
    chains = {chain for rule in ours for chain in (*_JUMP.findall(rule), rule.split()[1])}
    chains |= {rule.split()[1] for rule in rules if _is_for(rule, subnets)}
    entries = {chain for chains in ENTRY_CHAINS for chain in chains}
    chains = {chain for chain in chains if chain.startswith(_OF_ONE_POD)} - entries
    jumps = [
        rule
        for rule in rules
        if rule.split()[1] not in chains and (rule in ours or chains.intersection(_JUMP.findall(rule)))
    ]
    declared = {line[1:].split()[0] for line in lines if line.startswith(":")}
    hashes = {hashlib.sha512(f"{network}{pod}".encode()).hexdigest() for pod in pods}
    empty = {
        chain
        for chain in declared
        if (found := _HASHED.fullmatch(chain)) and any(each.startswith(found[1]) for each in hashes)
    }
    existing = sorted(chains & declared | empty)
    return [
        *(f"-D {rule[3:]}" for rule in jumps),
        *(f"-F {chain}" for chain in existing),
        *(f"-X {chain}" for chain in existing),
    ]


def removal_of_entry_chains(lines: Sequence[str], before: Collection[str] = ()) -> list[str]:
    """Return the `iptables-restore` lines that remove entry chains without a mapped host port.

    Args:
        lines: the `nat` table, from `nat_rules`.
        before: entry chains that existed before; they stay, and those that are created with them.
    """
    rules = [line for line in lines if line.startswith("-A ")]
    declared = {line[1:].split()[0] for line in lines if line.startswith(":")}
    commands = []
    for chains in ENTRY_CHAINS:
        if set(chains) & set(before) or any(rule.startswith(f"-A {chains[0]} ") for rule in rules):
            continue
        existing = [chain for chain in chains if chain in declared]
        jumps = [
            rule
            for rule in rules
            if rule.split()[1] not in existing and set(existing).intersection(_JUMP.findall(rule))
        ]
        commands += [
            *(f"-D {rule[3:]}" for rule in jumps),
            *(f"-F {chain}" for chain in existing),
            *(f"-X {chain}" for chain in existing),
        ]
    return commands


def remove_network(network: str, subnets: Sequence[str], pods: Collection[str]) -> list[str]:
    """Remove the rules and chains of one CNI network; return descriptions of what could not be removed."""
    remaining = []
    for program in ("iptables", "ip6tables"):
        for _ in range(_ATTEMPTS):
            commands = removal_of(nat_rules(program), network, subnets, pods)
            if not commands or _restore(program, commands):
                break
        else:
            remaining.append(f"{program} rules of network {network}")
    return remaining


def remove_entry_chains(before: Collection[str]) -> None:
    """Remove the entry chains without a mapped host port.

    Args:
        before: those that existed before, from `entry_chains`.
    """
    for program in ("iptables", "ip6tables"):
        commands = removal_of_entry_chains(nat_rules(program), before)
        if commands:
            _restore(program, commands)


def entry_chains() -> list[str]:
    """Return the entry chains that exist on this machine."""
    declared = {
        line[1:].split()[0]
        for program in ("iptables", "ip6tables")
        for line in nat_rules(program)
        if line.startswith(":")
    }
    return sorted(declared & {chain for chains in ENTRY_CHAINS for chain in chains})


def _restore(program: str, commands: Sequence[str]) -> bool:
    restore = shutil.which(f"{program}-restore", path=search_path())
    if restore is None:
        return False
    batch = "\n".join(("*nat", *commands, "COMMIT", ""))
    answer = subprocess.run(
        [restore, "--noflush", "--wait", "5"],
        input=batch,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return answer.returncode == 0


def _is_for(rule: str, subnets: Sequence[str]) -> bool:
    """Return whether a rule forwards to an address of the subnets, or matches one as the source."""
    found = _ADDRESS.search(rule)
    if found is None:
        return False
    try:
        address = ipaddress.ip_address(found[1] or found[2])
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(subnet) for subnet in subnets)
