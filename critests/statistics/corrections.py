"""Correction of p-values for having asked many questions at once."""

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted so that the chance of even one false alarm among all is at most the level
    (Holm, 1979).
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for number, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - number) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def benjamini_hochberg(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted so that of those at most the level that share is false alarms (Benjamini and
    Hochberg, 1995).
    """
    adjusted: dict[str, float] = {}
    smallest = 1.0
    ascending = sorted(p_values, key=lambda name: p_values[name])
    for rank in range(len(ascending), 0, -1):
        name = ascending[rank - 1]
        smallest = min(smallest, p_values[name] * len(ascending) / rank)
        adjusted[name] = smallest
    return {name: adjusted[name] for name in p_values}
