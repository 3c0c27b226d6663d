"""The conditions of a run, in words."""

from critests.record.run_record import RunConditions


def conditions_in_words(conditions: RunConditions) -> str:
    """Return the names of the conditions with the seed; empty without conditions."""
    names = ", ".join(conditions.names)
    return f"{names} (seed {conditions.seed})" if names else ""
