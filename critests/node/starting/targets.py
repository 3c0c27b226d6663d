"""What a user can test or compare: an endpoint, a private runtime, a handler, or an earlier run. This is the
syntax of `--node`, `--against` and `critests compare`.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from critests.exit_codes import UsageError
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import run_named
from critests.runtimes import private_kinds
from critests.runtimes.runtime_settings import RuntimeSetting

_SCHEMES: Final = ("unix:", "tcp:")
_HANDLER: Final = "handler="
_HANDLER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class EndpointSubject:
    """A running runtime.

    Attributes:
        endpoint: `unix:///path` or `tcp://host:port`.
    """

    endpoint: str

    def __str__(self) -> str:
        """Return it as the user writes it."""
        return self.endpoint


@dataclass(frozen=True)
class ThrowawaySubject:
    """A runtime that critests starts and removes.

    Attributes:
        kind: Its name in `critests.runtimes.private_kinds`.
        binary: Its binary; None for the one on PATH.
    """

    kind: str
    binary: Path | None = None

    def __str__(self) -> str:
        """Return it as the user writes it."""
        return f"{self.kind}={self.binary}" if self.binary else self.kind


@dataclass(frozen=True)
class HandlerSubject:
    """A runtime handler of the runtime that `--runtime-endpoint` names, or that is found.

    Attributes:
        handler: Its name; empty for the default one.
    """

    handler: str

    def __str__(self) -> str:
        """Return it as the user writes it."""
        return f"{_HANDLER}{self.handler}"


@dataclass(frozen=True)
class RunSubject:
    """An earlier run.

    Attributes:
        path: Its folder or its `run.json`.
    """

    path: Path


LiveSubject: TypeAlias = EndpointSubject | ThrowawaySubject | HandlerSubject
Subject: TypeAlias = LiveSubject | RunSubject


def parse_subject(text: str, *, option: str = "") -> Subject:
    """Read what the user names. A folder that is called like a runtime is written `./containerd`.

    Args:
        text: what the user wrote.
        option: the option that it was written for, which errors name.

    Raises:
        UsageError: it is none of the four.
    """
    if text.startswith(_SCHEMES):
        return EndpointSubject(text)
    if text.startswith(_HANDLER):
        return HandlerSubject(text.removeprefix(_HANDLER))
    if text.partition("=")[0] in private_kinds.KINDS:
        return parse_throwaway(text, option=option)
    try:
        path = run_named(Path(text))
    except RecordUnreadable as error:
        raise UsageError(f"{option} {error}".lstrip()) from error
    if path.is_socket() or (path.suffix == ".sock" and not path.exists()):
        return EndpointSubject(f"unix://{path.absolute()}")
    if path.exists():
        return RunSubject(path)
    raise UsageError(
        f"{option} {text!r} is none of what can be compared: an endpoint (unix:///… or tcp://…), a private"
        f" runtime ({private_kinds.forms()}), {_HANDLER}NAME, or an earlier run (its folder, its run.json, or"
        " latest)".lstrip()
    )


def parse_throwaway(text: str, *, option: str = "--node") -> ThrowawaySubject:
    """Read what follows `--node`: the name of a kind alone, or with the path of its binary, `NAME=/path`.

    Args:
        text: what the user wrote.
        option: the option that it was written for, which errors name.

    Raises:
        UsageError: the text is of another form, or the file named cannot be run.
    """
    said = f"{option} {text}".lstrip()
    kind, equals, path = text.partition("=")
    if kind not in private_kinds.KINDS:
        raise UsageError(
            f"{said}: there is no way to start {kind or 'nothing'!r} here; known are"
            f" {' and '.join(private_kinds.KINDS)}"
        )
    if not equals:
        return ThrowawaySubject(kind)
    return ThrowawaySubject(kind, _binary(path, kind, said))


def parse_handler_binaries(texts: Sequence[str], *, option: str = "--handler-binary") -> dict[str, Path]:
    """Read what follows `--handler-binary`: `NAME=/path` of a handler and its OCI runtime, or its own shim.

    Args:
        texts: what the user wrote, in order.
        option: the option that it was written for, which errors name.

    Raises:
        UsageError: a text is of another form, a handler is named twice, or a file named cannot be run.
    """
    found: dict[str, Path] = {}
    for text in texts:
        said = f"{option} {text}"
        name, equals, path = text.partition("=")
        if not equals or not _HANDLER_NAME.fullmatch(name):
            raise UsageError(f"{said}: expected NAME=PATH with a name of letters, digits, dots and dashes")
        if name in found:
            raise UsageError(f"{said}: the handler {name} has {found[name]} already")
        found[name] = _binary(path, "OCI runtime's", said)
    return found


def parse_node_settings(
    names: Sequence[str], kind: str, *, option: str = "--node-setting"
) -> tuple[RuntimeSetting, ...]:
    """Read what follows `--node-setting`: names of configurations that a kind has.

    Args:
        names: what the user wrote.
        kind: the name of the private runtime's kind.
        option: the option that it was written for, which errors name.

    Raises:
        UsageError: the kind has no such configuration.
    """
    known = private_kinds.KINDS[kind].node_settings
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"{option} {unknown[0]}: {kind} has no such setting; it has {', '.join(known)}")
    return tuple(setting for name in names for setting in known[name].settings)


def parse_program(text: str, *, option: str) -> Path:
    """Read the path of a runtime's binary.

    Args:
        text: what the user wrote.
        option: the option that it was written for, which errors name.

    Raises:
        UsageError: it is no file that can be run.
    """
    return _binary(text, "runtime's", f"{option} {text}")


def _binary(path: str, whose: str, said: str) -> Path:
    if not path:
        raise UsageError(f"{said}: no path follows the equals sign")
    binary = Path(path).absolute()
    if binary.is_dir():
        raise UsageError(f"{said}: {binary} is a directory; name the {whose} binary in it")
    if not binary.exists():
        raise UsageError(f"{said}: there is no file {binary}")
    if not os.access(binary, os.X_OK):
        raise UsageError(f"{said}: {binary} is not executable")
    return binary
