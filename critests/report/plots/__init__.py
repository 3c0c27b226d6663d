"""Plots as inline SVG: pure functions from numbers to text, readable in light and in dark, on paper and on a
phone.

`figures` chooses what a run's samples deserve; `distribution`, `against_number`, `throughput`, `timeline` and
`phase_split` draw. A page that shows them has `STYLE` in its head once; `standalone` makes a file of one.
"""

from critests.report.plots.against import Level, against_number
from critests.report.plots.distribution import Sample, distribution
from critests.report.plots.drawing import STYLE, standalone
from critests.report.plots.figures import Figure, figures
from critests.report.plots.phases import phase_split
from critests.report.plots.throughput import law_of, throughput
from critests.report.plots.timeline import timeline

__all__ = [
    "STYLE",
    "Figure",
    "Level",
    "Sample",
    "against_number",
    "distribution",
    "figures",
    "law_of",
    "phase_split",
    "standalone",
    "throughput",
    "timeline",
]
