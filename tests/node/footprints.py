"""The record of a private runtime that never ran."""

import dataclasses
from pathlib import Path

from critests.node.run_state.footprint import Footprint
from critests.node.run_state.locks import ProcessIdentity


def footprint_in(folder: Path, kind: str = "containerd", **changes: object) -> Footprint:
    """Return the record of a runtime with directories below a folder; `changes` replace its fields."""
    owner, subnets = ProcessIdentity(1, 1, "b"), ("10.192.0.0/20",)
    made = Footprint(kind, "1-abc", "a1b2c3", folder / "state", folder / "root", subnets, owner)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # a test names real fields
