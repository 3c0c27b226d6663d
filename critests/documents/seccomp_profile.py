"""The file of a seccomp profile that a container requests by its path (Localhost).

Source: the OCI runtime specification, config-linux.md, "Seccomp"; LinuxContainerSecurityContext.seccomp.
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, OddValue
from critests.documents.variants import Variant, variants

_SECTION = "OCI runtime specification, Seccomp"


def profile(architecture: str) -> dict[str, Any]:
    """Return a valid profile, which denies a system call that no shell makes.

    Args:
        architecture: of the machine, such as `SCMP_ARCH_X86_64`.
    """
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [architecture],
        "syscalls": [
            {
                "names": ["personality"],
                "action": "SCMP_ACT_ERRNO",
                "errnoRet": 71,
                "args": [{"index": 0, "value": 8, "valueTwo": 0, "op": "SCMP_CMP_EQ"}],
            }
        ],
    }


def _odd(name: str, value: object, expected: Expected = Expected.EITHER) -> OddValue:
    return OddValue(name=name, value=value, expected=expected)


_ACTIONS = (
    "SCMP_ACT_KILL",
    "SCMP_ACT_KILL_PROCESS",
    "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_TRAP",
    "SCMP_ACT_ERRNO",
    "SCMP_ACT_TRACE",
    "SCMP_ACT_ALLOW",
    "SCMP_ACT_LOG",
)
_CALL = ("syscalls", 0)
_ARGUMENT = (*_CALL, "args", 0)


def _fields(architecture: str, listener: str) -> tuple[Field, ...]:
    call = profile(architecture)["syscalls"][0]
    return (
        Field(
            path=("defaultAction",),
            type=FieldType.TEXT,
            required=True,
            odd=(
                _odd("is LOG", "SCMP_ACT_LOG", Expected.ACCEPTED),
                # KILL and KILL_THREAD end one thread of the OCI runtime, which then never exits
                *(
                    _odd(f"is {name}", name)
                    for name in _ACTIONS
                    if name[9:] not in {"ALLOW", "LOG", "KILL", "KILL_THREAD"}
                ),
                _odd("leaves every call to a listener", "SCMP_ACT_NOTIFY"),
                _odd("is in lower case", "scmp_act_allow"),
                _odd("is unknown", "SCMP_ACT_CRITESTS"),
            ),
            source=f"{_SECTION}: defaultAction",
        ),
        Field(
            path=("defaultErrnoRet",),
            type=FieldType.INTEGER,
            odd=(
                _odd("is of the kernel's largest", 4095),
                _odd("is more than the kernel has", 4096),
                _odd("is of 32 bits", (1 << 32) - 1),
            ),
            source=f"{_SECTION}: defaultErrnoRet",
        ),
        Field(
            path=("architectures",),
            type=FieldType.LIST,
            odd=(
                # libseccomp has no filter for both byte orders
                _odd("has one that the machine lacks", [architecture, "SCMP_ARCH_S390X"]),
                _odd("has none of the machine", ["SCMP_ARCH_S390X"]),
                _odd("has an unknown one", [architecture, "SCMP_ARCH_CRITESTS"]),
                _odd("has one in lower case", ["scmp_arch_x86_64"]),
                _odd("has a number in it", [7]),
            ),
            source=f"{_SECTION}: architectures",
        ),
        Field(
            path=("flags",),
            type=FieldType.LIST,
            odd=(
                *(
                    _odd(f"has {name}", [f"SECCOMP_FILTER_FLAG_{name}"])
                    for name in (
                        "LOG",
                        "TSYNC",
                        "SPEC_ALLOW",
                        "WAIT_KILLABLE_RECV",
                        "NEW_LISTENER",
                        "CRITESTS",
                    )
                ),
                _odd("has a number in it", [1]),
            ),
            source=f"{_SECTION}: flags",
        ),
        Field(
            path=("listenerPath",),
            type=FieldType.PATH,
            odd=(
                _odd("has no listener", listener),
                _odd("is relative", "listener"),
                _odd("is a directory", "/run"),
                _odd("is longer than a socket's path", "/run/" + "x" * 108),
            ),
            source=f"{_SECTION}: listenerPath",
        ),
        Field(
            path=("listenerMetadata",),
            type=FieldType.TEXT,
            odd=(_odd("is without a listener", "a"),),
            source=f"{_SECTION}: listenerMetadata",
        ),
        Field(
            path=("syscalls",),
            type=FieldType.LIST,
            odd=(
                _odd("has a thousand rules of one call", [call] * 1000),
                _odd("has two that contradict", [call, {**call, "action": "SCMP_ACT_LOG"}]),
            ),
            source=f"{_SECTION}: syscalls",
        ),
        Field(path=_CALL, type=FieldType.OBJECT, source=f"{_SECTION}: syscalls"),
        Field(
            path=(*_CALL, "names"),
            type=FieldType.LIST,
            required=True,
            odd=(
                _odd("has an unknown call", ["critests_unknown"]),
                _odd("has a call of other architectures", ["personality", "s390_pci_mmio_read"]),
                _odd("has a call twice", ["personality", "personality"], Expected.ACCEPTED),
                _odd("has a number in it", [135]),
                _odd("has a number as a text in it", ["135"]),
                _odd("has a name in upper case", ["PERSONALITY"]),
                _odd("has a NUL in it", ["personality\0x"]),
            ),
            source=f"{_SECTION}: syscalls, names",
        ),
        Field(
            path=(*_CALL, "action"),
            type=FieldType.TEXT,
            required=True,
            odd=(
                _odd("leaves the call to a listener", "SCMP_ACT_NOTIFY"),
                *(_odd(f"is {name}, with an error number", name) for name in _ACTIONS),
                _odd("is unknown", "SCMP_ACT_CRITESTS"),
            ),
            source=f"{_SECTION}: syscalls, action",
        ),
        Field(
            path=(*_CALL, "errnoRet"),
            type=FieldType.INTEGER,
            odd=(
                _odd("is 1", 1, Expected.ACCEPTED),
                _odd("is the kernel's largest", 4095),
                _odd("is more than the kernel has", 4096),
                _odd("is of 16 bits", (1 << 16) - 1),
                _odd("is more than 16 bits hold", 1 << 16),
                _odd("is of 32 bits", (1 << 32) - 1),
                _odd("is more than 32 bits hold", 1 << 32),
            ),
            source=f"{_SECTION}: syscalls, errnoRet",
        ),
        Field(
            path=(*_CALL, "args"),
            type=FieldType.LIST,
            odd=(
                _odd("has seven arguments", [{**call["args"][0], "index": index} for index in range(7)]),
                _odd("compares one argument twice", call["args"] * 2),
            ),
            source=f"{_SECTION}: syscalls, args",
        ),
        Field(path=_ARGUMENT, type=FieldType.OBJECT, source=f"{_SECTION}: syscalls, args"),
        Field(
            path=(*_ARGUMENT, "index"),
            type=FieldType.INTEGER,
            required=True,
            least=0,
            most=5,
            odd=(_odd("is of 32 bits", (1 << 32) - 1),),
            source=f"{_SECTION}: syscalls, args, index; a call has at most six arguments, syscall(2)",
        ),
        Field(
            path=(*_ARGUMENT, "value"),
            type=FieldType.INTEGER,
            required=True,
            least=0,
            most=(1 << 63) - 1,
            odd=(_odd("is of 64 bits", (1 << 64) - 1),),
            source=f"{_SECTION}: syscalls, args, value",
        ),
        Field(
            path=(*_ARGUMENT, "valueTwo"),
            type=FieldType.INTEGER,
            odd=(_odd("is of 64 bits", (1 << 64) - 1),),
            source=f"{_SECTION}: syscalls, args, valueTwo",
        ),
        Field(
            path=(*_ARGUMENT, "op"),
            type=FieldType.TEXT,
            required=True,
            odd=(
                *(
                    _odd(f"is {name}", f"SCMP_CMP_{name}", Expected.ACCEPTED)
                    for name in ("NE", "LT", "LE", "GE", "GT", "MASKED_EQ")
                ),
                _odd("is unknown", "SCMP_CMP_CRITESTS"),
            ),
            source=f"{_SECTION}: syscalls, args, op",
        ),
    )


def profile_variants(architecture: str, listener: str) -> Iterator[Variant]:
    """Yield the variants of a profile; architecture as for `profile`, and the path of a socket
    that does not exist.
    """
    yield from variants(profile(architecture), _fields(architecture, listener))
