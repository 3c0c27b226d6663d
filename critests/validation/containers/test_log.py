"""LOG: the log file of a container and its format."""

import re
import secrets
import time
from collections.abc import Callable
from typing import Unpack

import grpc
import pytest

from critests.lifecycle import container_log
from critests.lifecycle.container_log import LogRecord
from critests.lifecycle.requests import ContainerOptions
from critests.testing import (
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    lingering,
    refused_with,
    requirement,
    slow,
)

LogOf = Callable[..., list[LogRecord]]

# further tags may follow the first, separated by colons
RECORD = re.compile(rb"\S+ (stdout|stderr) [FP](:[^ ]+)* .*")
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
EVERY_BYTE_BUT_NEWLINE = bytes(byte for byte in range(256) if byte != 0x0A)
AS_OCTAL = "".join(f"\\{byte:03o}" for byte in EVERY_BYTE_BUT_NEWLINE)
LONG = ",".join(map(str, range(20000)))
"""108,889 bytes without repetition, so that a lost or swapped piece shows; runtimes split lines at 8 or 16
KiB.
"""
LONG_SCRIPT = "seq 0 19999 | tr '\\n' ',' | head -c 108889; echo; echo end"
MANY_SCRIPT = (
    """awk 'BEGIN { pad = sprintf("%1000s", "");"""
    """ for (i = 0; i < 100000; i++) printf "%07d%s\\n", i, pad }'"""
)
"""100,000 lines of a number with seven digits and a thousand spaces, 100 MB in all."""
MANY_SECONDS = 60.0
"""Time to print them: it takes about ten seconds where every write leaves a sandbox with its own kernel."""


@pytest.fixture
def log_of(runtime: Runtime, containers: Containers) -> LogOf:
    """Runs a script until it exits and returns the records of its log, once the log has so many lines;
    further options as for containers.

    With `lingers=False` the process exits right after its output: that is for LOG-15, not for the log format.
    """

    def run(
        script: str, lines: int = 1, *, lingers: bool = True, **options: Unpack[ContainerOptions]
    ) -> list[LogRecord]:
        container = containers.running(script=lingering(script) if lingers else script, **options)
        container.exited()
        return runtime.eventually(
            f"{lines} lines in the log",
            container.log,
            holds=lambda records: len(container_log.lines(records)) >= lines,
        )

    return run


@requirement("LOG-01/written")
@pytest.mark.parametrize("directory", ["", "below/"], ids=["log directory", "directory below it"])
def test_log_is_written_to_the_requested_path(
    sandbox: Sandbox, containers: Containers, directory: str
) -> None:
    """The output of a container MUST be in the file `log_path` below the sandbox's `log_directory`.

    Source: PodSandboxConfig.log_directory, ContainerConfig.log_path.
    """
    path = f"{directory}{secrets.token_hex(4)}.log"
    (sandbox.log_directory / path).parent.mkdir(exist_ok=True)

    container = containers.exited(script=lingering("echo said"), log_path=path)

    container.wait_for_log("said")
    assert container.log_path == sandbox.log_directory / path


@requirement("LOG-01/creation")
def test_log_in_a_missing_directory(containers: Containers, record_variant: RecordVariant) -> None:
    """CreateContainer or StartContainer MAY create the missing directories of `log_path` or fail.

    Source: ContainerConfig.log_path; not stated by the CRI, the kubelet creates them itself.
    """
    # a name that no other test of the same log directory uses
    config = containers.config(script="echo said", log_path=f"absent-{secrets.token_hex(4)}/below/0.log")

    try:
        container = containers.attempt(config)
    except grpc.RpcError as error:
        record_variant(f"the container is refused with {refused_with(error).name}")
        return

    container.exited()
    container.wait_for_log("said")
    record_variant("they are made")


@requirement("LOG-02")
def test_log_has_one_record_per_line(runtime: Runtime, containers: Containers) -> None:
    """A line of a log MUST consist of time, stream, tags and payload, separated by one space, and end in a
    newline.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging), which the kubelet parses.
    """
    container = containers.exited(script=lingering("echo one; echo two words >&2; echo; printf unfinished"))
    runtime.eventually(
        "four lines in the log",
        container.written_log.read_bytes,
        holds=lambda content: content.count(b"\n") >= 4,
    )

    *lines, rest = container.log_path.read_bytes().split(b"\n")

    assert rest == b""
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert sorted(container_log.lines(container.log())) == [b"", b"one", b"two words", b"unfinished"]


@requirement("LOG-30")
def test_time_of_a_record_is_rfc_3339(log_of: LogOf) -> None:
    """The time of a record MUST be an RFC 3339 time with Z or a numeric zone, and at most nine digits of
    fraction.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging), RFC 3339 with nanoseconds.
    """
    # several, as some runtimes omit trailing zeros of the fraction
    records = log_of("seq 1 20", 20)

    stamps = [record.stamp for record in records]
    assert [stamp for stamp in stamps if not TIME.fullmatch(stamp)] == []


