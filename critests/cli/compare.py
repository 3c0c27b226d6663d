"""`critests compare`: the comparison of two runtimes or of two stored runs."""

from typing import Any, Final

import click

from critests.benchmark.scenario_profiles import COMPARE, PROFILES
from critests.cli.command_errors import of_comparisons
from critests.cli.option_types import output_option, share
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.node.starting.targets import RunSubject, ThrowawaySubject, parse_subject
from critests.record.files import write_atomically
from critests.report.comparison import (
    CompareSettings,
    RunComparison,
    compare_records,
    compare_sides,
    comparison_to_json,
    read_run,
)
from critests.report.comparison.comparison_markdown import comparison_to_markdown
from critests.report.comparison.comparison_terminal import print_comparison
from critests.report.comparison.html import comparison_to_html

HELP: Final = {
    "--profile": "live: compare (default: all rows, ten minutes), smoke (the first eight rows, two minutes),"
    " standard or full",
    "--select": "live: scenarios to measure (default: those of the profile)",
    "--deselect": "live: measure all but these scenarios",
    "--budget": "live: seconds of sampling, for both sides together",
    "--runtime-handler": "live: runtime handler of both sides",
}
FORMS: Final = {
    "json_file": comparison_to_json,
    "markdown_file": comparison_to_markdown,
    "html_file": comparison_to_html,
}
EPILOG = """\b
Each of A and B is one of
  unix:///run/containerd/containerd.sock   an endpoint, or tcp://host:port
  containerd, crio=/path                   a private runtime, started for the comparison
  handler=crun                             a handler of one runtime
  results/containerd/2.1.9/1795173190      a stored run: its folder or its run.json, or
  results/containerd/latest                the newest run of a runtime, of a version, or of all
A stored run is compared with another stored run. A stored live comparison has both sides: pass only A.

\b
Exit codes: 0 compared, whatever the result (critests gate judges it), 4 wrong usage, 5 not comparable"""


@click.command(cls=Sectioned, epilog=EPILOG)
@click.argument("a")
@click.argument("b", required=False)
@click.option(
    "--quantile",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="quantile to compare",
)
@click.option(
    "--noise-floor",
    callback=share,
    metavar="SHARE",
    help="report smaller differences as noise, e.g. 5% (default: 2% live, 5% between stored runs)",
)
@click.option(
    "--unlike-machines", is_flag=True, help="compare the speed of stored runs even if their machines differ"
)
@output_option("--json", "json_file", "write the comparison as JSON")
@output_option("--markdown", "markdown_file", "write the comparison as Markdown")
@output_option("--html", "html_file", "write the comparison as an HTML page")
@click.option(
    "--only", type=click.Choice(("speed", "conformance")), help="live: compare only this (default: both)"
)
@click.option(
    "--own-oci-runtimes",
    "own_oci",
    is_flag=True,
    help="live: each private runtime uses the OCI runtime that it finds (default: both use that of A)",
)
@click.option("--details", is_flag=True, help="print all that was measured and judged, above the table")
@run_options("compare", profiles=(*PROFILES, COMPARE), help_of=HELP)
def compare(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Compare the speed and conformance of A and B.

    Live runtimes are measured in one run, in interleaved random blocks. The speed of stored runs is compared
    if their machines are alike.
    """
    with of_comparisons():
        comparison = _compare(values)
        print_comparison(comparison, details=values["details"])
        for name, form in FORMS.items():
            if values[name] is not None:
                write_atomically(values[name], form(comparison))


def _compare(values: dict[str, Any]) -> RunComparison:
    how = CompareSettings(**{name: values[name] for name in ("quantile", "noise_floor", "unlike_machines")})
    a, b = parse_subject(values["a"]), parse_subject(values["b"]) if values["b"] is not None else None
    # the options of private runtimes are for both sides
    run = settings_from({**values, "cri_node": str(a)} if isinstance(a, ThrowawaySubject) else values)
    if isinstance(a, RunSubject) and b is None:
        earlier = read_run(a.path)
        if not earlier.two_sided:
            msg = f"{a.path} is a run of a single runtime: name a second run, B, to compare it with"
            raise click.UsageError(msg)
        return compare_sides(earlier.record, earlier.samples, how)
    if isinstance(a, RunSubject) and isinstance(b, RunSubject):
        runs = read_run(a.path), read_run(b.path)
        return compare_records(runs[0].record, runs[1].record, runs[0].samples, runs[1].samples, how)
    if b is None or isinstance(a, RunSubject) or isinstance(b, RunSubject):
        msg = (
            "a live runtime can only be compared with another live runtime: name two, or measure this one"
            " first and compare the two stored runs"
        )
        raise click.UsageError(msg)
    # a live comparison needs gRPC, stored runs do not
    from critests.cli.live_comparison import LiveOptions, compare_live  # noqa: PLC0415 - see above

    options = LiveOptions(how=how, only=values["only"] or "", run=run, own_oci=values["own_oci"])
    return compare_live(a, b, options)
