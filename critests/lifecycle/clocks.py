"""How much the clocks of one machine may differ."""

CLOCKS_DIFFER_NS = 500_000_000
"""Nanoseconds. A runtime's timestamp may come from a coarser clock than ours, such as that of a file system,
which advances with the kernel's tick.
"""
