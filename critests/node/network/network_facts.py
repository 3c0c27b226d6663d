"""Who else has a hand in the network of this machine: what udev does to the addresses of new interfaces, and
which firewall drops what is forwarded.
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
"""Where systemd.link(5) files lie; of two with one name the earlier folder's counts."""
_UDEV: Final = Path("/run/udev/control")
_VETH: Final = {"OriginalName": "veth0", "Driver": "veth", "Kind": "veth", "Type": "ether"}
"""What a link file can match of the host's end of a new veth pair."""


def mac_address_policy(folders: Iterable[Path] = LINK_FOLDERS, udev: Path = _UDEV) -> str:
    """Return what udev does to the MAC address of the host's end of a new veth pair, as systemd.link(5) calls
    it: `persistent`, `random` or `none`; empty where no udev runs.

    With `persistent` it is another one right after CNI ADD, and the CHECK of the bridge plugin fails.
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
    """Return the nftables tables, those of iptables among them, that drop by default what this machine
    forwards, and firewalld's, which refuses it by its zones; empty without nft.
    """
    program = shutil.which("nft", path=search_path())
    if program is None:
        return []
    answer = subprocess.run(
        [program, "--json", "list", "chains"], capture_output=True, text=True, timeout=15, check=False
    )
    return dropping(json.loads(answer.stdout)) if answer.returncode == 0 else []


def dropping(ruleset: Mapping[str, Any]) -> list[str]:
    """Return the tables of what `nft --json list chains` prints that `forwarding_dropped_by` speaks of, each
    as `family name`.
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
    """Return the keys of a file of systemd's by section; of a key that comes again, the last value."""
    sections: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for line in map(str.strip, file.read_text(encoding="utf-8", errors="replace").splitlines()):
        if line.startswith("["):
            values = sections.setdefault(line.strip("[]"), {})
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            values[key.strip()] = value.strip()
    return sections
