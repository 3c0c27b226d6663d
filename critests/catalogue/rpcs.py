"""Every RPC of the API: whether a runtime must have it, since when there is such an RPC, and which aspect of
the catalogue judges its plain work.

When a step of a test's set-up fails, the test cannot say anything about its own promise: it is `blocked` by
the requirement of the aspect that judges the step. The data is `rpcs.toml` beside this module.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from critests.api.since import since_rpc
from critests.catalogue.requirements import CatalogueError, minor_of


@dataclass(frozen=True, slots=True)
class Rpc:
    """One method of the API."""

    name: str
    mandatory: bool
    """A runtime that knows the release in which it came must have it."""
    judge: str
    """The aspect that judges whether it does its plain work ("SBX-02", "RT-25/accept")."""
    why: str
    """What argues for its being mandatory or optional, for a reader."""

    @property
    def since(self) -> str:
        """Kubernetes minor in which it came ("1.28"); "1.20" is CRI v1 itself."""
        return since_rpc(self.name)

    def may_be_missing(self, known_minor: int | None) -> bool:
        """Say whether a runtime may answer it with Unimplemented.

        Args:
            known_minor: the newest minor that the runtime is proven, or declared, to know; None where that is
                not known, and only CRI v1 itself can be expected.
        """
        since = minor_of(self.since) or _FIRST_MINOR
        return not self.mandatory or since > max(known_minor or _FIRST_MINOR, _FIRST_MINOR)


_FIRST_MINOR = 20
"""CRI v1 itself."""


@cache
def all_rpcs() -> Mapping[str, Rpc]:
    """Return every RPC by its name, in the order of the data.

    Raises:
        CatalogueError: an entry does not hold together; the text names it.
    """
    return read(Path(__file__).parent / "rpcs.toml")


def read(file: Path) -> Mapping[str, Rpc]:
    """Read such a file.

    Raises:
        CatalogueError: an entry does not hold together; the text names the file and the entry.
    """
    found: dict[str, Rpc] = {}
    for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items():
        try:
            found[name] = Rpc(name=name, **entry)
            since_rpc(name)
        except (LookupError, TypeError) as error:
            msg = f"{file.name}: {name}: {error}"
            raise CatalogueError(msg) from error
    return MappingProxyType(found)


def rpc_of(name: str) -> Rpc | None:
    """Return what is known of an RPC, None for one that the API does not have.

    Args:
        name: the bare name ("RunPodSandbox"), or the full path of the method
            ("/runtime.v1.RuntimeService/RunPodSandbox").
    """
    return all_rpcs().get(name.rpartition("/")[2])


def judge_of(name: str) -> str | None:
    """Return the id of the aspect that judges an RPC, None for an RPC that the API does not have.

    Args:
        name: as for `rpc_of`.
    """
    found = rpc_of(name)
    return found.judge if found else None
