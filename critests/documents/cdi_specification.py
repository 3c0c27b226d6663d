"""The file that describes devices of the Container Device Interface (CDI).

Source: the CDI specification, 1.0.0, "CDI JSON Specification".
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, OddValue
from critests.documents.variants import Variant, variants

DEVICE = "one"
"""The name of the device."""
VARIABLE = "CRITESTS_CDI=1"
"""The environment variable that the device sets."""
_SECTION = "CDI specification"


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


def _odd(name: str, value: object, expected: Expected = Expected.EITHER) -> OddValue:
    return OddValue(name=name, value=value, expected=expected)


_EDITS = ("devices", 0, "containerEdits")
_NODE = (*_EDITS, "deviceNodes", 0)
_MOUNT = (*_EDITS, "mounts", 0)
_HOOK = (*_EDITS, "hooks", 0)
_OTHER_NAME = OddValue(name="is another name", value="two", expected=Expected.REFUSED)
"""A request for the device by its former name fails: section "Error Handling"."""
FIELDS = (
    Field(
        path=("cdiVersion",),
        type=FieldType.TEXT,
        required=True,
        odd=(
            _odd("is older than some of the fields", "0.3.0"),
            _odd("is of the future", "99.0.0"),
            _odd("is of no release", "0.0.1"),
            _odd("begins with a letter", "v0.7.0"),
            _odd("is a pre-release", "0.7.0-rc.1"),
            _odd("is a part of a version", "0.7"),
            _odd("has parts that are too large", "0.99999999999999999999.0"),
        ),
        source=f"{_SECTION}: cdiVersion",
    ),
    Field(
        path=("kind",),
        type=FieldType.PATH,
        required=True,
        odd=(
            _odd("is another kind", "critests.example/other", Expected.REFUSED),
            _odd("has no class", "critests.example"),
            _odd("has an empty class", "critests.example/"),
            _odd("has an empty vendor", "/device"),
            _odd("has two slashes", "critests.example/a/b"),
            _odd("has a device in it", "critests.example/device=one"),
        ),
        source=f"{_SECTION}: Kind",
    ),
    Field(path=("annotations",), type=FieldType.MAP, source=f"{_SECTION}: annotations"),
    Field(path=("devices",), type=FieldType.LIST, required=True, source=f"{_SECTION}: CDI Devices"),
    Field(path=("devices", 0), type=FieldType.OBJECT, required=True, source=f"{_SECTION}: CDI Devices"),
    Field(
        path=("devices", 0, "name"),
        type=FieldType.PATH,
        required=True,
        odd=(
            _OTHER_NAME,
            _odd("begins with a dash", "-one"),
            _odd("ends with a dot", "one."),
            _odd("has a slash", "one/two"),
            _odd("has an equals sign", "one=two"),
        ),
        source=f"{_SECTION}: CDI Devices, name",
    ),
    Field(path=("devices", 0, "annotations"), type=FieldType.MAP, source=f"{_SECTION}: annotations"),
    Field(path=_EDITS, type=FieldType.OBJECT, required=True, source=f"{_SECTION}: OCI Edits"),
    Field(
        path=(*_EDITS, "env"),
        type=FieldType.LIST,
        odd=(
            _odd("has an empty value", ["CRITESTS_CDI="], Expected.ACCEPTED),
            _odd("has equals signs in a value", ["CRITESTS_CDI=a=b"], Expected.ACCEPTED),
            _odd("has no equals sign", ["CRITESTS_CDI"]),
            _odd("has an empty name", ["=1"]),
            _odd("has a NUL in it", ["CRITESTS_CDI=a\0b"]),
            _odd("has a line break in it", ["CRITESTS_CDI=a\nb"]),
            _odd("has a number in it", [7]),
            _odd("has a long value", ["CRITESTS_CDI=" + "x" * (1 << 18)]),
        ),
        source=f"{_SECTION}: env",
    ),
    Field(path=(*_EDITS, "deviceNodes"), type=FieldType.LIST, source=f"{_SECTION}: deviceNodes"),
    Field(path=_NODE, type=FieldType.OBJECT, source=f"{_SECTION}: deviceNodes"),
    Field(
        path=(*_NODE, "path"),
        type=FieldType.PATH,
        required=True,
        odd=(
            _odd("is relative", "dev/critests"),
            _odd("is the root", "/"),
            _odd("is an existing device", "/dev/null"),
            _odd("is in a directory of the kernel", "/proc/critests"),
        ),
        source=f"{_SECTION}: deviceNodes, path",
    ),
    Field(
        path=(*_NODE, "hostPath"),
        type=FieldType.PATH,
        odd=(
            _odd("is not there", "/dev/critests-absent"),
            _odd("is a directory", "/dev"),
            _odd("is a regular file", "/etc/hostname"),
        ),
        source=f"{_SECTION}: deviceNodes, hostPath",
    ),
    Field(
        path=(*_NODE, "type"),
        type=FieldType.TEXT,
        odd=(
            _odd("is another type", "b"),
            _odd("is a pipe", "p"),
            _odd("is a synonym", "u"),
            _odd("is no type", "x"),
        ),
        source=f"{_SECTION}: deviceNodes, type",
    ),
    *(
        Field(
            path=(*_NODE, name),
            type=FieldType.INTEGER,
            odd=(_odd("is more than the kernel has", 1 << 20), _odd("is more than 32 bits hold", 1 << 32)),
            source=f"{_SECTION}: deviceNodes, {name}",
        )
        for name in ("major", "minor")
    ),
    Field(
        path=(*_NODE, "fileMode"),
        type=FieldType.INTEGER,
        odd=(
            _odd("has every bit of a mode", 0o7777),
            _odd("is the mode of a directory", 0o040755),
            _odd("is of 32 bits", (1 << 32) - 1),
        ),
        source=f"{_SECTION}: deviceNodes, fileMode",
    ),
    Field(
        path=(*_NODE, "permissions"),
        type=FieldType.TEXT,
        odd=(
            _odd("has all", "rwm", Expected.ACCEPTED),
            _odd("has one", "r", Expected.ACCEPTED),
            _odd("has one twice", "rr"),
            _odd("has an unknown one", "rwx"),
            _odd("is in upper case", "RW"),
        ),
        source=f"{_SECTION}: deviceNodes, permissions",
    ),
    *(
        Field(
            path=(*_NODE, name),
            type=FieldType.INTEGER,
            least=0,
            odd=(
                _odd("is of 31 bits", (1 << 31) - 1, Expected.ACCEPTED),
                _odd("means no one to the kernel", (1 << 32) - 1),
                _odd("is more than 32 bits hold", 1 << 32),
            ),
            source=f"{_SECTION}: deviceNodes, {name}",
        )
        for name in ("uid", "gid")
    ),
    Field(path=(*_EDITS, "mounts"), type=FieldType.LIST, source=f"{_SECTION}: mounts"),
    Field(path=_MOUNT, type=FieldType.OBJECT, source=f"{_SECTION}: mounts"),
    Field(
        path=(*_MOUNT, "hostPath"),
        type=FieldType.PATH,
        required=True,
        odd=(_odd("is not there", "/critests-absent"), _odd("is relative", "critests")),
        source=f"{_SECTION}: mounts, hostPath",
    ),
    Field(
        path=(*_MOUNT, "containerPath"),
        type=FieldType.PATH,
        required=True,
        odd=(
            _odd("is relative", "critests"),
            _odd("is the root", "/"),
            _odd("is in a directory of the kernel", "/proc/critests"),
            _odd("is in the directory of devices", "/dev/critests/below", Expected.ACCEPTED),
        ),
        source=f"{_SECTION}: mounts, containerPath",
    ),
    Field(
        path=(*_MOUNT, "type"),
        type=FieldType.TEXT,
        odd=(
            _odd("is a bind mount", "bind", Expected.ACCEPTED),
            _odd("is no file system", "critests"),
        ),
        source=f"{_SECTION}: mounts, type",
    ),
    Field(
        path=(*_MOUNT, "options"),
        type=FieldType.LIST,
        # optional, but by the OCI a mount of the type `none` without the option `bind` is no bind mount
        required=True,
        odd=(
            _odd("has an unknown option", ["bind", "critests-unknown"]),
            _odd("has two that contradict", ["bind", "ro", "rw"]),
            _odd("has a comma in one", ["bind,ro"]),
            _odd("has two propagations", ["rbind", "rshared", "rprivate"]),
        ),
        source=f"{_SECTION}: mounts, options",
    ),
    Field(path=(*_EDITS, "hooks"), type=FieldType.LIST, source=f"{_SECTION}: hooks"),
    Field(path=_HOOK, type=FieldType.OBJECT, source=f"{_SECTION}: hooks"),
    Field(
        path=(*_HOOK, "hookName"),
        type=FieldType.TEXT,
        required=True,
        odd=(
            *(
                _odd(f"is {name}", name, Expected.ACCEPTED)
                for name in ("createContainer", "startContainer", "poststart", "poststop")
            ),
            _odd("is a deprecated hook of OCI", "prestart"),
            _odd("is in upper case", "CREATERUNTIME"),
            _odd("is no hook", "critests"),
        ),
        source=f"{_SECTION}: hooks, hookName",
    ),
    Field(
        path=(*_HOOK, "path"),
        type=FieldType.PATH,
        required=True,
        odd=(
            _odd("is relative", "true"),
            _odd("is not there", "/bin/critests-absent"),
            _odd("is a directory", "/"),
            _odd("is not executable", "/etc/hostname"),
            _odd("fails", "/bin/false"),
        ),
        source=f"{_SECTION}: hooks, path",
    ),
    Field(path=(*_HOOK, "args"), type=FieldType.LIST, source=f"{_SECTION}: hooks, args"),
    Field(
        path=(*_HOOK, "env"),
        type=FieldType.LIST,
        odd=(_odd("has no equals sign", ["A"]), _odd("has a NUL in it", ["A=\0"])),
        source=f"{_SECTION}: hooks, env",
    ),
    Field(path=(*_HOOK, "timeout"), type=FieldType.INTEGER, source=f"{_SECTION}: hooks, timeout"),
    Field(
        path=(*_EDITS, "intelRdt"),
        type=FieldType.OBJECT,
        odd=(
            _odd("has a class that leads upwards", {"closID": f"../../{ESCAPE}"}),
            _odd("has a class of a line break", {"closID": "a\nb"}),
            _odd("has a schema of nonsense", {"closID": "critests", "l3CacheSchema": "x", "memBwSchema": 7}),
            _odd("has texts for booleans", {"enableCMT": "yes", "enableMBM": 1}),
        ),
        source=f"{_SECTION}: intelRdt, of 0.7.0",
    ),
    Field(
        path=(*_EDITS, "additionalGids"),
        type=FieldType.LIST,
        odd=(
            _odd("has the group of root", [0]),
            _odd("has the largest group", [(1 << 31) - 1], Expected.ACCEPTED),
            _odd("has a number that means no group", [(1 << 32) - 1]),
            _odd("has a negative group", [-1]),
            _odd("has a name", ["root"]),
            _odd("has a fraction", [1.5]),
        ),
        source=f"{_SECTION}: additionalGids, of 0.7.0",
    ),
    Field(
        path=(*_EDITS, "netDevices"),
        type=FieldType.LIST,
        odd=(
            _odd("has an interface that is not there", [{"hostInterfaceName": "critests9", "name": "x"}]),
            _odd("has an empty name", [{"hostInterfaceName": "", "name": ""}]),
        ),
        source=f"{_SECTION}: netDevices, of 1.1.0",
    ),
    Field(path=("containerEdits",), type=FieldType.OBJECT, source=f"{_SECTION}: OCI Edits"),
    Field(path=("containerEdits", "env"), type=FieldType.LIST, source=f"{_SECTION}: env"),
)


def specification_variants(kind: str, file: str, folder: str) -> Iterator[Variant]:
    """Yield the variants of a specification; arguments as for `specification`."""
    for variant in variants(specification(kind, file, folder), FIELDS):
        # to run ten thousand hooks takes a minute, as it should
        if not (variant.field.endswith(".hooks") and variant.change == "has many entries"):
            yield variant
