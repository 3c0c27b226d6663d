"""The file of a seccomp profile that a container requests by its path (Localhost).

Source: the OCI runtime specification, config-linux.md, "Seccomp"; LinuxContainerSecurityContext.seccomp.
"""

from collections.abc import Iterator
from typing import Any

from critests.documents.document_fields import Expected, Field, FieldType, Odd
from critests.documents.variants import Variant, variants


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
            ("defaultAction",),
            FieldType.TEXT,
            Odd("is LOG", "SCMP_ACT_LOG", Expected.ACCEPTED),
            # KILL and KILL_THREAD end one thread of the OCI runtime, which then never exits
            *(
                Odd(f"is {name}", name)
                for name in _ACTIONS
                if name[9:] not in {"ALLOW", "LOG", "KILL", "KILL_THREAD"}
            ),
            Odd("leaves every call to a listener", "SCMP_ACT_NOTIFY"),
            Odd("is in lower case", "scmp_act_allow"),
            Odd("is unknown", "SCMP_ACT_CRITESTS"),
            required=True,
        ),
        Field(
            ("defaultErrnoRet",),
            FieldType.INTEGER,
            Odd("is of the kernel's largest", 4095),
            Odd("is more than the kernel has", 4096),
            Odd("is of 32 bits", (1 << 32) - 1),
        ),
        Field(
            ("architectures",),
            FieldType.LIST,
            # libseccomp has no filter for both byte orders
            Odd("has one that the machine lacks", [architecture, "SCMP_ARCH_S390X"]),
            Odd("has none of the machine", ["SCMP_ARCH_S390X"]),
            Odd("has an unknown one", [architecture, "SCMP_ARCH_CRITESTS"]),
            Odd("has one in lower case", ["scmp_arch_x86_64"]),
            Odd("has a number in it", [7]),
        ),
        Field(
            ("flags",),
            FieldType.LIST,
            *(
                Odd(f"has {name}", [f"SECCOMP_FILTER_FLAG_{name}"])
                for name in (
                    "LOG",
                    "TSYNC",
                    "SPEC_ALLOW",
                    "WAIT_KILLABLE_RECV",
                    "NEW_LISTENER",
                    "CRITESTS",
                )
            ),
            Odd("has a number in it", [1]),
        ),
        Field(
            ("listenerPath",),
            FieldType.PATH,
            Odd("has no listener", listener),
            Odd("is relative", "listener"),
            Odd("is a directory", "/run"),
            Odd("is longer than a socket's path", "/run/" + "x" * 108),
        ),
        Field(("listenerMetadata",), FieldType.TEXT, Odd("is without a listener", "a")),
        Field(
            ("syscalls",),
            FieldType.LIST,
            Odd("has a thousand rules of one call", [call] * 1000),
            Odd("has two that contradict", [call, {**call, "action": "SCMP_ACT_LOG"}]),
        ),
        Field(_CALL, FieldType.OBJECT),
        Field(
            (*_CALL, "names"),
            FieldType.LIST,
            Odd("has an unknown call", ["critests_unknown"]),
            Odd("has a call of other architectures", ["personality", "s390_pci_mmio_read"]),
            Odd("has a call twice", ["personality", "personality"], Expected.ACCEPTED),
            Odd("has a number in it", [135]),
            Odd("has a number as a text in it", ["135"]),
            Odd("has a name in upper case", ["PERSONALITY"]),
            Odd("has a NUL in it", ["personality\0x"]),
            required=True,
        ),
        Field(
            (*_CALL, "action"),
            FieldType.TEXT,
            Odd("leaves the call to a listener", "SCMP_ACT_NOTIFY"),
            *(Odd(f"is {name}, with an error number", name) for name in _ACTIONS),
            Odd("is unknown", "SCMP_ACT_CRITESTS"),
            required=True,
        ),
        Field(
            (*_CALL, "errnoRet"),
            FieldType.INTEGER,
            Odd("is 1", 1, Expected.ACCEPTED),
            Odd("is the kernel's largest", 4095),
            Odd("is more than the kernel has", 4096),
            Odd("is of 16 bits", (1 << 16) - 1),
            Odd("is more than 16 bits hold", 1 << 16),
            Odd("is of 32 bits", (1 << 32) - 1),
            Odd("is more than 32 bits hold", 1 << 32),
        ),
        Field(
            (*_CALL, "args"),
            FieldType.LIST,
            Odd("has seven arguments", [{**call["args"][0], "index": index} for index in range(7)]),
            Odd("compares one argument twice", call["args"] * 2),
        ),
        Field(_ARGUMENT, FieldType.OBJECT),
        # a call has at most six arguments, syscall(2)
        Field(
            (*_ARGUMENT, "index"),
            FieldType.INTEGER,
            Odd("is of 32 bits", (1 << 32) - 1),
            required=True,
            least=0,
            most=5,
        ),
        Field(
            (*_ARGUMENT, "value"),
            FieldType.INTEGER,
            Odd("is of 64 bits", (1 << 64) - 1),
            required=True,
            least=0,
            most=(1 << 63) - 1,
        ),
        Field((*_ARGUMENT, "valueTwo"), FieldType.INTEGER, Odd("is of 64 bits", (1 << 64) - 1)),
        Field(
            (*_ARGUMENT, "op"),
            FieldType.TEXT,
            *(
                Odd(f"is {name}", f"SCMP_CMP_{name}", Expected.ACCEPTED)
                for name in ("NE", "LT", "LE", "GE", "GT", "MASKED_EQ")
            ),
            Odd("is unknown", "SCMP_CMP_CRITESTS"),
            required=True,
        ),
    )


def profile_variants(architecture: str, listener: str) -> Iterator[Variant]:
    """Yield the variants of a profile; architecture as for `profile`, and the path of a socket
    that does not exist.
    """
    yield from variants(profile(architecture), _fields(architecture, listener))
