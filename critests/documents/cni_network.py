"""The network configuration list that a runtime reads from its directory of CNI configurations.

Source: the CNI specification, "Network configuration format" (1).
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, OddValue
from critests.documents.variants import Variant, variants

MARKER = "org.critests.marker"
"""A key of the plugin's configuration with a value that names the document, so that the plugin can show which
configuration it got.
"""
_SECTION = "CNI specification, Network configuration format"


def network_list(version: str, plugin: str, name: str = "critests-documents") -> dict[str, Any]:
    """Return a valid configuration of one plugin.

    Args:
        version: of the specification.
        plugin: the file name of the plugin.
        name: of the network.
    """
    return {
        "cniVersion": version,
        "name": name,
        "disableCheck": False,
        "plugins": [
            {
                "type": plugin,
                "capabilities": {"portMappings": True},
                "ipMasq": False,
                "ipam": {"type": "host-local", "subnet": "192.0.2.0/24"},
                "dns": {"nameservers": ["192.0.2.53"]},
                "args": {"labels": {"a": "b"}},
                MARKER: "valid",
            }
        ],
    }


def _odd(name: str, value: object, expected: Expected = Expected.EITHER) -> OddValue:
    return OddValue(name=name, value=value, expected=expected)


def _fields(plugin: str) -> tuple[Field, ...]:
    configured = network_list("1.0.0", plugin)["plugins"][0]
    return (
        Field(
            path=("cniVersion",),
            type=FieldType.TEXT,
            required=True,
            odd=(
                _odd("is of the future", "99.0.0"),
                _odd("is of the past", "0.1.0"),
                _odd("is a fraction of a version", "1"),
                _odd("begins with a letter", "v1.0.0"),
                _odd("has negative parts", "-1.-1.-1"),
                _odd("has parts that are too large", "1.0.99999999999999999999"),
            ),
            source=f"{_SECTION}: cniVersion",
        ),
        Field(
            path=("cniVersions",),
            type=FieldType.LIST,
            odd=(
                _odd("has the version alone", ["1.0.0"], Expected.ACCEPTED),
                _odd("has versions of the future, too", ["0.4.0", "1.0.0", "99.0.0"]),
                _odd("has versions of the future alone", ["99.0.0"]),
                _odd("has no versions in it", ["one", "1"]),
                _odd("has numbers in it", [1, None]),
            ),
            source=f"{_SECTION}: cniVersions, of 1.1.0",
        ),
        Field(
            path=("name",),
            type=FieldType.PATH,
            required=True,
            odd=(
                _odd("has the characters that are allowed", "a.b-c_D9", Expected.ACCEPTED),
                _odd("has 64 letters", "n" * 64, Expected.ACCEPTED),
                _odd("has 300 letters", "n" * 300),
                _odd("begins with a dash", "-critests"),
                _odd("begins with a dot", ".critests"),
                _odd("is two dots", ".."),
                _odd("has a slash", "a/b"),
                _odd("has spaces", "a b"),
                _odd("has letters beyond ASCII", "nätwork"),
            ),
            source=f"{_SECTION}: name",
        ),
        *(
            Field(
                path=(name,),
                type=FieldType.BOOLEAN,
                odd=(
                    _odd("is true", True, expected),
                    _odd("is a text in upper case", "TRUE"),
                    _odd("is neither", "maybe"),
                    _odd("is an empty text", ""),
                ),
                source=f"{_SECTION}: {name}",
            )
            for name, expected in (
                ("disableCheck", Expected.ACCEPTED),
                ("disableGC", Expected.EITHER),
                ("loadOnlyInlinedPlugins", Expected.EITHER),
            )
        ),
        Field(
            path=("plugins",),
            type=FieldType.LIST,
            required=True,
            odd=(_odd("has a plugin without a type", [{}]), _odd("has a text in it", ["bridge"])),
            source=f"{_SECTION}: plugins",
        ),
        Field(
            path=("plugins", 0),
            type=FieldType.OBJECT,
            required=True,
            odd=(
                _odd("has a name and a version", {**configured, "name": "x", "cniVersion": "0.1.0"}),
                _odd("has a field of its own", {**configured, "ours": [1, {"x": None}]}, Expected.ACCEPTED),
                _odd("has a reserved key", {**configured, "cni.dev/valid-attachments": [{"containerID": 7}]}),
                _odd("has a previous result", {**configured, "prevResult": {"ips": 7}}),
                _odd("has a runtime configuration", {**configured, "runtimeConfig": {"portMappings": 7}}),
            ),
            source=f"{_SECTION}: Plugin configuration objects",
        ),
        Field(
            path=("plugins", 0, "type"),
            type=FieldType.PATH,
            required=True,
            odd=(
                _odd("is a plugin that is not installed", "critests-absent"),
                _odd("is a dot", "."),
                _odd("is an absolute path", "/bin/true"),
                _odd("leads upwards and back", f"../bin/{plugin}"),
            ),
            source=f"{_SECTION}: type",
        ),
        Field(
            path=("plugins", 0, "capabilities"),
            type=FieldType.OBJECT,
            odd=(
                _odd("has one that is off", {"portMappings": False}, Expected.ACCEPTED),
                _odd("has an unknown one", {"org.critests.unknown": True}, Expected.ACCEPTED),
                _odd("has a text as a value", {"portMappings": "true"}),
                _odd("has null as a value", {"portMappings": None}),
            ),
            source=f"{_SECTION}: capabilities",
        ),
        Field(path=("plugins", 0, "ipMasq"), type=FieldType.BOOLEAN, source=f"{_SECTION}: ipMasq"),
        Field(path=("plugins", 0, "ipam"), type=FieldType.OBJECT, source=f"{_SECTION}: ipam"),
        Field(
            path=("plugins", 0, "ipam", "type"),
            type=FieldType.PATH,
            required=True,
            source=f"{_SECTION}: ipam, type",
        ),
        Field(path=("plugins", 0, "dns"), type=FieldType.OBJECT, source=f"{_SECTION}: dns"),
        Field(
            path=("plugins", 0, "dns", "nameservers"),
            type=FieldType.LIST,
            source=f"{_SECTION}: dns, nameservers",
        ),
        Field(path=("plugins", 0, "args"), type=FieldType.OBJECT, source=f"{_SECTION}: args"),
    )


def network_variants(version: str, plugin: str) -> Iterator[Variant]:
    """Yield the variants of a network configuration list; arguments as for `network_list`."""
    yield from variants(network_list(version, plugin), _fields(plugin))
