"""The ways to break the API, derived from the API itself, so that none is forgotten."""

from critests_proof.derived.everything import derived_faults
from critests_proof.derived.fault import BELOW, KINDS, DerivedFault, Reach

__all__ = ["BELOW", "KINDS", "DerivedFault", "Reach", "derived_faults"]
