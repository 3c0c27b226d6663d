"""Filters of the templates of pages."""

from critests.report.page.templating import unbroken


def test_no_line_ends_within_the_name_of_an_option_or_before_a_unit() -> None:
    text = unbroken("25 % less <b> (20 to 30 %); a larger --max-budget")

    assert text == (
        '<span class="unbroken">25 %</span> less &lt;b&gt; (20 to <span class="unbroken">30 %)</span>;'
        ' a larger <span class="unbroken">--max-budget</span>'
    )
