"""Faults derived from the API's description, so that none is missing."""

from critests_proof.derived.everything import derived_faults
from critests_proof.derived.fault import BELOW, KINDS, DerivedFault, Reach

__all__ = ["BELOW", "KINDS", "DerivedFault", "Reach", "derived_faults"]
