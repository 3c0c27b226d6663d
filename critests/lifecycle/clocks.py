"""How far the times of one machine's clocks may lie apart."""

CLOCKS_DIFFER_NS = 500_000_000
"""A time that a runtime tells may come from a clock of another resolution than ours (that of a file, for
instance, which moves on with the kernel's tick); nanoseconds.
"""
