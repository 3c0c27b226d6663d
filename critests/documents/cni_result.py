"""The result that a CNI plugin prints after ADD, and the error that it prints when it fails.

Source: the CNI specification, "Result types" (5), and "Result" in its versions before 1.0.0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, OddValue
from critests.documents.variants import Variant, variants

ADDRESS = "192.0.2.7"
"""The address of the pod in the valid result; RFC 5737 reserves it for documents."""
SANDBOX = "/var/run/netns/critests"
VERSIONS = ("0.3.1", "0.4.0", "1.0.0", "1.1.0")
"""Versions with a result of this form. 0.3.0 differs from 0.3.1 in a word of the text only."""

_RESULT: Mapping[str, Any] = {
    "cniVersion": "1.0.0",
    "interfaces": [
        {"name": "veth0", "mac": "0a:58:c0:00:02:01"},
        {"name": "eth0", "mac": "0a:58:c0:00:02:07", "sandbox": SANDBOX},
    ],
    "ips": [{"address": f"{ADDRESS}/24", "gateway": "192.0.2.1", "interface": 1}],
    "routes": [{"dst": "0.0.0.0/0", "gw": "192.0.2.1"}],
    "dns": {
        "nameservers": ["192.0.2.53"],
        "domain": "example.org",
        "search": ["example.org"],
        "options": ["ndots:5"],
    },
}
_SECTION = "CNI specification, ADD Success"


def result(version: str) -> dict[str, Any]:
    """Return a valid result of a version of the specification."""
    document = {**_RESULT, "cniVersion": version}
    if version.startswith("0."):
        document["ips"] = [{"version": "4", **_RESULT["ips"][0]}]
    if version == "1.1.0":
        document["interfaces"] = [
            {**_RESULT["interfaces"][0], "mtu": 1500},
            {**_RESULT["interfaces"][1], "mtu": 1500, "socketPath": "/run/vhost", "pciID": "0000:00:01.0"},
        ]
        document["routes"] = [
            {**_RESULT["routes"][0], "mtu": 1400, "advmss": 1360, "priority": 1, "table": 254, "scope": 0}
        ]
    return document


def _accepted(name: str, value: object) -> OddValue:
    return OddValue(name=name, value=value, expected=Expected.ACCEPTED)


def _open(name: str, value: object) -> OddValue:
    return OddValue(name=name, value=value, expected=Expected.EITHER)


_EVERY_VERSION = (
    Field(
        path=("cniVersion",),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _open("is of the future", "99.0.0"),
            _open("is of the past", "0.2.0"),
            _open("is a fraction of a version", "1"),
            _open("begins with a letter", "v1.0.0"),
            _open("is a pre-release", "1.0.0-rc.1"),
            _open("has negative parts", "-1.-1.-1"),
            _open("has parts that are too large", "1.0.99999999999999999999"),
        ),
        source=f"{_SECTION}: cniVersion",
    ),
    Field(path=("interfaces",), type=FieldType.LIST, required=True, source=f"{_SECTION}: interfaces"),
    Field(path=("interfaces", 1), type=FieldType.OBJECT, required=True, source=f"{_SECTION}: interfaces"),
    Field(
        path=("interfaces", 1, "name"),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _open("is another one than requested", "net1"),
            _open("is the name of the loopback interface", "lo"),
            _open("is longer than the kernel allows", "e" * 16),
            _open("is two dots", ".."),
        ),
        source=f"{_SECTION}: interfaces, name",
    ),
    Field(
        path=("interfaces", 1, "mac"),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _accepted("is in upper case", "0A:58:C0:00:02:07"),
            _open("is of InfiniBand", ":".join(["0a"] * 20)),
            _open("has an octet too few", "0a:58:c0:00:02"),
        ),
        source=f"{_SECTION}: interfaces, mac",
    ),
    Field(
        path=("interfaces", 1, "sandbox"),
        type=FieldType.PATH,
        required=True,
        source=f"{_SECTION}: interfaces, sandbox",
    ),
    Field(path=("ips",), type=FieldType.LIST, required=True, source=f"{_SECTION}: ips"),
    Field(path=("ips", 0), type=FieldType.OBJECT, required=True, source=f"{_SECTION}: ips"),
    Field(
        path=("ips", 0, "address"),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _open("has no prefix", ADDRESS),
            _accepted("has the longest prefix", f"{ADDRESS}/32"),
            _open("has the shortest prefix", f"{ADDRESS}/0"),
            _open("has a prefix beyond the longest", f"{ADDRESS}/33"),
            _open("has a negative prefix", f"{ADDRESS}/-1"),
            _open("has leading zeros", "192.000.002.007/24"),
            _open("has an octet too many", "192.0.2.7.7/24"),
            _open("is of the other family", "2001:db8::7/64"),
            _open("is of IPv4 in IPv6", f"::ffff:{ADDRESS}/120"),
            _open("has a zone", "fe80::1%eth0/64"),
            _open("is unspecified", "0.0.0.0/0"),
            _open("is the loopback address", "127.0.0.1/8"),
            _open("is for multicast", "224.0.0.1/4"),
            _open("is a host's name", "localhost/8"),
        ),
        source=f"{_SECTION}: ips, address",
    ),
    Field(
        path=("ips", 0, "gateway"),
        type=FieldType.TEXT,
        odd=(
            _open("has a prefix", "192.0.2.1/24"),
            _open("is of the other family", "2001:db8::1"),
            _open("is of another subnet", "198.51.100.1"),
            _open("is the address itself", ADDRESS),
        ),
        source=f"{_SECTION}: ips, gateway, which a subnet may lack",
    ),
    Field(
        path=("ips", 0, "interface"),
        type=FieldType.INTEGER,
        required=True,
        odd=(
            _open("is the number of interfaces", 2),
            _open("is the number of interfaces plus 1", 3),
            _open("is the most of 32 bits", (1 << 31) - 1),
            _open("is the least of 64 bits", -(1 << 63)),
        ),
        source=f"{_SECTION}: ips, interface",
    ),
    Field(path=("routes",), type=FieldType.LIST, source=f"{_SECTION}: routes"),
    Field(path=("routes", 0), type=FieldType.OBJECT, source=f"{_SECTION}: routes"),
    Field(
        path=("routes", 0, "dst"),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _open("has no prefix", "203.0.113.1"),
            _accepted("is a single address", "203.0.113.1/32"),
            _open("has bits below its prefix", "203.0.113.1/24"),
            _open("is of the other family", "2001:db8::/32"),
        ),
        source=f"{_SECTION}: routes, dst",
    ),
    Field(
        path=("routes", 0, "gw"),
        type=FieldType.TEXT,
        odd=(_open("is of the other family", "2001:db8::1"), _open("has a prefix", "192.0.2.1/24")),
        source=f"{_SECTION}: routes, gw, which may be unset",
    ),
    Field(path=("dns",), type=FieldType.OBJECT, source=f"{_SECTION}: dns"),
    Field(
        path=("dns", "nameservers"),
        type=FieldType.LIST,
        odd=(_accepted("has both families", ["192.0.2.53", "2001:db8::53"]), _open("has names", ["dns"])),
        source=f"{_SECTION}: dns, nameservers",
    ),
    Field(path=("dns", "domain"), type=FieldType.TEXT, source=f"{_SECTION}: dns, domain"),
    Field(path=("dns", "search"), type=FieldType.LIST, source=f"{_SECTION}: dns, search"),
    Field(path=("dns", "options"), type=FieldType.LIST, source=f"{_SECTION}: dns, options"),
)
_ADDED_IN_1_1 = (
    Field(
        path=("interfaces", 1, "mtu"),
        type=FieldType.INTEGER,
        odd=(_open("is the most of 32 bits", (1 << 32) - 1),),
        source=f"{_SECTION}: interfaces, mtu, if applicable",
    ),
    Field(
        path=("interfaces", 1, "socketPath"),
        type=FieldType.PATH,
        source=f"{_SECTION}: interfaces, socketPath, if applicable",
    ),
    Field(
        path=("interfaces", 1, "pciID"),
        type=FieldType.TEXT,
        source=f"{_SECTION}: interfaces, pciID, if applicable",
    ),
    *(
        Field(
            path=("routes", 0, name),
            type=FieldType.INTEGER,
            odd=(_open("is the most of 32 bits", (1 << 32) - 1),),
            source=f"{_SECTION}: routes, {name}, which is optional",
        )
        for name in ("mtu", "advmss", "priority", "table", "scope")
    ),
)
_BEFORE_1_0 = (
    Field(
        path=("ips", 0, "version"),
        type=FieldType.TEXT,
        required=True,
        odd=(_open("is the other family", "6"), _open("is no family", "5")),
        source="CNI specification 0.4.0, IPs: version",
    ),
)


def fields(version: str) -> tuple[Field, ...]:
    """Return the fields of the result of a version."""
    if version.startswith("0."):
        return _EVERY_VERSION + _BEFORE_1_0
    return _EVERY_VERSION + (_ADDED_IN_1_1 if version == "1.1.0" else ())


def result_variants(version: str) -> Iterator[Variant]:
    """Yield the variants of the result of a version."""
    yield from variants(result(version), fields(version))


_ERROR = {"cniVersion": "1.0.0", "code": 100, "msg": "no address is left", "details": "of 192.0.2.0/24"}
_ERROR_FIELDS = (
    Field(path=("cniVersion",), type=FieldType.TEXT, required=True, source="CNI specification, Error"),
    Field(
        path=("code",),
        type=FieldType.INTEGER,
        required=True,
        odd=tuple(_open(f"is {code}", code) for code in (1, 2, 3, 4, 5, 6, 7, 11, 50, 51, 99, 999)),
        source="CNI specification, Error",
    ),
    Field(path=("msg",), type=FieldType.TEXT, required=True, source="CNI specification, Error"),
    Field(path=("details",), type=FieldType.TEXT, source="CNI specification, Error"),
)


def error(version: str) -> dict[str, Any]:
    """Return a valid error of a version of the specification."""
    return {**_ERROR, "cniVersion": version}


def error_variants(version: str) -> Iterator[Variant]:
    """Yield the variants of the error that a plugin prints. It exits with a code other than 0, so that the
    operation has failed whatever it prints.
    """
    for variant in variants(error(version), _ERROR_FIELDS):
        yield replace(variant, expected=Expected.REFUSED)


_VERSION_FIELDS = (
    Field(
        path=("cniVersion",),
        type=FieldType.TEXT,
        required=True,
        odd=(_open("is of the future", "99.0.0"),),
        source="CNI specification, VERSION",
    ),
    Field(
        path=("supportedVersions",),
        type=FieldType.LIST,
        required=True,
        odd=(
            _open("has versions of the past alone", ["0.1.0", "0.2.0"]),
            _open("has versions of the future alone", ["98.0.0", "99.0.0"]),
            _accepted("has versions of the future, too", [*VERSIONS, "99.0.0"]),
            _open("has no versions in it", ["one", "1", "1.0", "v1.0.0", "-1.0.0"]),
            _open("has numbers in it", [1, 1.1, None, {}]),
        ),
        source="CNI specification, VERSION",
    ),
)


def versions(version: str) -> dict[str, Any]:
    """Return a valid response to VERSION."""
    return {"cniVersion": version, "supportedVersions": list(VERSIONS)}


def versions_variants(version: str) -> Iterator[Variant]:
    """Yield the variants of the response to VERSION."""
    yield from variants(versions(version), _VERSION_FIELDS)
