from pathlib import Path

import pytest

from critests.node.network.network_facts import dropping, mac_address_policy

DEFAULT = "# the default of systemd\n[Match]\nOriginalName=*\n\n[Link]\nMACAddressPolicy=persistent\n"
FOR_A_DRIVER = "[Match]\nDriver=e1000\n[Link]\nMACAddressPolicy=random\n"
FOR_VETH = "[Match]\nDriver=bridge veth\n[Link]\nMACAddressPolicy=none\n"


@pytest.mark.parametrize(
    ("files", "policy"),
    [
        ({"usr/99-default.link": DEFAULT}, "persistent"),
        ({"usr/99-default.link": DEFAULT, "usr/10-card.link": FOR_A_DRIVER}, "persistent"),
        ({"usr/99-default.link": DEFAULT, "run/10-veth.link": FOR_VETH}, "none"),
        ({"usr/99-default.link": DEFAULT, "run/99-default.link": "[Match]\nOriginalName=*\n"}, "none"),
        (
            {"usr/99-default.link": DEFAULT, "run/10-without.link": "[Link]\nMACAddressPolicy=none\n"},
            "persistent",
        ),
        ({}, "none"),
    ],
    ids=["default", "for another driver", "for veth", "overridden", "without a match", "none"],
)
def test_mac_address_policy_is_that_of_the_first_matching_file(
    files: dict[str, str], policy: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert mac_address_policy((tmp_path / "run", tmp_path / "usr"), udev=tmp_path) == policy


def test_mac_address_policy_is_empty_without_udev(tmp_path: Path) -> None:
    (tmp_path / "99-default.link").write_text(DEFAULT, encoding="utf-8")

    assert mac_address_policy((tmp_path,), udev=tmp_path / "control") == ""


def test_dropping_lists_tables_that_drop_forwarded_packets() -> None:
    def chain(table: str, **more: str) -> dict[str, dict[str, str]]:
        return {"chain": {"family": "inet", "table": table, "name": "x", **more}}

    chains = [
        chain("filter", hook="forward", policy="drop"),
        chain("ours", hook="forward", policy="accept"),
        chain("guard", hook="input", policy="drop"),
        chain("plain"),
        chain("firewalld", hook="forward", policy="accept"),
    ]

    assert dropping({"nftables": [{"metainfo": {}}, *chains]}) == ["inet filter", "inet firewalld"]
