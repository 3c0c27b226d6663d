"""Settings of this machine that affect pod networks: udev's MAC address policy for new interfaces, and
firewalls that drop forwarded packets.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from critests.node.host.binaries import search_path

LINK_FOLDERS: Final = tuple(
    Path(folder) / "systemd/network" for folder in ("/etc", "/run", "/usr/local/lib", "/usr/lib")
)
"""Directories with systemd.link(5) files. A file overrides those of the same name in later directories."""
_UDEV: Final = Path("/run/udev/control")
_VETH: Final = {"OriginalName": "veth0", "Driver": "veth", "Kind": "veth", "Type": "ether"}
"""The properties of the host's end of a new veth pair that a link file can match."""


def mac_address_policy(folders: Iterable[Path] = LINK_FOLDERS, udev: Path = _UDEV) -> str:
    """Return udev's MACAddressPolicy for the host's end of a new veth pair (systemd.link(5)): `persistent`,
    `random` or `none`; empty without udev.

    With `persistent`, udev changes the address right after CNI ADD, and CHECK of the bridge plugin fails.
    """
    if not udev.exists():
        return ""
    files: dict[str, Path] = {}
    for folder in folders:
        for file in folder.glob("*.link"):
            files.setdefault(file.name, file)
    for name in sorted(files):
        sections = _sections(files[name])
        match = sections.get("Match", {})
        if match and all(_matches(key, patterns) for key, patterns in match.items()):
            return sections.get("Link", {}).get("MACAddressPolicy", "none")
    return "none"


def forwarding_dropped_by() -> list[str]:
    """Return the nftables tables, including those of iptables, whose policy drops forwarded packets, and
    firewalld's, which rejects them by zone; empty without nft.
    """
    program = shutil.which("nft", path=search_path())
    if program is None:
        return []
    answer = subprocess.run(
        [program, "--json", "list", "chains"], capture_output=True, text=True, timeout=15, check=False
    )
    return dropping(json.loads(answer.stdout)) if answer.returncode == 0 else []


def dropping(ruleset: Mapping[str, Any]) -> list[str]:
    """Return the tables that drop forwarded packets, as `family name`, from the output of `nft --json list
    chains`.
    """
    chains = [item["chain"] for item in ruleset.get("nftables", ()) if "chain" in item]
    return sorted(
        {
            f"{chain['family']} {chain['table']}"
            for chain in chains
            if chain.get("hook") == "forward"
            and (chain.get("policy") == "drop" or chain["table"] == "firewalld")
        }
    )


def _matches(key: str, patterns: str) -> bool:
    return any(fnmatchcase(_VETH.get(key, ""), pattern) for pattern in patterns.split())


def _sections(file: Path) -> dict[str, dict[str, str]]:
    """Return the keys of a systemd file by section; a repeated key has its last value."""
    sections: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for line in map(str.strip, file.read_text(encoding="utf-8", errors="replace").splitlines()):
        if line.startswith("["):
            values = sections.setdefault(line.strip("[]"), {})
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            values[key.strip()] = value.strip()
    return sections
