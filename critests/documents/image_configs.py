"""The fields of image indexes and image configurations.

Source: OCI Image Format Specification 1.1: image-index.md, config.md, considerations.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Odd
from critests.documents.image_manifests import ANNOTATIONS, IGNORED, descriptor
from critests.documents.variants import Variant, variants

ACCEPTED, EITHER, REFUSED = Expected.ACCEPTED, Expected.EITHER, Expected.REFUSED


def odd(expected: Expected, **values: object) -> tuple[Odd, ...]:
    """Return unusual values by their names, in which `_` stands for a space."""
    return tuple(Odd(name.replace("_", " "), value, expected) for name, value in values.items())


PLATFORM: Final = ("manifests", 0, "platform")
INDEX: Final = (
    Field(("schemaVersion",), FieldType.INTEGER, required=True),
    Field(("mediaType",), FieldType.TEXT),
    Field(("artifactType",), FieldType.TEXT),
    Field(("manifests",), FieldType.LIST, required=True),
    *descriptor(("manifests", 0)),
    # optional, but a reader that gets none cannot know which manifest is meant
    Field(PLATFORM, FieldType.OBJECT, required=True),
    Field((*PLATFORM, "architecture"), FieldType.TEXT, required=True),
    Field((*PLATFORM, "os"), FieldType.TEXT, required=True),
    Field((*PLATFORM, "os.version"), FieldType.TEXT),
    Field((*PLATFORM, "os.features"), FieldType.LIST),
    Field((*PLATFORM, "variant"), FieldType.TEXT),
    Field((*PLATFORM, "features"), FieldType.LIST),
    *descriptor(("subject",), required=False),
    Field(("annotations",), FieldType.MAP, *ANNOTATIONS),
)


def index_variants(document: Mapping[str, object]) -> Iterator[Variant]:
    """Yield the variants of an image index."""
    every = _unknown_keys_are_ignored(variants(document, INDEX))
    # a reader may look at each of ten thousand manifests for its platform, which takes it minutes
    return (each for each in every if str(each) != "manifests has many entries")


def _unknown_keys_are_ignored(found: Iterator[Variant]) -> Iterator[Variant]:
    for each in found:
        yield replace(each, expected=ACCEPTED) if each.change == IGNORED else each


USERS = odd(ACCEPTED, is_a_name="tester", is_the_number_of_a_user="1000", is_a_name_and_a_group="tester:crew")
USERS += odd(ACCEPTED, is_two_numbers="1000:2000", is_an_unknown_number="4242", is_root="root")
USERS += odd(EITHER, is_an_unknown_name="nobody-has-this-name", has_an_unknown_group="tester:no-such-group")
USERS += odd(EITHER, is_less_than_0="-1", is_the_largest_number="4294967295", is_too_large="4294967296")
USERS += odd(EITHER, has_an_empty_group="1000:", has_an_empty_name=":1000", has_three_parts="1:2:3")
USERS += odd(
    EITHER, has_spaces=" tester ", is_a_fraction="1.5", is_hexadecimal="0x3e8", is_2147483648="2147483648"
)

ENVIRONMENTS = odd(ACCEPTED, has_an_empty_value_of_a_name=["CRITESTS="], has_two_equal_signs=["CRITESTS=a=b"])
ENVIRONMENTS += odd(ACCEPTED, has_spaces=["CRITESTS= a b "], has_a_line_break=["CRITESTS=a\nb"])
ENVIRONMENTS += odd(
    EITHER, has_no_value=["CRITESTS"], has_no_name=["=x"], has_one_name_twice=["CRITESTS=1", "CRITESTS=2"]
)
ENVIRONMENTS += odd(
    EITHER, has_a_value_with_a_NUL=["CRITESTS=a\0b"], has_a_long_value=["CRITESTS=" + "x" * (1 << 18)]
)
ENVIRONMENTS += odd(
    EITHER, has_no_PATH=[], has_an_empty_PATH=["PATH="], has_LD_PRELOAD=[f"LD_PRELOAD=/{ESCAPE}"]
)

PORTS = odd(
    ACCEPTED, has_no_protocol={"80": {}}, has_udp={"53/udp": {}}, has_two={"80/tcp": {}, "81/tcp": {}}
)
PORTS += odd(
    EITHER, has_port_0={"0/tcp": {}}, has_a_large_port={"65536/tcp": {}}, has_a_range={"80-90/tcp": {}}
)
PORTS += odd(
    EITHER, has_an_unknown_protocol={"80/critests": {}}, has_only_a_slash={"/": {}}, has_a_text={"x/tcp": {}}
)

VOLUMES = odd(ACCEPTED, has_a_new_directory={"/new-directory": {}}, has_a_nested_directory={"/a/b/c": {}})
VOLUMES += odd(
    EITHER, has_the_root={"/": {}}, has_proc={"/proc": {}}, has_sys={"/sys": {}}, has_dev={"/dev": {}}
)
VOLUMES += odd(EITHER, has_a_file={"/etc/passwd": {}}, has_a_relative_path={"data": {}}, has_a_dot={".": {}})
VOLUMES += odd(
    EITHER,
    leads_upwards={f"/../../../../{ESCAPE}": {}},
    has_a_link={"/bin/sh": {}},
    is_nested={"/v": {}, "/v/w": {}},
)
VOLUMES += odd(
    EITHER,
    has_a_NUL={"/a\0b": {}},
    has_a_long_path={"/" + "x/" * 2100: {}},
    has_a_colon={"/a:b": {}},
    has_a_comma={"/a,b": {}},
)

DIRECTORIES = odd(ACCEPTED, is_the_root="/", is_a_directory="/etc")
DIRECTORIES += odd(
    EITHER,
    does_not_exist="/new/directory",
    is_relative="tmp",
    is_a_file="/etc/passwd",
    is_proc="/proc/self/fd",
)
DIRECTORIES += odd(
    EITHER, ends_with_a_slash="/etc/", has_dots="/etc/../tmp", is_a_file_descriptor="/proc/self/fd/7"
)

SIGNALS = odd(ACCEPTED, is_SIGKILL="SIGKILL", is_a_realtime_signal="SIGRTMIN+3", is_SIGINT="SIGINT")
SIGNALS += odd(
    EITHER,
    has_no_prefix="TERM",
    is_in_lower_case="sigterm",
    is_a_number_of_a_signal="15",
    is_unknown="SIGCRITESTS",
)
SIGNALS += odd(
    EITHER, is_signal_0="0", is_signal_65="65", is_less_than_0="-9", is_a_large_realtime_signal="SIGRTMIN+99"
)

TIMES = odd(ACCEPTED, has_a_zone="2015-10-31T22:22:56+02:00", has_a_fraction="2015-10-31T22:22:56.015925234Z")
TIMES += odd(
    EITHER,
    is_year_0="0000-01-01T00:00:00Z",
    is_year_9999="9999-12-31T23:59:59Z",
    is_year_10000="10000-01-01T00:00:00Z",
)
TIMES += odd(
    EITHER, is_no_time="yesterday", is_a_leap_second="2016-12-31T23:59:60Z", has_no_zone="2015-10-31T22:22:56"
)

PROGRAMS = odd(
    EITHER,
    has_an_unknown_program=["/no/such/program"],
    is_a_directory=["/etc"],
    has_a_program_with_a_NUL=["/bin/sh\0"],
    has_an_empty_program=[""],
)

ENTRYPOINTS = (*odd(ACCEPTED, is_a_whole_command=["/bin/sh", "-c", "exit 7"]), *PROGRAMS)
COMMANDS = (*odd(ACCEPTED, has_one_more_argument=["-c", "exit 7", "x"]), *PROGRAMS)
ROOTFS_TYPES = odd(REFUSED, is_unknown="critests")
"""config.md: implementations MUST generate an error if they encounter an unknown value."""


def _optional(*path: str | int, kind: FieldType, odd: tuple[Odd, ...] = ()) -> Field:
    """Return an optional field; "any OPTIONAL field MAY also be set to null" (config.md)."""
    return Field(path, kind, *odd, null_is_absent=True)


def _required(*path: str | int, kind: FieldType, odd: tuple[Odd, ...] = ()) -> Field:
    return Field(path, kind, *odd, required=True)


CONFIG: Final = (
    _optional("created", kind=FieldType.TEXT, odd=TIMES),
    _optional("author", kind=FieldType.TEXT),
    _required(
        "architecture", kind=FieldType.TEXT, odd=odd(EITHER, is_another="s390x", is_unknown="critests")
    ),
    _required("os", kind=FieldType.TEXT, odd=odd(EITHER, is_another="windows", is_unknown="critests")),
    _optional("os.version", kind=FieldType.TEXT),
    _optional("os.features", kind=FieldType.LIST),
    _optional("variant", kind=FieldType.TEXT, odd=odd(EITHER, is_unknown="critests")),
    _optional("config", kind=FieldType.OBJECT),
    _optional("config", "User", kind=FieldType.TEXT, odd=USERS),
    _optional("config", "ExposedPorts", kind=FieldType.MAP, odd=PORTS),
    _optional("config", "Env", kind=FieldType.LIST, odd=ENVIRONMENTS),
    _optional("config", "Entrypoint", kind=FieldType.LIST, odd=ENTRYPOINTS),
    _optional("config", "Cmd", kind=FieldType.LIST, odd=COMMANDS),
    _optional("config", "Volumes", kind=FieldType.MAP, odd=VOLUMES),
    _optional("config", "WorkingDir", kind=FieldType.PATH, odd=DIRECTORIES),
    _optional("config", "Labels", kind=FieldType.MAP, odd=ANNOTATIONS),
    _optional("config", "StopSignal", kind=FieldType.TEXT, odd=SIGNALS),
    _optional("config", "ArgsEscaped", kind=FieldType.BOOLEAN),
    _optional("config", "Memory", kind=FieldType.INTEGER),
    _optional("config", "MemorySwap", kind=FieldType.INTEGER),
    _optional("config", "CpuShares", kind=FieldType.INTEGER),
    _optional("config", "Healthcheck", kind=FieldType.OBJECT),
    _required("rootfs", kind=FieldType.OBJECT),
    _required("rootfs", "type", kind=FieldType.TEXT, odd=ROOTFS_TYPES),
    _required("rootfs", "diff_ids", kind=FieldType.LIST),
    _required("rootfs", "diff_ids", 0, kind=FieldType.DIGEST),
    _optional("history", kind=FieldType.LIST),
    Field(("history", 0), FieldType.OBJECT, required=True),
    _optional("history", 0, "created", kind=FieldType.TEXT, odd=TIMES),
    _optional("history", 0, "author", kind=FieldType.TEXT),
    _optional("history", 0, "created_by", kind=FieldType.TEXT),
    _optional("history", 0, "comment", kind=FieldType.TEXT),
    _optional("history", 0, "empty_layer", kind=FieldType.BOOLEAN),
)

MEANS: Final = {
    "config.User is a name": 'test "$(id -u):$(id -g)" = 1000:1000',
    "config.User is the number of a user": 'test "$(id -u)" = 1000',
    "config.User is a name and a group": 'test "$(id -u):$(id -g)" = 1000:2000',
    "config.User is two numbers": 'test "$(id -u):$(id -g)" = 1000:2000',
    "config.User is an unknown number": 'test "$(id -u)" = 4242',
    "config.User is root": 'test "$(id -u)" = 0',
    "config.User is absent": 'test "$(id -u)" = 0',
    "config.User is null": 'test "$(id -u)" = 0',
    "config.Env has an empty value of a name": 'test -n "${CRITESTS+set}" && test -z "$CRITESTS"',
    "config.Env has two equal signs": 'test "$CRITESTS" = a=b',
    "config.Env has spaces": 'test "$CRITESTS" = " a b "',
    "config.Env has a line break": 'test "$CRITESTS" = "$(printf "a\\nb")"',
    "config.Volumes has a new directory": "grep -q ' /new-directory ' /proc/mounts || test -d /new-directory",
    "config.WorkingDir is absent": 'test "$(pwd)" = /',
    "config.WorkingDir is null": 'test "$(pwd)" = /',
    "config.WorkingDir is the root": 'test "$(pwd)" = /',
    "config.WorkingDir is a directory": 'test "$(pwd)" = /etc',
}
"""What is true inside a container of the image, as a condition of the shell, by the text of the variant."""


def config_variants(document: Mapping[str, object]) -> Iterator[Variant]:
    """Yield the variants of an image configuration."""
    return _unknown_keys_are_ignored(variants(document, CONFIG))
