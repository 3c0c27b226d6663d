"""What CNI plugins print and how they exit, operation by operation.

Source: the CNI specification, "Execution Protocol" (2) and "Error" (5).
"""

import json
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from critests.documents import cni_result
from critests.documents.document_fields import Expected
from critests.documents.variants import Variant

ADD, DEL, CHECK, GC, STATUS, VERSION = "ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"


@dataclass(frozen=True)
class PluginAnswer:
    """What a plugin does at one operation.

    Attributes:
        output: on stdout.
        exit_code: of the plugin; negative for the number of a signal that kills it.
        log: on stderr.
        seconds: that it takes.
        repeated: how often the output is printed.
    """

    output: bytes = b""
    exit_code: int = 0
    log: bytes = b""
    seconds: float = 0.0
    repeated: int = 1


@dataclass(frozen=True)
class Conduct:
    """What a plugin does during the life of one pod.

    Attributes:
        name: in words.
        answers: by operation; those of a sound plugin where it has none.
        expected: whether RunPodSandbox succeeds.
    """

    name: str
    answers: Mapping[str, PluginAnswer] = field(default_factory=dict)
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return self.name


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def add_conducts(version: str) -> Iterator[Conduct]:
    """Yield ways in which ADD succeeds or fails.

    Exit codes other than 0 mean that the operation has failed, whatever the plugin prints. What it prints on
    stderr is a log.
    """
    good, error = _json(cni_result.result(version)), _json(cni_result.error(version))

    def add(name: str, answer: PluginAnswer, expected: Expected = Expected.EITHER) -> Conduct:
        return Conduct(f"ADD {name}", {ADD: answer}, expected)

    for code in (1, 2, 7, 11, 99, 100, 127, 255):
        yield add(f"exits with {code} after an error", PluginAnswer(error, code), Expected.REFUSED)
        yield add(f"exits with {code} after a result", PluginAnswer(good, code), Expected.REFUSED)
        yield add(f"exits with {code} without output", PluginAnswer(b"", code), Expected.REFUSED)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGPIPE):
        killed = PluginAnswer(good, -number)
        yield add(f"is killed by {number.name} after a result", killed, Expected.REFUSED)
    logged = PluginAnswer(good, log=b"a line of a log\n" * 3)
    yield add("prints a log", logged, Expected.ACCEPTED)
    yield add("prints a log that is not UTF-8", PluginAnswer(good, log=b"\xff\xfe\0"), Expected.ACCEPTED)
    yield add("prints a long log", PluginAnswer(good, log=b"a line of a log\n" * (1 << 19)))
    yield add("fails after a long log", PluginAnswer(b"", 1, b"why it fails\n" * (1 << 19)), Expected.REFUSED)
    yield add("prints nothing", PluginAnswer())
    yield add(
        "prints white space around its result", PluginAnswer(b" \n\t" + good + b"\n\n"), Expected.ACCEPTED
    )
    yield add("prints text before its result", PluginAnswer(b"a log\n" + good))
    yield add("prints text after its result", PluginAnswer(good + b"\na log"))
    yield add("prints its result twice", PluginAnswer(good, repeated=2))
    yield add("prints an error, and exits with 0", PluginAnswer(error))
    yield add("prints a result and an error", PluginAnswer(good + error))
    yield add("prints a text", PluginAnswer(b'"x"'))
    yield add("prints a number", PluginAnswer(b"7"))
    yield add("prints a result of 32 MiB", PluginAnswer(good + b" " * (32 << 20)))
    yield add("takes a second", PluginAnswer(good, seconds=1.0), Expected.ACCEPTED)
    for other in cni_result.VERSIONS:
        if other != version:
            yield add(f"prints a result of {other}", PluginAnswer(_json(cni_result.result(other))))


