"""The file that describes devices of the Container Device Interface (CDI).

Source: the CDI specification, 1.0.0, "CDI JSON Specification".
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Odd
from critests.documents.variants import Variant, variants

DEVICE = "one"
"""The name of the device."""
VARIABLE = "CRITESTS_CDI=1"
"""The environment variable that the device sets."""


def specification(kind: str, file: str, folder: str) -> dict[str, Any]:
    """Return a valid specification of one device.

    Args:
        kind: of the device: `VENDOR/CLASS`.
        file: a device node of the machine.
        folder: a directory of the machine.
    """
    return {
        "cdiVersion": "0.7.0",
        "kind": kind,
        "annotations": {"example.com/a": "b"},
        "devices": [
            {
                "name": DEVICE,
                "annotations": {"example.com/a": "b"},
                "containerEdits": {
                    "env": [VARIABLE],
                    "deviceNodes": [
                        {
                            "path": "/dev/critests",
                            "hostPath": file,
                            "type": "c",
                            "major": 1,
                            "minor": 3,
                            "fileMode": 0o600,
                            "permissions": "rw",
                            "uid": 0,
                            "gid": 0,
                        }
                    ],
                    "mounts": [
                        {
                            "hostPath": folder,
                            "containerPath": "/critests",
                            "type": "none",
                            "options": ["ro", "rbind", "nosuid"],
                        }
                    ],
                    "hooks": [
                        {
                            "hookName": "createRuntime",
                            "path": "/bin/true",
                            "args": ["true"],
                            "env": ["A=b"],
                            "timeout": 5,
                        }
                    ],
                    "additionalGids": [4242],
                },
            }
        ],
        "containerEdits": {"env": ["CRITESTS_EVERY=1"]},
    }


_EDITS = ("devices", 0, "containerEdits")
_NODE = (*_EDITS, "deviceNodes", 0)
_MOUNT = (*_EDITS, "mounts", 0)
_HOOK = (*_EDITS, "hooks", 0)
_OTHER_NAME = Odd("is another name", "two", Expected.REFUSED)
"""A request for the device by its former name fails: section "Error Handling"."""
FIELDS = (
    Field(
        ("cdiVersion",),
        FieldType.TEXT,
        Odd("is older than some of the fields", "0.3.0"),
        Odd("is of the future", "99.0.0"),
        Odd("is of no release", "0.0.1"),
        Odd("begins with a letter", "v0.7.0"),
        Odd("is a pre-release", "0.7.0-rc.1"),
        Odd("is a part of a version", "0.7"),
        Odd("has parts that are too large", "0.99999999999999999999.0"),
        required=True,
    ),
    Field(
        ("kind",),
        FieldType.PATH,
        Odd("is another kind", "critests.example/other", Expected.REFUSED),
        Odd("has no class", "critests.example"),
        Odd("has an empty class", "critests.example/"),
        Odd("has an empty vendor", "/device"),
        Odd("has two slashes", "critests.example/a/b"),
        Odd("has a device in it", "critests.example/device=one"),
        required=True,
    ),
    Field(("annotations",), FieldType.MAP),
    Field(("devices",), FieldType.LIST, required=True),
    Field(("devices", 0), FieldType.OBJECT, required=True),
    Field(
        ("devices", 0, "name"),
        FieldType.PATH,
        _OTHER_NAME,
        Odd("begins with a dash", "-one"),
        Odd("ends with a dot", "one."),
        Odd("has a slash", "one/two"),
        Odd("has an equals sign", "one=two"),
        required=True,
    ),
    Field(("devices", 0, "annotations"), FieldType.MAP),
    Field(_EDITS, FieldType.OBJECT, required=True),
    Field(
        (*_EDITS, "env"),
        FieldType.LIST,
        Odd("has an empty value", ["CRITESTS_CDI="], Expected.ACCEPTED),
        Odd("has equals signs in a value", ["CRITESTS_CDI=a=b"], Expected.ACCEPTED),
        Odd("has no equals sign", ["CRITESTS_CDI"]),
        Odd("has an empty name", ["=1"]),
        Odd("has a NUL in it", ["CRITESTS_CDI=a\0b"]),
        Odd("has a line break in it", ["CRITESTS_CDI=a\nb"]),
        Odd("has a number in it", [7]),
        Odd("has a long value", ["CRITESTS_CDI=" + "x" * (1 << 18)]),
    ),
    Field((*_EDITS, "deviceNodes"), FieldType.LIST),
    Field(_NODE, FieldType.OBJECT),
    Field(
        (*_NODE, "path"),
        FieldType.PATH,
        Odd("is relative", "dev/critests"),
        Odd("is the root", "/"),
        Odd("is an existing device", "/dev/null"),
        Odd("is in a directory of the kernel", "/proc/critests"),
        required=True,
    ),
    Field(
        (*_NODE, "hostPath"),
        FieldType.PATH,
        Odd("is not there", "/dev/critests-absent"),
        Odd("is a directory", "/dev"),
        Odd("is a regular file", "/etc/hostname"),
    ),
    Field(
        (*_NODE, "type"),
        FieldType.TEXT,
        Odd("is another type", "b"),
        Odd("is a pipe", "p"),
        Odd("is a synonym", "u"),
        Odd("is no type", "x"),
    ),
    *(
        Field(
            (*_NODE, name),
            FieldType.INTEGER,
            Odd("is more than the kernel has", 1 << 20),
            Odd("is more than 32 bits hold", 1 << 32),
        )
        for name in ("major", "minor")
    ),
    Field(
        (*_NODE, "fileMode"),
        FieldType.INTEGER,
        Odd("has every bit of a mode", 0o7777),
        Odd("is the mode of a directory", 0o040755),
        Odd("is of 32 bits", (1 << 32) - 1),
    ),
    Field(
        (*_NODE, "permissions"),
        FieldType.TEXT,
        Odd("has all", "rwm", Expected.ACCEPTED),
        Odd("has one", "r", Expected.ACCEPTED),
        Odd("has one twice", "rr"),
        Odd("has an unknown one", "rwx"),
        Odd("is in upper case", "RW"),
    ),
    *(
        Field(
            (*_NODE, name),
            FieldType.INTEGER,
            Odd("is of 31 bits", (1 << 31) - 1, Expected.ACCEPTED),
            Odd("means no one to the kernel", (1 << 32) - 1),
            Odd("is more than 32 bits hold", 1 << 32),
            least=0,
        )
        for name in ("uid", "gid")
    ),
    Field((*_EDITS, "mounts"), FieldType.LIST),
    Field(_MOUNT, FieldType.OBJECT),
    Field(
        (*_MOUNT, "hostPath"),
        FieldType.PATH,
        Odd("is not there", "/critests-absent"),
        Odd("is relative", "critests"),
        required=True,
    ),
    Field(
        (*_MOUNT, "containerPath"),
        FieldType.PATH,
        Odd("is relative", "critests"),
        Odd("is the root", "/"),
        Odd("is in a directory of the kernel", "/proc/critests"),
        Odd("is in the directory of devices", "/dev/critests/below", Expected.ACCEPTED),
        required=True,
    ),
    Field(
        (*_MOUNT, "type"),
        FieldType.TEXT,
        Odd("is a bind mount", "bind", Expected.ACCEPTED),
        Odd("is no file system", "critests"),
    ),
    # optional, but by the OCI a mount of the type `none` without the option `bind` is no bind mount
    Field(
        (*_MOUNT, "options"),
        FieldType.LIST,
        Odd("has an unknown option", ["bind", "critests-unknown"]),
        Odd("has two that contradict", ["bind", "ro", "rw"]),
        Odd("has a comma in one", ["bind,ro"]),
        Odd("has two propagations", ["rbind", "rshared", "rprivate"]),
        required=True,
    ),
    Field((*_EDITS, "hooks"), FieldType.LIST),
    Field(_HOOK, FieldType.OBJECT),
    Field(
        (*_HOOK, "hookName"),
        FieldType.TEXT,
        *(
            Odd(f"is {name}", name, Expected.ACCEPTED)
            for name in ("createContainer", "startContainer", "poststart", "poststop")
        ),
        Odd("is a deprecated hook of OCI", "prestart"),
        Odd("is in upper case", "CREATERUNTIME"),
        Odd("is no hook", "critests"),
        required=True,
    ),
    Field(
        (*_HOOK, "path"),
        FieldType.PATH,
        Odd("is relative", "true"),
        Odd("is not there", "/bin/critests-absent"),
        Odd("is a directory", "/"),
        Odd("is not executable", "/etc/hostname"),
        Odd("fails", "/bin/false"),
        required=True,
    ),
    Field((*_HOOK, "args"), FieldType.LIST),
    Field(
        (*_HOOK, "env"),
        FieldType.LIST,
        Odd("has no equals sign", ["A"]),
        Odd("has a NUL in it", ["A=\0"]),
    ),
    Field((*_HOOK, "timeout"), FieldType.INTEGER),
    # of 0.7.0
    Field(
        (*_EDITS, "intelRdt"),
        FieldType.OBJECT,
        Odd("has a class that leads upwards", {"closID": f"../../{ESCAPE}"}),
        Odd("has a class of a line break", {"closID": "a\nb"}),
        Odd("has a schema of nonsense", {"closID": "critests", "l3CacheSchema": "x", "memBwSchema": 7}),
        Odd("has texts for booleans", {"enableCMT": "yes", "enableMBM": 1}),
    ),
    # of 0.7.0
    Field(
        (*_EDITS, "additionalGids"),
        FieldType.LIST,
        Odd("has the group of root", [0]),
        Odd("has the largest group", [(1 << 31) - 1], Expected.ACCEPTED),
        Odd("has a number that means no group", [(1 << 32) - 1]),
        Odd("has a negative group", [-1]),
        Odd("has a name", ["root"]),
        Odd("has a fraction", [1.5]),
    ),
    # of 1.1.0
    Field(
        (*_EDITS, "netDevices"),
        FieldType.LIST,
        Odd("has an interface that is not there", [{"hostInterfaceName": "critests9", "name": "x"}]),
        Odd("has an empty name", [{"hostInterfaceName": "", "name": ""}]),
    ),
    Field(("containerEdits",), FieldType.OBJECT),
    Field(("containerEdits", "env"), FieldType.LIST),
)


def specification_variants(kind: str, file: str, folder: str) -> Iterator[Variant]:
    """Yield the variants of a specification; arguments as for `specification`."""
    for variant in variants(specification(kind, file, folder), FIELDS):
        # to run ten thousand hooks takes a minute, as it should
        if not (variant.field.endswith(".hooks") and variant.change == "has many entries"):
            yield variant
