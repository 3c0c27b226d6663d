"""Every RPC of the API: whether it is mandatory, since when it exists, and which aspect of the catalogue
judges its basic function.

When a step of a test's set-up fails, the test cannot judge its own promise: it is `blocked` by the
requirement of the aspect that judges that step. The data are in `rpcs.toml` next to this module.
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
    """Whether a runtime that knows the release in which it came must implement it."""
    judge: str
    """The aspect that judges its basic function ("SBX-02", "RT-25/accept")."""
    why: str
    """Why it is mandatory or optional, for a reader."""

    @property
    def since(self) -> str:
        """Kubernetes minor release in which it came ("1.28"); "1.20" is CRI v1 itself."""
        return since_rpc(self.name)

    def may_be_missing(self, known_minor: int | None) -> bool:
        """Return whether a runtime may return Unimplemented for it.

        Args:
            known_minor: the newest minor that the runtime is proven, or declared, to know; None if unknown:
                then only CRI v1 itself can be expected.
        """
        since = minor_of(self.since) or _FIRST_MINOR
        return not self.mandatory or since > max(known_minor or _FIRST_MINOR, _FIRST_MINOR)


_FIRST_MINOR = 20
"""CRI v1 itself."""


@cache
def all_rpcs() -> Mapping[str, Rpc]:
    """Return every RPC by its name, in the order of the data.

    Raises:
        CatalogueError: an entry is invalid; the text names it.
    """
    return read(Path(__file__).parent / "rpcs.toml")


def read(file: Path) -> Mapping[str, Rpc]:
    """Read such a file.

    Raises:
        CatalogueError: an entry is invalid; the text names the file and the entry.
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
    """Return the entry of an RPC; None for an RPC that the API does not have.

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
