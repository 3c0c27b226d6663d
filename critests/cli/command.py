"""`critests`: what it can do, and how it ends."""

import importlib
import sys
import traceback

import click

import critests
from critests.cli.extras import missing_packages
from critests.exit_codes import CannotTest, ExitCode
from critests.report.terminal.broken_pipe import outlast_readers

EPILOG = """\b
Exit codes, the same as pytest's:
  0  conforms           1  a MUST is broken       2  interrupted
  3  the suite failed   4  wrong usage            5  could not be tested

\b
A first look:
  critests run --node containerd      a throwaway containerd of this machine
  critests doctor                     what could be tested on the runtime here
  critests run --select SBX           only the life of sandboxes"""


COMMANDS = {
    "run": "Validate a CRI runtime and report what it keeps and what it breaks.",
    "bench": "Measure a CRI runtime: latency and throughput of the hot path and what surrounds it.",
    "load": "Put load on a runtime and report latencies, errors and throughput.",
    "explore": "Look for sequences of calls that break a promise, at random.",
    "compare": "Compare speed and conformance of A and B.",
    "gate": "Decide whether RUN may pass: conformance and speed, one exit code, and ten lines that explain"
    " it.",
    "nightly": "Run everything that a night needs.",
    "doctor": "Say what can be tested here, what is missing, and how to get it.",
    "report": "Write stored runs in a format that others read.",
    "results": "List, prune and merge stored runs.",
    "dashboard": "Build a static site from all runs below RESULTS (default ./results).",
    "clean": "Remove what interrupted runs left behind, and nothing else.",
    "images": "The test images: list them, write them to disk, or serve them.",
}
"""What each does, in the first sentence of its own help: no command is imported to list them."""


class Lazy(click.Group):
    """Imports a command when it is used: `--help` and completion must not wait for gRPC."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands, the most used first."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"critests.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, from what is known of them without importing any."""
        del ctx
        longest = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [
            (name, click.Command(name, help=sentence).get_short_help_str(longest))
            for name, sentence in COMMANDS.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=Lazy,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(critests.__version__, prog_name="critests")
def group() -> None:
    """Test whether a CRI runtime (containerd, CRI-O, …) keeps its promises."""


def main() -> None:
    """Run the command line: wrong usage ends with 4, Ctrl-C with 2, what cannot be tested with 5, a mistake
    of ours with 3. Whether anybody reads what is printed changes nothing.
    """
    outlast_readers()
    try:
        # commands return nothing: a number is the exit code of a `click.exceptions.Exit`, which click hands
        # back instead of ending
        ended = group.main(standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else ExitCode.CONFORMS)
    except click.UsageError as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except CannotTest as error:
        click.ClickException(str(error)).show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("critests: interrupted\n")
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - Python would end with 1: the runtime breaks a promise
        if isinstance(error, ModuleNotFoundError) and error.name in {"numpy", "scipy"}:
            click.ClickException(missing_packages("numpy", "scipy")).show()
            sys.exit(ExitCode.USAGE)
        traceback.print_exc()
        sys.exit(ExitCode.HARNESS_ERROR)
