import csv
import io

import pytest

from critests.report.formats.growth_csv import render
from critests.report.formats.source import NotExported, Source
from tests.report.facts.test_growth import NUMBERS, at
from tests.report.sample_benchmark import sample_benchmark


def source(*operations: object) -> Source:
    record, _ = sample_benchmark(size=20, operations=list(operations))
    return Source(record=record)


def test_every_number_has_its_point_and_its_line() -> None:
    text = render(source(*(at(number, 0.001 + 0.00002 * number, side="a") for number in NUMBERS)))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))

    assert [float(row["number"]) for row in rows] == list(NUMBERS)
    assert [float(row["median"]) for row in rows] == pytest.approx(
        [0.001 + 0.00002 * number for number in NUMBERS]
    )
    assert all(float(row["line"]) == pytest.approx(float(row["median"]), rel=0.02) for row in rows)
    assert {(row["side"], row["by"], row["growth"]) for row in rows} == {("a", "pods", "linear")}
    assert float(rows[0]["one_more_low"]) < 0.00002 < float(rows[0]["one_more_high"])


def test_what_starts_like_a_formula_is_none() -> None:
    text = render(source(*(at(number, 1.0, operation="=1+1") for number in NUMBERS)))

    assert ",'=1+1," in text


def test_a_run_without_growth_says_so() -> None:
    with pytest.raises(NotExported, match="three numbers"):
        render(source(at(1, 1.0)))
