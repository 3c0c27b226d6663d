"""The `critests` command, with one module per subcommand."""

from critests.cli.command import main

__all__ = ["main"]
