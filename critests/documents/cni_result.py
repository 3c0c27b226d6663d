"""The result that a CNI plugin prints after ADD, and the error that it prints when it fails.

Source: the CNI specification, "Result types" (5), and "Result" in its versions before 1.0.0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, Odd
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


def _accepted(name: str, value: object) -> Odd:
    return Odd(name, value, Expected.ACCEPTED)


_EVERY_VERSION = (
    Field(
        ("cniVersion",),
        FieldType.TEXT,
        Odd("is of the future", "99.0.0"),
        Odd("is of the past", "0.2.0"),
        Odd("is a fraction of a version", "1"),
        Odd("begins with a letter", "v1.0.0"),
        Odd("is a pre-release", "1.0.0-rc.1"),
        Odd("has negative parts", "-1.-1.-1"),
        Odd("has parts that are too large", "1.0.99999999999999999999"),
        required=True,
    ),
    Field(("interfaces",), FieldType.LIST, required=True),
    Field(("interfaces", 1), FieldType.OBJECT, required=True),
    Field(
        ("interfaces", 1, "name"),
        FieldType.TEXT,
        Odd("is another one than requested", "net1"),
        Odd("is the name of the loopback interface", "lo"),
        Odd("is longer than the kernel allows", "e" * 16),
        Odd("is two dots", ".."),
        required=True,
    ),
    Field(
        ("interfaces", 1, "mac"),
        FieldType.TEXT,
        _accepted("is in upper case", "0A:58:C0:00:02:07"),
        Odd("is of InfiniBand", ":".join(["0a"] * 20)),
        Odd("has an octet too few", "0a:58:c0:00:02"),
        required=True,
    ),
    Field(("interfaces", 1, "sandbox"), FieldType.PATH, required=True),
    Field(("ips",), FieldType.LIST, required=True),
    Field(("ips", 0), FieldType.OBJECT, required=True),
    Field(
        ("ips", 0, "address"),
        FieldType.TEXT,
        Odd("has no prefix", ADDRESS),
        _accepted("has the longest prefix", f"{ADDRESS}/32"),
        Odd("has the shortest prefix", f"{ADDRESS}/0"),
        Odd("has a prefix beyond the longest", f"{ADDRESS}/33"),
        Odd("has a negative prefix", f"{ADDRESS}/-1"),
        Odd("has leading zeros", "192.000.002.007/24"),
        Odd("has an octet too many", "192.0.2.7.7/24"),
        Odd("is of the other family", "2001:db8::7/64"),
        Odd("is of IPv4 in IPv6", f"::ffff:{ADDRESS}/120"),
        Odd("has a zone", "fe80::1%eth0/64"),
        Odd("is unspecified", "0.0.0.0/0"),
        Odd("is the loopback address", "127.0.0.1/8"),
        Odd("is for multicast", "224.0.0.1/4"),
        Odd("is a host's name", "localhost/8"),
        required=True,
    ),
    # a subnet may lack it
    Field(
        ("ips", 0, "gateway"),
        FieldType.TEXT,
        Odd("has a prefix", "192.0.2.1/24"),
        Odd("is of the other family", "2001:db8::1"),
        Odd("is of another subnet", "198.51.100.1"),
        Odd("is the address itself", ADDRESS),
    ),
    Field(
        ("ips", 0, "interface"),
        FieldType.INTEGER,
        Odd("is the number of interfaces", 2),
        Odd("is the number of interfaces plus 1", 3),
        Odd("is the most of 32 bits", (1 << 31) - 1),
        Odd("is the least of 64 bits", -(1 << 63)),
        required=True,
    ),
    Field(("routes",), FieldType.LIST),
    Field(("routes", 0), FieldType.OBJECT),
    Field(
        ("routes", 0, "dst"),
        FieldType.TEXT,
        Odd("has no prefix", "203.0.113.1"),
        _accepted("is a single address", "203.0.113.1/32"),
        Odd("has bits below its prefix", "203.0.113.1/24"),
        Odd("is of the other family", "2001:db8::/32"),
        required=True,
    ),
    # may be unset
    Field(
        ("routes", 0, "gw"),
        FieldType.TEXT,
        Odd("is of the other family", "2001:db8::1"),
        Odd("has a prefix", "192.0.2.1/24"),
    ),
    Field(("dns",), FieldType.OBJECT),
    Field(
        ("dns", "nameservers"),
        FieldType.LIST,
        _accepted("has both families", ["192.0.2.53", "2001:db8::53"]),
        Odd("has names", ["dns"]),
    ),
    Field(("dns", "domain"), FieldType.TEXT),
    Field(("dns", "search"), FieldType.LIST),
    Field(("dns", "options"), FieldType.LIST),
)
_ADDED_IN_1_1 = (
    # these three "if applicable"
    Field(("interfaces", 1, "mtu"), FieldType.INTEGER, Odd("is the most of 32 bits", (1 << 32) - 1)),
    Field(("interfaces", 1, "socketPath"), FieldType.PATH),
    Field(("interfaces", 1, "pciID"), FieldType.TEXT),
    *(
        # optional
        Field(("routes", 0, name), FieldType.INTEGER, Odd("is the most of 32 bits", (1 << 32) - 1))
        for name in ("mtu", "advmss", "priority", "table", "scope")
    ),
)
_BEFORE_1_0 = (
    # of 0.4.0
    Field(
        ("ips", 0, "version"),
        FieldType.TEXT,
        Odd("is the other family", "6"),
        Odd("is no family", "5"),
        required=True,
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
    Field(("cniVersion",), FieldType.TEXT, required=True),
    Field(
        ("code",),
        FieldType.INTEGER,
        *(Odd(f"is {code}", code) for code in (1, 2, 3, 4, 5, 6, 7, 11, 50, 51, 99, 999)),
        required=True,
    ),
    Field(("msg",), FieldType.TEXT, required=True),
    Field(("details",), FieldType.TEXT),
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
    Field(("cniVersion",), FieldType.TEXT, Odd("is of the future", "99.0.0"), required=True),
    Field(
        ("supportedVersions",),
        FieldType.LIST,
        Odd("has versions of the past alone", ["0.1.0", "0.2.0"]),
        Odd("has versions of the future alone", ["98.0.0", "99.0.0"]),
        _accepted("has versions of the future, too", [*VERSIONS, "99.0.0"]),
        Odd("has no versions in it", ["one", "1", "1.0", "v1.0.0", "-1.0.0"]),
        Odd("has numbers in it", [1, 1.1, None, {}]),
        required=True,
    ),
)


def versions(version: str) -> dict[str, Any]:
    """Return a valid response to VERSION."""
    return {"cniVersion": version, "supportedVersions": list(VERSIONS)}


def versions_variants(version: str) -> Iterator[Variant]:
    """Yield the variants of the response to VERSION."""
    yield from variants(versions(version), _VERSION_FIELDS)
