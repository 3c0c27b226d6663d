"""The names of two sides in reports: `containerd 2.1` and `CRI-O 1.36`, not A and B."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.report.wording.texts import one_line
from critests.runtimes.known_runtimes import KINDS

LONGEST: Final = 48
_TITLES: Final = {kind.title.lower(): kind.title for kind in KINDS}


@dataclass(frozen=True)
class Reported:
    """What a runtime reports about itself, and the handlers that are used.

    Attributes:
        name: Its name, as Version reports it.
        version: Its version.
        handlers: The handlers, empty for the default one.
        binary: Path of the daemon's binary, or empty.
        oci_runtime: Its OCI runtime, or empty.
    """

    name: str
    version: str
    handlers: Sequence[str] = ()
    binary: str = ""
    oci_runtime: str = ""


def distinct_names(a: Reported, b: Reported) -> tuple[str, str]:
    """Return the shortest names that distinguish two sides: runtime, version, handler, OCI runtime, path of
    the binary or, if nothing differs, order.
    """
    for named in (_short, _whole, _with_handler, _with_oci_runtime, _with_binary):
        left, right = named(a), named(b)
        if left != right:
            return left, right
    name = _short(a)
    return f"{name}, first", f"{name}, second"


def _title(side: Reported) -> str:
    return one_line(_TITLES.get(side.name.lower(), side.name) or "unknown runtime", LONGEST)


def _short(side: Reported) -> str:
    version = re.match(r"v?(\d+\.\d+)", side.version)
    return f"{_title(side)} {version[1]}" if version else _whole(side)


def _whole(side: Reported) -> str:
    return f"{_title(side)} {one_line(side.version, LONGEST)}".strip()


def _with_handler(side: Reported) -> str:
    handlers = ", ".join(one_line(handler, LONGEST) or "default" for handler in side.handlers)
    return f"{_short(side)} ({handlers})" if any(side.handlers) else _short(side)


def _with_oci_runtime(side: Reported) -> str:
    return f"{_short(side)} with {one_line(side.oci_runtime, LONGEST) or 'an unknown OCI runtime'}"


def _with_binary(side: Reported) -> str:
    return f"{_short(side)} at {one_line(side.binary, LONGEST) or 'an unknown path'}"