@requirement("LOG-03/time")
def test_time_of_a_record_is_when_it_was_printed(containers: Containers) -> None:
    """The time of a record MUST be near the time at which the process printed the line.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging); `kubectl logs --since`
    relies on it.
    """
    before = time.time_ns()
    container = containers.exited(script=lingering("echo said"))
    after = time.time_ns()

    container.wait_for_log("said")
    recorded = container.log()[0].time_ns

    # a margin of one second for a runtime that reads the pipe late
    assert before - 10**9 <= recorded <= after + 10**9, (
        f"recorded {recorded}, printed between {before} and {after} ns"
    )


@requirement("LOG-03/order")
def test_times_of_records_do_not_go_backwards(log_of: LogOf) -> None:
    """The times of the records of one stream SHOULD NOT decrease.

    Source: not stated by the CRI; log readers rely on it.
    """
    records = log_of("seq 1 500", 500)

    times = [record.time_ns for record in records]
    assert times == sorted(times)


@requirement("LOG-04")
def test_records_name_the_stream_they_came_from(log_of: LogOf) -> None:
    """The stream of a record MUST be stdout or stderr according to the file descriptor that the process wrote
    to.

    Source: LogStreamType, as the kubelet parses it.
    """
    records = log_of("echo to output; echo to error >&2", 2)

    assert {(record.stream, record.payload) for record in records} == {
        ("stdout", b"to output"),
        ("stderr", b"to error"),
    }


@requirement("LOG-05")
def test_a_short_line_is_one_full_record(log_of: LogOf) -> None:
    """A short line that the process writes at once, with its newline, MUST be one record with the tag F.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging), whose tag F means a full
    line.
    """
    records = log_of("echo short; echo line >&2", 2)

    assert sorted((record.tags.split(":")[0], record.payload) for record in records) == [
        ("F", b"line"),
        ("F", b"short"),
    ]


@requirement("LOG-06")
def test_a_long_line_is_split_into_partial_records(log_of: LogOf) -> None:
    """All records of a long line but the last MUST have the tag P, and the last one F; their payloads joined
    MUST be the bytes of the line.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging), whose tag P means a
    partial line.
    """
    records = log_of(LONG_SCRIPT, 2)

    *pieces, last, end = records
    assert end.payload == b"end"
    assert [piece.partial for piece in pieces] == [True] * len(pieces)
    assert not last.partial
    assert container_log.lines(records) == [LONG.encode(), b"end"]


@requirement("LOG-07")
def test_a_line_of_exactly_the_limit(log_of: LogOf, record_variant: RecordVariant) -> None:
    """A line as long as the longest partial record MAY be one full record, or a partial one and an empty full
    one.

    Source: not stated by the CRI; the kubelet reads either.
    """
    # the first record of a long line shows how long a record can be
    limit = len(log_of(LONG_SCRIPT, 2)[0].payload)

    *records, end = log_of(f"seq 0 19999 | tr '\\n' ',' | head -c {limit}; echo; echo end", 2)

    record_variant(
        "one full record"
        if len(records) == 1
        else f"{len(records)} records, the last of {len(records[-1].payload)} bytes"
    )
    assert container_log.lines(records) == [LONG.encode()[:limit]]
    assert end.payload == b"end"


@requirement("LOG-08/output")
def test_a_last_line_without_a_newline_is_logged(log_of: LogOf) -> None:
    """The last output of a process MUST be in the log even if no newline follows it.

    Source: not stated by the CRI; it often says why the process exited.
    """
    records = log_of("echo first; printf 'last output'", 2)

    assert container_log.lines(records) == [b"first", b"last output"]


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        pytest.param(
            "echo; echo middle; echo; echo; echo end",
            [b"", b"middle", b"", b"", b"end"],
            marks=requirement("LOG-09"),
            id="empty lines",
        ),
        pytest.param(
            "printf '  before\\nbe  tween\\nafter  \\n   \\n'",
            [b"  before", b"be  tween", b"after  ", b"   "],
            marks=requirement("LOG-14"),
            id="spaces",
        ),
    ],
)
def test_lines_are_logged_unchanged(log_of: LogOf, script: str, lines: list[bytes]) -> None:
    """An empty line MUST be a record with an empty payload, and the log MUST preserve spaces at the
    beginning, inside and at the end of a line.

    Source: the CRI's log format (Kubernetes' design document kubelet-cri-logging), where the payload of a
    record is the output and begins after the third space.
    """
    records = log_of(script, len(lines))

    assert container_log.lines(records) == lines


