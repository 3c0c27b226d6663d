"""Units of measured values, and which of them are better."""

SECONDS, PER_SECOND, BYTES, BYTES_PER_SECOND, COUNT = "s", "1/s", "B", "B/s", "1"
"""Units of series; nothing else is stored, readers choose milliseconds or megabytes."""
LOWER, HIGHER, NEITHER = "lower", "higher", ""
