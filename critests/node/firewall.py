"""The iptables rules that the CNI plugins made for one network, and their removal.

The bridge plugin (masquerade) and the portmap plugin keep everything in the `nat` table: rules whose comment
names the network, each jumping to a chain of the pod's own. Portmap's three entry chains (`CNI-HOSTPORT-…`)
are shared by all networks of a machine and stay until `remove_entry_chains`.
"""

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Sequence

from critests.node.binaries import search_path

ENTRY_CHAINS = ("CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK")
_JUMP = re.compile(r" -j (CNI-[A-Za-z0-9-]+)")
_TARGET = re.compile(r"--to-destination \[?([0-9a-f.:]+?)\]?:\d+")
_ATTEMPTS = 5


def nat_rules(program: str = "iptables") -> list[str]:
    """Return the lines of the `nat` table as the `-save` form of `iptables` or `ip6tables` prints them; empty
    without the program.
    """
    save = shutil.which(f"{program}-save", path=search_path())
    if save is None:
        return []
    answer = subprocess.run([save, "-t", "nat"], capture_output=True, text=True, timeout=15, check=False)
    return answer.stdout.splitlines() if answer.returncode == 0 else []


def removal_of(lines: Sequence[str], network: str, subnets: Sequence[str]) -> list[str]:
    """Return the `iptables-restore` lines that remove what was made for one CNI network.

    Args:
        lines: the `nat` table, from `nat_rules`.
        network: the CNI network's name, as the plugins write it into comments.
        subnets: the network's subnets; a chain that forwards into one of them is the network's also where its
            comment is lost.
    """
    named = re.compile(rf'name: \\?"{re.escape(network)}\\?"')
    rules = [line for line in lines if line.startswith("-A ")]
    ours = [rule for rule in rules if named.search(rule)]
    chains = {chain for rule in ours for chain in (*_JUMP.findall(rule), rule.split()[1])}
    chains |= {rule.split()[1] for rule in rules if _forwards_into(rule, subnets)}
    chains = {chain for chain in chains if chain.startswith("CNI-") and chain not in ENTRY_CHAINS}
    jumps = [
        rule
        for rule in rules
        if rule.split()[1] not in chains and (rule in ours or chains.intersection(_JUMP.findall(rule)))
    ]
    declared = {line[1:].split()[0] for line in lines if line.startswith(":")}
    doomed = sorted(chains & declared)
    return [
        *(f"-D {rule[3:]}" for rule in jumps),
        *(f"-F {chain}" for chain in doomed),
        *(f"-X {chain}" for chain in doomed),
    ]


def removal_of_entry_chains(lines: Sequence[str]) -> list[str]:
    """Return the `iptables-restore` lines that remove portmap's entry chains; none while any host port is
    still mapped.
    """
    rules = [line for line in lines if line.startswith("-A ")]
    if any(rule.startswith("-A CNI-HOSTPORT-DNAT ") for rule in rules):
        return []
    doomed = [chain for chain in ENTRY_CHAINS if any(line.startswith(f":{chain} ") for line in lines)]
    jumps = [
        rule
        for rule in rules
        if rule.split()[1] not in doomed and set(doomed).intersection(_JUMP.findall(rule))
    ]
    return [
        *(f"-D {rule[3:]}" for rule in jumps),
        *(f"-F {chain}" for chain in doomed),
        *(f"-X {chain}" for chain in doomed),
    ]


def remove_network(network: str, subnets: Sequence[str]) -> list[str]:
    """Remove what was made for one CNI network; return what could not be removed, described."""
    stayed = []
    for program in ("iptables", "ip6tables"):
        for _ in range(_ATTEMPTS):
            commands = removal_of(nat_rules(program), network, subnets)
            if not commands or _restore(program, commands):
                break
        else:
            stayed.append(f"{program} rules of network {network}")
    return stayed


def remove_entry_chains() -> None:
    """Remove portmap's entry chains where no host port is mapped any more."""
    for program in ("iptables", "ip6tables"):
        commands = removal_of_entry_chains(nat_rules(program))
        if commands:
            _restore(program, commands)


def has_entry_chains() -> bool:
    """Tell whether portmap has been at work on this machine."""
    return any(
        line.startswith(":CNI-HOSTPORT-")
        for program in ("iptables", "ip6tables")
        for line in nat_rules(program)
    )


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


def _forwards_into(rule: str, subnets: Sequence[str]) -> bool:
    target = _TARGET.search(rule)
    if target is None:
        return False
    try:
        address = ipaddress.ip_address(target.group(1))
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(subnet) for subnet in subnets)
