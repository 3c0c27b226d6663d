"""A run of a command that asks the runtime itself, without pytest: begun, connected, and ended."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from critests.exit_codes import CannotTest

if TYPE_CHECKING:
    from critests.client import Connection
    from critests.run.context import RunContext
    from critests.run.settings import Settings


@contextlib.contextmanager
def connected_run(settings: "Settings") -> Iterator[tuple["RunContext", "Connection"]]:
    """Begin a run and connect to its runtime; at the end say what could not be removed.

    Raises:
        CannotTest: there is nothing to ask, or what was done needs a step that failed.
        UsageError: an option makes no sense with this runtime.
    """
    from critests.report.wording.reasons import said  # noqa: PLC0415 - see below
    from critests.run.beginning import begin_run  # noqa: PLC0415 - `--help` must not wait for gRPC
    from critests.run.classification import classify  # noqa: PLC0415 - see above
    from critests.run.outcomes import Blocked, SetUpFailed  # noqa: PLC0415 - see above

    context = begin_run(settings, keep_results=True)
    try:
        if context.gone:
            raise CannotTest(said(context.gone))
        with contextlib.closing(context.connect()) as connection:
            yield context, connection
    except (Blocked, SetUpFailed) as error:
        raise CannotTest(said(classify(error, "setup").why)) from error
    finally:
        for problem in context.end():
            click.echo(f"left behind: {problem}", err=True)
