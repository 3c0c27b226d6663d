"""Data that tests send in both directions when all of it must arrive unchanged."""

NUMBERED = b"".join(b"%07d\n" % number for number in range(100_000))
"""Numbered lines, so that lost, duplicated or changed data shows."""
