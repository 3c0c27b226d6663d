"""Metrics say what is broken in words."""

from critests.report.facts.explanations import title_of
from critests.report.formats import Source, prometheus
from tests.report.store.small_run import small_run


def test_the_metric_of_a_broken_requirement_has_its_promise() -> None:
    text = prometheus.render(Source(record=small_run({"SBX-01": "F", "SBX-02": "P"})))

    results = [line for line in text.splitlines() if line.startswith("critests_result")]
    assert [f'promise="{title_of("SBX-01")}"' in line for line in results] == [True, False]
    assert 'promise="' not in results[1]
