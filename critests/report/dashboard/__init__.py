"""A static site over all runs: grids of requirements and runs, benchmark series, comparisons of runtimes."""

from critests.report.dashboard.site import Built, Options, SiteNotWritten, build

__all__ = ["Built", "Options", "SiteNotWritten", "build"]
