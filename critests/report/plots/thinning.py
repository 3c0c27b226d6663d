"""Fewer places for the same picture: a drawing of ten thousand samples is as small as one of five hundred."""

from collections.abc import Sequence
from typing import Final

COLUMNS: Final = 180
"""Columns into which a thinned time series falls."""


def extremes(points: Sequence[tuple[float, float]], columns: int = COLUMNS) -> list[tuple[float, float]]:
    """Keep the first, lowest, highest and last place of each column, in their order, so that no peak is lost.

    Args:
        points: Places, ascending in x.
        columns: Number of columns; at most four places each are kept.
    """
    if len(points) <= 4 * columns:
        return list(points)
    first, last = points[0][0], points[-1][0]
    width = (last - first) / columns or 1.0
    groups: dict[int, list[int]] = {}
    for index, (x, _) in enumerate(points):
        groups.setdefault(min(int((x - first) / width), columns - 1), []).append(index)
    kept: set[int] = set()
    for members in groups.values():
        by_height = sorted(members, key=lambda index: points[index][1])
        kept |= {members[0], members[-1], by_height[0], by_height[-1]}
    return [points[index] for index in sorted(kept)]


def apart(points: Sequence[tuple[float, float]], distance: float) -> list[tuple[float, float]]:
    """Leave out places that are nearer than `distance` to the last one kept, both directions added; the first
    and the last stay.
    """
    kept: list[tuple[float, float]] = []
    for x, y in points[:-1]:
        if not kept or abs(x - kept[-1][0]) + abs(y - kept[-1][1]) >= distance:
            kept.append((x, y))
    return [*kept, *points[-1:]]
