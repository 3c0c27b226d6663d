"""Latencies in an HDR histogram: microseconds to an hour, three significant digits, mergeable, in the
encoding that other tools read.
"""

from collections.abc import Iterable

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]  # the package ships no types

LOWEST_MICROSECONDS = 1
HIGHEST_MICROSECONDS = 3600 * 10**6
DIGITS = 3
MICRO = 1e-6


class Latencies:
    """Durations of one operation."""

    def __init__(self) -> None:
        self._histogram = HdrHistogram(LOWEST_MICROSECONDS, HIGHEST_MICROSECONDS, DIGITS)

    @classmethod
    def merged(cls, encoded: Iterable[str]) -> "Latencies":
        """Return the histogram of all values of several encoded ones; empty texts stand for empty
        histograms.
        """
        total = cls()
        for text in encoded:
            if text:
                total._histogram.decode_and_add(text.encode())
        return total

    def record(self, seconds: float) -> None:
        """Add a duration; below a microsecond counts as one, above an hour as an hour."""
        self._histogram.record_value(
            min(max(round(seconds / MICRO), LOWEST_MICROSECONDS), HIGHEST_MICROSECONDS)
        )

    def encode(self) -> str:
        """Return it in the compressed base64 form of HdrHistogram (V2); empty where it is empty."""
        return str(self._histogram.encode().decode()) if self.count else ""

    @property
    def count(self) -> int:
        """Number of durations."""
        return int(self._histogram.get_total_count())

    @property
    def minimum(self) -> float:
        """The smallest, in seconds."""
        return float(self._histogram.get_min_value() * MICRO)

    @property
    def maximum(self) -> float:
        """The largest, in seconds."""
        return float(self._histogram.get_max_value() * MICRO)

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return float(self._histogram.get_mean_value() * MICRO)

    def quantile(self, at: float) -> float:
        """Return a quantile in seconds, 0.99 for p99."""
        return float(self._histogram.get_value_at_percentile(at * 100) * MICRO)

    def at_rank(self, rank: float) -> float:
        """Return the value of a rank, 1 for the smallest."""
        return self.quantile(min(rank / self.count, 1.0))

    def above(self, seconds: float) -> int:
        """Return how many are above a duration, as far as three digits tell."""
        limit = self._histogram.get_highest_equivalent_value(round(seconds / MICRO))
        return sum(
            int(item.count_added_in_this_iter_step)
            for item in self._histogram.get_recorded_iterator()
            if item.value_iterated_to > limit
        )
