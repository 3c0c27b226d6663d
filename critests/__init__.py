"""critests: conformance and benchmark suite for CRI runtimes."""

__version__ = "0.1.0"
