"""`critests`: its subcommands, and its exit codes."""

import importlib
import sys
import traceback

import click

import critests
from critests.cli.extras import EXTRAS, missing_packages
from critests.exit_codes import CannotTest, ExitCode
from critests.process_start import raise_at_stop_signals
from critests.report.terminal.broken_pipe import survive_broken_pipes

EPILOG = """\b
Exit codes, the same as pytest's:
  0  no new failure     1  a new failure          2  interrupted
  3  the suite failed   4  wrong usage            5  could not be tested

\b
Getting started:
  critests doctor                     report what can be tested on this machine
  critests run --node containerd      validate a private containerd, started for the run
  critests run --select SBX           run only the tests of the sandbox lifecycle"""


COMMANDS = {
    "run": "Validate a CRI runtime and report which requirements it breaks.",
    "bench": "Measure the latency and throughput of a CRI runtime.",
    "load": "Put load on a runtime with Locust.",
    "explore": "Search for sequences of calls that break the CRI, at random.",
    "compare": "Compare the speed and conformance of A and B.",
    "gate": "Decide whether RUN passes, as one exit code.",
    "nightly": "Run, measure, compare with the last good run, and notify.",
    "doctor": "Report what can be tested here and what is missing.",
    "report": "Export stored runs to the formats of other tools.",
    "results": "List, prune and merge stored runs.",
    "dashboard": "Build a static site from all runs below RESULTS.",
    "clean": "Remove what interrupted runs left behind, and nothing else.",
    "bundle": "Write critests and its packages into a file, for nodes without network.",
    "images": "List the test images, write them to disk, or serve them.",
}
"""The first sentence of each command's help, repeated here so that listing them imports no command."""
BECOME_PYTEST = frozenset({"run", "bench"})
"""Commands that leave nothing to clean up before they become pytest: Ctrl-C ends them at once."""


class Lazy(click.Group):
    """Imports a command when it is used: `--help` and completion must not wait for gRPC."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands, most used first."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"critests.cli.{cmd_name}"), cmd_name)
        if cmd_name not in BECOME_PYTEST:
            raise_at_stop_signals()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
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
    """Test which MUSTs of the CRI a runtime (containerd, CRI-O, …) meets, and how fast it is."""


def main() -> None:
    """Run the command line: exit with 4 after wrong usage, 2 after Ctrl-C, 5 if nothing could be tested and
    3 after an error of the suite. A closed standard output does not change the exit code.
    """
    survive_broken_pipes()
    try:
        # commands return None; an int is the code of a `click.exceptions.Exit`, which click returns when
        # standalone_mode is off
        ended = group.main(standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else ExitCode.NO_NEW_FAILURE)
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
    except Exception as error:  # noqa: BLE001 - Python would exit with 1, which means a broken MUST
        if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS["bench"]:
            click.ClickException(missing_packages("bench")).show()
            sys.exit(ExitCode.USAGE)
        traceback.print_exc()
        sys.exit(ExitCode.HARNESS_ERROR)