@requirement("LOG-08/tag")
def test_a_last_line_without_a_newline_is_partial(log_of: LogOf) -> None:
    """A last line without a newline SHOULD have the tag P.

    Source: not stated by the CRI; the tag shows readers that there was no newline.
    """
    records = log_of("echo first; printf 'last output'", 2)

    assert [record.partial for record in records if record.payload == b"last output"] == [True]


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        pytest.param(
            f"printf '{AS_OCTAL}\\n'; echo end",
            [EVERY_BYTE_BUT_NEWLINE, b"end"],
            marks=requirement("LOG-10"),
            id="every byte value",
        ),
        pytest.param(
            "printf 'one\\r\\ntwo\\rthree\\n\\r\\n'",
            [b"one\r", b"two\rthree", b"\r"],
            marks=requirement("LOG-11"),
            id="carriage returns",
        ),
    ],
)
def test_bytes_are_logged_unchanged(log_of: LogOf, script: str, lines: list[bytes]) -> None:
    """The log SHOULD preserve every byte but the newline: NUL, control characters, bytes that are not UTF-8,
    and carriage returns alone and before a newline.

    Source: not stated by the CRI; a log consists of bytes.
    """
    records = log_of(script, len(lines))

    assert container_log.lines(records) == lines


@requirement("LOG-12")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_lines_of_a_stream_keep_their_order(log_of: LogOf, stream: str) -> None:
    """The log MUST have the lines of one stream in the order in which the process printed them, each once.

    Source: ContainerConfig.log_path, whose log is the output of the process on stdout and stderr. The CRI
    does not state the order between the two.
    """
    records = log_of("i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo $i; echo $i >&2; done", 600)

    assert container_log.lines(records, stream) == [b"%d" % number for number in range(1, 301)]


@requirement("LOG-13/stdout")
def test_everything_from_a_terminal_is_stdout(log_of: LogOf) -> None:
    """The log of a container with a terminal MUST record all output as stdout.

    Source: ContainerConfig.tty; a terminal has one stream.
    """
    records = log_of("echo to output; echo to error >&2", 2, tty=True)

    # the carriage return of a terminal is optional
    assert [(record.stream, record.payload.rstrip(b"\r")) for record in records] == [
        ("stdout", b"to output"),
        ("stdout", b"to error"),
    ]


@requirement("LOG-13/cr")
def test_carriage_return_of_a_terminal(log_of: LogOf, record_variant: RecordVariant) -> None:
    """The log of a container with a terminal MAY include the carriage return before each newline.

    Source: ContainerConfig.tty; not stated by the CRI.
    """
    records = log_of("echo said; echo again", 2, tty=True)

    assert [line.removesuffix(b"\r") for line in container_log.lines(records)] == [b"said", b"again"]
    record_variant("is recorded" if container_log.lines(records)[0].endswith(b"\r") else "is left out")


@requirement("LOG-15")
def test_log_is_complete_soon_after_the_exit(log_of: LogOf) -> None:
    """The log MUST be complete when the container has exited, or very soon after.

    Source: ContainerStatus.state; the kubelet reads the log of an exited container once.
    """
    # 24 kB fit into a pipe, so the process can exit before the runtime has read any of them
    records = log_of("seq 1 5000", 5000, lingers=False)

    assert container_log.lines(records) == [b"%d" % number for number in range(1, 5001)]


@slow
@requirement("LOG-16")
def test_log_loses_nothing_of_100_mb(containers: Containers) -> None:
    """The log SHOULD have all of 100 MB that a process prints as fast as it can.

    Source: not stated by the CRI; the runtime may slow down the process instead of losing output.
    """
    container = containers.running(script=f"{MANY_SCRIPT}; echo end")
    container.exited(MANY_SECONDS)
    numbers, length = [], 0

    with container.written_log.open("rb") as log:
        for raw in log:
            # one line at a time: records of the whole log would take hundreds of megabytes
            record = container_log.parse(raw)[0]
            # the number is at the beginning of the line, in its first record
            numbers += [record.payload[:7]] if length == 0 else []
            length = length + len(record.payload) if record.partial else 0

    container.log_path.unlink()  # otherwise a failure would store 100 MB as evidence
    assert numbers == [*(b"%07d" % number for number in range(100_000)), b"end"]


@requirement("LOG-18")
def test_a_container_without_a_log_path_runs(containers: Containers, record_variant: RecordVariant) -> None:
    """A container without `log_path` MAY have its output discarded or written to a file that ContainerStatus
    reports; the container runs.

    Source: ContainerConfig.log_path, ContainerStatus.log_path.
    """
    config = containers.config(script="echo said; exit 3", log_path="")

    container = containers.attempt(config)

    status = container.exited()
    assert status.exit_code == 3
    record_variant("goes to a file that the status names" if status.log_path else "is discarded")


@requirement("LOG-19")
def test_log_belongs_to_root_and_is_not_readable_by_others(containers: Containers) -> None:
    """A log file SHOULD belong to root, and SHOULD NOT be readable or writable by others.

    Source: not stated by the CRI; the output of a container may be confidential.
    """
    container = containers.exited(script=lingering("echo said"))

    log = container.written_log.stat()

    mode = f"{log.st_mode & 0o777:04o}"
    assert log.st_uid == 0
    assert mode in {"0600", "0640"}


@requirement("LOG-29")
def test_a_silent_container_has_an_empty_log(running_container: Container) -> None:
    """A started container that prints nothing SHOULD have an empty log file.

    Source: ContainerConfig.log_path; log readers would otherwise report a missing file.
    """
    assert running_container.log_path.is_file()
    assert running_container.log_path.read_bytes() == b""
