"""What can be compared: an endpoint, a throwaway runtime, a handler, or an earlier run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import click

KINDS: Final = ("containerd", "crio")
"""Runtimes that critests starts itself."""
SCHEMES: Final = ("unix://", "tcp://")
HANDLER: Final = "handler="
EXPECTED: Final = (
    "an endpoint (unix:///… or tcp://…), a throwaway runtime (containerd, containerd=/path, crio,"
    " crio=/path), handler=NAME, or an earlier run (its folder or its run.json)"
)


@dataclass(frozen=True)
class EndpointSubject:
    """A runtime that is there already.

    Attributes:
        endpoint: `unix:///path` or `tcp://host:port`.
    """

    endpoint: str


@dataclass(frozen=True)
class ThrowawaySubject:
    """A runtime that critests starts and removes again.

    Attributes:
        kind: `containerd` or `crio`.
        binary: Its binary; None for the one on PATH.
    """

    kind: str
    binary: Path | None = None


@dataclass(frozen=True)
class HandlerSubject:
    """A runtime handler of the runtime that `--runtime-endpoint` names, or that is found.

    Attributes:
        handler: Its name; empty for the default one.
    """

    handler: str


@dataclass(frozen=True)
class RunSubject:
    """An earlier run.

    Attributes:
        path: Its folder or its `run.json`.
    """

    path: Path


LiveSubject: TypeAlias = EndpointSubject | ThrowawaySubject | HandlerSubject
Subject: TypeAlias = LiveSubject | RunSubject


def parse_subject(text: str) -> Subject:
    """Read what the user wants to compare. A folder that is called like a runtime is written `./containerd`.

    Raises:
        click.UsageError: it is none of the four.
    """
    kind, equals, binary = text.partition("=")
    if text.startswith(SCHEMES):
        return EndpointSubject(text)
    if text.startswith(HANDLER):
        return HandlerSubject(text.removeprefix(HANDLER))
    if kind in KINDS:
        if equals and not Path(binary).is_file():
            msg = f"{text}: there is no file {binary!r}"
            raise click.UsageError(msg)
        return ThrowawaySubject(kind, Path(binary) if equals else None)
    path = Path(text)
    if path.is_socket():
        return EndpointSubject(f"unix://{path.absolute()}")
    if path.exists():
        return RunSubject(path)
    msg = f"{text!r} is none of what can be compared: {EXPECTED}"
    raise click.UsageError(msg)
