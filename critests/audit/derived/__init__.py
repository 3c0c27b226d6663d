"""The ways to break the API, derived from the API itself, so that none is forgotten."""

from critests.audit.derived.everything import derived_faults
from critests.audit.derived.fault import KINDS, DerivedFault, Reach

__all__ = ["KINDS", "DerivedFault", "Reach", "derived_faults"]
