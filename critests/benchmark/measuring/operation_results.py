"""The result of an operation: statistics of its samples, and the facts recorded while they were taken."""

import dataclasses
from collections import Counter
from collections.abc import Mapping

from critests.record.operations import OperationResult
from critests.record.samples import LATE_SECONDS, Series
from critests.record.summaries import summarised
from critests.record.units import SECONDS
from critests.statistics.stationarity import warm_up

CLIENT_BOUND_SHARE = 1 / 3
"""Above this share of the median, the result measures the client as much as the runtime."""


def result_of(
    series: Series,
    *,
    headline: bool = False,
    stopped: str = "",
    client: Mapping[str, float] | None = None,
    rpcs: Counter[str] | None = None,
    reference: float | None = None,
    resources: Mapping[str, float] | None = None,
    note: str = "",
    in_order: bool = True,
    client_share: float | None = None,
) -> OperationResult:
    """Summarise a series.

    Args:
        series: the samples, with the warm-up marked.
        headline: whether the scenario is about this operation.
        stopped: why sampling ended.
        client: RPC to the seconds that the client itself needs for a call.
        rpcs: the RPCs of the operation, and the number of calls of each.
        reference: seconds that the OCI runtime alone needs for the same work.
        resources: what the runtime used for one operation.
        note: a sentence for the reader.
        in_order: whether the samples are ordered in time, so that they can be steady or not.
        client_share: the share of the windows in which the client itself used CPU time, if measured.
    """
    plain = summarised(series)
    median = plain.quantiles["0.5"].value if "0.5" in plain.quantiles else None
    cost = _client_seconds(series, client or {}, rpcs)
    if cost is None and client_share is not None and median is not None and series.unit == SECONDS:
        cost = client_share * median
    share = client_share if client_share is not None else cost / median if cost and median else 0.0
    return dataclasses.replace(
        plain,
        headline=headline,
        steadiness=warm_up(series.value).steadiness.value if in_order else "",
        stopped=stopped,
        client_seconds=cost,
        client_bound=share > CLIENT_BOUND_SHARE,
        over_reference=round(median / reference, 3) if median is not None and reference else None,
        resources=dict(resources or {}),
        late_share=round(sum(late > LATE_SECONDS for late in series.late) / len(series.late), 4)
        if series.late
        else None,
        note=note,
    )


def _client_seconds(series: Series, client: Mapping[str, float], rpcs: Counter[str] | None) -> float | None:
    if series.unit != SECONDS or not rpcs or any(rpc not in client for rpc in rpcs):
        return None
    return sum(client[rpc] * count for rpc, count in rpcs.items())
