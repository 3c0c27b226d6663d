"""In a live comparison, the measurements of side B have the labels of its runtime."""

import dataclasses

from critests.record.identity import RuntimeIdentity
from critests.report.formats import Source
from tests.report.formats import samples
from tests.report.formats.samples import rendered


def comparison() -> Source:
    record = samples.benchmark().record
    assert record.benchmark is not None
    other = RuntimeIdentity(name="cri-o", version="1.34.1")
    facts = dataclasses.replace(record.benchmark, sides={"a": record.runtime, "b": other})
    operations = [
        dataclasses.replace(operation, side=side)
        for operation in record.operations[:2]
        for side in ("a", "b")
    ]
    return Source(record=dataclasses.replace(record, benchmark=facts, operations=operations))


def test_metrics_name_the_runtime_of_each_side() -> None:
    lines = [line for line in rendered("prometheus", comparison()).splitlines() if 'side="b"' in line]

    assert lines
    assert all('{runtime="cri-o",runtime_version="1.34.1",' in line for line in lines)


def test_rows_of_the_sides_are_apart() -> None:
    document = rendered("junit", comparison())
    assert document.count('name="B-01 Version [a]"') == document.count('name="B-01 Version [b]"') == 1
