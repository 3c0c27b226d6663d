"""The release in which each part of CRI v1 appeared, and the comparison of releases. Standard library only.

The data is in `since.json`, next to this module: Kubernetes minor releases, as strings such as "1.28".
"""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypedDict, cast


class _Message(TypedDict):
    since: str
    fields: dict[str, str]


class _Data(TypedDict):
    as_of: str
    rpcs: dict[str, str]
    messages: dict[str, _Message]


@dataclass(frozen=True, order=True)
class Minor:
    """A Kubernetes minor release, or the absence of one. Ordered; hashable; `str` is the inverse of `parse`.

    `≤1.15` ("in 1.15 at the latest") compares like 1.15, the release that certainly has it. `-` ("no release
    is named") compares before every release, so that `since <= level` holds for each level.
    """

    major: int
    minor: int
    or_earlier: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> "Minor":
        """Parse `1.28`, `v1.28`, `≤1.15`, `<=1.15` or `-`.

        Raises:
            ValueError: The text is none of these. A patch release (`1.28.3`) is rejected, because the API
                changes in minor releases only.
        """
        if text.strip() == "-":
            return ALWAYS
        found = re.fullmatch(r"\s*(?P<earlier>≤|<=)?\s*v?(?P<major>\d+)\.(?P<minor>\d+)\s*", text, re.ASCII)
        if found is None:
            raise ValueError(f"not a Kubernetes minor release: {text!r} (expected 1.28, ≤1.15 or -)")
        return cls(int(found["major"]), int(found["minor"]), or_earlier=found["earlier"] is not None)

    def __str__(self) -> str:
        """Return the release in the spelling of the catalogue."""
        return "-" if self == ALWAYS else f"{'≤' if self.or_earlier else ''}{self.major}.{self.minor}"


ALWAYS = Minor(0, 0)
"""The meaning of `-`: before every release."""


@cache
def _data() -> _Data:
    return cast("_Data", json.loads(files("critests.api").joinpath("since.json").read_text(encoding="utf-8")))


def since_rpc(name: str) -> str:
    """Return the release in which an RPC first appeared: `since_rpc("RuntimeConfig") == "1.28"`.

    Raises:
        LookupError: CRI v1 has no such RPC.
    """
    return _found(_data()["rpcs"].get(name), "RPC", name)


def since_field(name: str) -> str:
    """Return the release in which a field first appeared: `since_field("ContainerStatus.stop_signal") ==
    "1.33"`.

    Raises:
        LookupError: CRI v1 has no such message, or the message has no such field.
    """
    message, _, short = name.partition(".")
    entry = _data()["messages"].get(message)
    return _found(entry and entry["fields"].get(short), "field", name)


def _found(release: str | None, kind: str, name: str) -> str:
    if release is None:
        raise LookupError(f"CRI v1 has no {kind} {name!r}")
    return release
