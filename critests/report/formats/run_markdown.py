"""Parts of the Markdown about a run, for GitHub."""

from collections.abc import Sequence
from typing import Final

from critests.record.operations import OperationResult
from critests.record.run_record import RunRecord
from critests.report.comparison import Operation
from critests.report.comparison.wording import amount, interval, ratio, verdict_word
from critests.report.facts.operation_names import median, row_name, tail
from critests.report.run_kinds import kind_of
from critests.report.wording.markdown import code, prose, table
from critests.report.wording.quantities import quantity
from critests.report.wording.texts import duration, plural, utc_time

WORDS: Final = {True: "yes", False: "no", None: "unknown"}


def headline(record: RunRecord) -> str:
    """Return one line: runtime, version, verdict."""
    kind = kind_of(record.kind)
    runtime = f"{prose(record.runtime.name, 60)} {prose(record.runtime.version, 60)}"
    return f"{prose(kind.title, 44)} of {runtime}: {kind.verdict(record)}"


def facts(record: RunRecord, url: str = "") -> list[str]:
    """Return the reason of the exit code, the start and the duration of the run."""
    where = (
        f" · [the job]({url})" if url.startswith("https://") and not set(url) & set(" ()<>[]\"'`\\\n") else ""
    )
    took = duration(max(record.finished - record.started, 0))
    return [
        prose(record.exit_reason or "no reason was recorded", 500),
        "",
        f"{utc_time(record.started)} · {took} · run {code(record.run_id, 60)}{where}",
    ]


def operation_changes(found: Sequence[Operation]) -> list[str]:
    """Return a row per operation that changed."""
    rows = [
        [
            code(each.label, 200),
            amount(each.a.value, each.unit),
            amount(each.b.value, each.unit),
            ratio(each.ratio),
            interval(each.low, each.high),
            verdict_word(each.verdict, each.unit)
            + (f", fails {each.errors_verdict} often" if each.errors_verdict else ""),
        ]
        for each in found
    ]
    return table(["operation", "median before", "now", "ratio", "interval", "verdict"], rows, right=4)


def operations(found: Sequence[OperationResult]) -> list[str]:
    """Return a row per operation: median, tail quantile, number of samples, notes."""
    rows = []
    for operation in found:
        middle, worst = median(operation), tail(operation)
        failed = sum(operation.errors.values())
        notes = [
            plural(failed, "error") if failed else "",
            "client-bound" if operation.client_bound else "",
            prose(operation.note, 200),
        ]
        rows.append(
            [
                code(row_name(operation), 200),
                quantity(middle.value, operation.unit) if middle else "",
                worst.text(operation.unit) if worst and worst != middle else "",
                f"{operation.count:,}",
                "; ".join(note for note in notes if note),
            ]
        )
    return table(["operation", "median", "tail (95 % interval)", "samples", "note"], rows, right=3)
