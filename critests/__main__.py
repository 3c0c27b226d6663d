"""`critests`, and `python -m critests`."""

from critests.process_start import leave_at_stop_signals


def main() -> None:
    """Run the command line; see `critests.cli.command.main`."""
    leave_at_stop_signals()
    from critests.cli import main as command  # noqa: PLC0415 - its imports take time, in which Ctrl-C is handled

    command()


if __name__ == "__main__":
    main()
