"""The network configuration list that a runtime reads from its directory of CNI configurations.

Source: the CNI specification, "Network configuration format" (1).
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, Odd
from critests.documents.variants import Variant, variants

MARKER = "org.critests.marker"
"""A key of the plugin's configuration with a value that names the document, so that the plugin can show which
configuration it got.
"""


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


def _fields(plugin: str) -> tuple[Field, ...]:
    configured = network_list("1.0.0", plugin)["plugins"][0]
    return (
        Field(
            ("cniVersion",),
            FieldType.TEXT,
            Odd("is of the future", "99.0.0"),
            Odd("is of the past", "0.1.0"),
            Odd("is a fraction of a version", "1"),
            Odd("begins with a letter", "v1.0.0"),
            Odd("has negative parts", "-1.-1.-1"),
            Odd("has parts that are too large", "1.0.99999999999999999999"),
            required=True,
        ),
        # of 1.1.0
        Field(
            ("cniVersions",),
            FieldType.LIST,
            Odd("has the version alone", ["1.0.0"], Expected.ACCEPTED),
            Odd("has versions of the future, too", ["0.4.0", "1.0.0", "99.0.0"]),
            Odd("has versions of the future alone", ["99.0.0"]),
            Odd("has no versions in it", ["one", "1"]),
            Odd("has numbers in it", [1, None]),
        ),
        Field(
            ("name",),
            FieldType.PATH,
            Odd("has the characters that are allowed", "a.b-c_D9", Expected.ACCEPTED),
            Odd("has 64 letters", "n" * 64, Expected.ACCEPTED),
            Odd("has 300 letters", "n" * 300),
            Odd("begins with a dash", "-critests"),
            Odd("begins with a dot", ".critests"),
            Odd("is two dots", ".."),
            Odd("has a slash", "a/b"),
            Odd("has spaces", "a b"),
            Odd("has letters beyond ASCII", "nätwork"),
            required=True,
        ),
        *(
            Field(
                (name,),
                FieldType.BOOLEAN,
                Odd("is true", True, expected),
                Odd("is a text in upper case", "TRUE"),
                Odd("is neither", "maybe"),
                Odd("is an empty text", ""),
            )
            for name, expected in (
                ("disableCheck", Expected.ACCEPTED),
                ("disableGC", Expected.EITHER),
                ("loadOnlyInlinedPlugins", Expected.EITHER),
            )
        ),
        Field(
            ("plugins",),
            FieldType.LIST,
            Odd("has a plugin without a type", [{}]),
            Odd("has a text in it", ["bridge"]),
            required=True,
        ),
        Field(
            ("plugins", 0),
            FieldType.OBJECT,
            Odd("has a name and a version", {**configured, "name": "x", "cniVersion": "0.1.0"}),
            Odd("has a field of its own", {**configured, "ours": [1, {"x": None}]}, Expected.ACCEPTED),
            Odd("has a reserved key", {**configured, "cni.dev/valid-attachments": [{"containerID": 7}]}),
            Odd("has a previous result", {**configured, "prevResult": {"ips": 7}}),
            Odd("has a runtime configuration", {**configured, "runtimeConfig": {"portMappings": 7}}),
            required=True,
        ),
        Field(
            ("plugins", 0, "type"),
            FieldType.PATH,
            Odd("is a plugin that is not installed", "critests-absent"),
            Odd("is a dot", "."),
            Odd("is an absolute path", "/bin/true"),
            Odd("leads upwards and back", f"../bin/{plugin}"),
            required=True,
        ),
        Field(
            ("plugins", 0, "capabilities"),
            FieldType.OBJECT,
            Odd("has one that is off", {"portMappings": False}, Expected.ACCEPTED),
            Odd("has an unknown one", {"org.critests.unknown": True}, Expected.ACCEPTED),
            Odd("has a text as a value", {"portMappings": "true"}),
            Odd("has null as a value", {"portMappings": None}),
        ),
        Field(("plugins", 0, "ipMasq"), FieldType.BOOLEAN),
        Field(("plugins", 0, "ipam"), FieldType.OBJECT),
        Field(("plugins", 0, "ipam", "type"), FieldType.PATH, required=True),
        Field(("plugins", 0, "dns"), FieldType.OBJECT),
        Field(("plugins", 0, "dns", "nameservers"), FieldType.LIST),
        Field(("plugins", 0, "args"), FieldType.OBJECT),
    )


def network_variants(version: str, plugin: str) -> Iterator[Variant]:
    """Yield the variants of a network configuration list; arguments as for `network_list`."""
    yield from variants(network_list(version, plugin), _fields(plugin))
