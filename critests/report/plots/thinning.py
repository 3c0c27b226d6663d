"""Thinning of points: a plot of ten thousand samples is as small as one of five hundred, and looks the
same.
"""

from collections.abc import Sequence
from typing import Final

COLUMNS: Final = 180
"""Columns of a thinned time series."""


def extremes(points: Sequence[tuple[float, float]], columns: int = COLUMNS) -> list[tuple[float, float]]:
    """Return the first, lowest, highest and last point of each column in order, so that no peak is lost.

    Args:
        points: Points, ascending in x.
        columns: Number of columns, with at most four points each.
    """
    if len(points) <= 4 * columns:
        return list(points)
    first, last = points[0][0], points[-1][0]
    width = (last - first) / columns or 1.0
    groups: dict[int, list[int]] = {}
    for index, (x, _) in enumerate(points):
        groups.setdefault(min(int((x - first) / width), columns - 1), []).append(index)
    selected: set[int] = set()
    for members in groups.values():
        by_height = sorted(members, key=lambda index: points[index][1])
        selected |= {members[0], members[-1], by_height[0], by_height[-1]}
    return [points[index] for index in sorted(selected)]


def apart(points: Sequence[tuple[float, float]], distance: float) -> list[tuple[float, float]]:
    """Leave out points whose Manhattan distance to the last selected one is below `distance`; the first and
    the last are always selected.
    """
    selected: list[tuple[float, float]] = []
    for x, y in points[:-1]:
        if not selected or abs(x - selected[-1][0]) + abs(y - selected[-1][1]) >= distance:
            selected.append((x, y))
    return [*selected, *points[-1:]]
