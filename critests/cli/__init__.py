"""The `critests` command: a thin front, one module a command."""

from critests.cli.command import main

__all__ = ["main"]