def del_conducts(version: str) -> Iterator[Conduct]:
    """Yield ways in which DEL fails or answers oddly after an ADD that succeeds or fails."""
    error = _json(cni_result.error(version))
    odd = {
        "fails": PluginAnswer(error, 100),
        "fails as it knows no such container": PluginAnswer(
            _json({**cni_result.error(version), "code": 3}), 1
        ),
        "asks to try again later": PluginAnswer(_json({**cni_result.error(version), "code": 11}), 1),
        "fails without output": PluginAnswer(b"", 1),
        "fails with text": PluginAnswer(b"why it fails", 1),
        "is killed": PluginAnswer(b"", -signal.SIGKILL),
        "prints text": PluginAnswer(b"it is gone\n"),
        "prints a result": PluginAnswer(_json(cni_result.result(version))),
        "prints an error, and exits with 0": PluginAnswer(error),
        "prints much": PluginAnswer(b"it is gone\n" * (1 << 20)),
        "takes a second": PluginAnswer(seconds=1.0),
    }
    for name, answer in odd.items():
        yield Conduct(f"DEL {name}", {DEL: answer}, Expected.ACCEPTED)
        both = {ADD: PluginAnswer(error, 100), DEL: answer}
        yield Conduct(f"ADD fails, and DEL {name}", both, Expected.REFUSED)


def other_conducts(version: str) -> Iterator[Conduct]:
    """Yield odd answers to operations that a runtime may leave out."""
    error = _json({**cni_result.error(version), "code": 4})
    odd = {
        "is unknown": PluginAnswer(error, 1),
        "fails without output": PluginAnswer(b"", 1),
        "is killed": PluginAnswer(b"", -signal.SIGKILL),
        "prints text": PluginAnswer(b"all is well\n"),
        "prints an error, and exits with 0": PluginAnswer(error),
        "prints much": PluginAnswer(b"all is well\n" * (1 << 20)),
        "takes a second": PluginAnswer(seconds=1.0),
        "asks to try again later": PluginAnswer(_json({**cni_result.error(version), "code": 11}), 1),
        "says that the plugin is not available": PluginAnswer(
            _json({**cni_result.error(version), "code": 50}), 1
        ),
        "says that connections are limited": PluginAnswer(
            _json({**cni_result.error(version), "code": 51}), 1
        ),
    }
    for operation in (CHECK, STATUS, GC):
        for name, answer in odd.items():
            yield Conduct(f"{operation} {name}", {operation: answer})
    every = {operation: PluginAnswer(error, 1) for operation in (CHECK, STATUS, GC, VERSION)}
    yield Conduct("every operation but ADD and DEL is unknown", every)


def version_conducts(version: str) -> Iterator[Conduct]:
    """Yield odd answers to VERSION."""
    error = _json({**cni_result.error(version), "code": 4})
    yield Conduct("VERSION is unknown", {VERSION: PluginAnswer(error, 1)})
    yield Conduct("VERSION fails without output", {VERSION: PluginAnswer(b"", 1)})
    yield Conduct("VERSION is killed", {VERSION: PluginAnswer(b"", -signal.SIGKILL)})
    yield Conduct(
        "VERSION takes a second", {VERSION: PluginAnswer(_json(cni_result.versions(version)), seconds=1)}
    )
    for variant in cni_result.versions_variants(version):
        yield _printing(VERSION, 0, variant)


def result_conducts(version: str) -> Iterator[Conduct]:
    """Yield the variants of the result of ADD."""
    for variant in cni_result.result_variants(version):
        yield _printing(ADD, 0, variant)


def error_conducts(version: str) -> Iterator[Conduct]:
    """Yield the variants of the error of ADD."""
    for variant in cni_result.error_variants(version):
        yield _printing(ADD, 1, variant)


def _printing(operation: str, exit_code: int, variant: Variant) -> Conduct:
    answer = PluginAnswer(variant.content, exit_code)
    what = {(ADD, 0): "result", (ADD, 1): "error"}.get((operation, exit_code), operation)
    return Conduct(f"{what}: {variant}", {operation: answer}, variant.expected)
