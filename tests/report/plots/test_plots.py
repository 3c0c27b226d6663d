import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from critests.record.samples import Series
from critests.record.units import PER_SECOND
from critests.report.plots.drawing import LETTER, STYLE, WIDTH
from critests.report.plots.ecdf_plot import Sample, distribution
from critests.report.plots.figures import figures
from critests.report.plots.phase_bars import phase_split
from critests.report.plots.scales import levels, linear, logarithmic, nice_step, tick_texts
from critests.report.plots.scaling_plot import ScalingPoint, against_number
from critests.report.plots.thinning import apart, extremes
from critests.report.plots.throughput import law_of, throughput
from critests.report.plots.timeline import timeline
from critests.report.wording.quantities import digits
from critests.statistics.quantiles import quantile
from tests.report.sample_benchmark import latencies, sample_series
from tests.report.sample_run import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
BOUND = 20_000
"""Characters that one plot may have, however many samples it shows."""


def parsed(svg: str) -> ET.Element:
    """Return the drawing as XML: it is well formed on its own."""
    return ET.fromstring(svg)  # noqa: S314 - our own drawing


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}text")]


def every_plot() -> list[str]:
    """Return a plot of each kind, of hostile names and many samples."""
    values = latencies("many", 0.03, 10_000, tail=0.05)
    law = {
        level: [400 * level / (1 + 0.1 * (level - 1) + 0.001 * level * (level - 1))]
        for level in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    }
    return [
        distribution([Sample(HOSTILE, values), Sample("b" * 300, values[:500])], title=HOSTILE),
        against_number(
            [(HOSTILE, [ScalingPoint(1, 0.1, 0.09, 0.11, 0.2), ScalingPoint(100, 0.3)])],
            of=HOSTILE,
            title=HOSTILE,
        ),
        throughput([(HOSTILE, law)], title=HOSTILE),
        timeline(
            values,
            [index * 0.05 for index in range(10_000)],
            title=HOSTILE,
            warm_up=200,
            failed=list(range(0, 10_000, 3)),
        ),
        phase_split([(HOSTILE, {"cni": 0.08, HOSTILE: 0.02})], title=HOSTILE),
    ]


@pytest.mark.parametrize("svg", every_plot())
def test_a_plot_is_harmless_small_and_named_for_those_who_do_not_see_it(svg: str) -> None:
    root = parsed(svg)

    assert len(svg) < BOUND
    assert not {element.tag for element in root.iter()} & {
        f"{SVG}script",
        f"{SVG}image",
        f"{SVG}a",
        f"{SVG}foreignObject",
        f"{SVG}style",
    }
    assert not any(
        name.startswith("on") or "href" in name for element in root.iter() for name in element.attrib
    )
    assert "\x1b" not in svg
    assert root.get("role") == "img"
    title, description = root[0], root[1]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert (root.get("aria-labelledby"), root.get("aria-describedby")) == (
        title.get("id"),
        description.get("id"),
    )
    assert "<script>alert" in (title.text or "")
    assert description.text


@pytest.mark.parametrize(
    "svg",
    [
        *every_plot(),
        *(figure.svg for figure in figures(sample_series(sides=True, size=300), {"a": "old", "b": "new"})),
    ],
)
def test_labels_stay_on_the_sheet_and_do_not_touch_each_other(svg: str) -> None:
    rows: dict[float, list[tuple[float, float]]] = {}
    for element in parsed(svg).iter(f"{SVG}text"):
        if element.get("transform"):
            continue
        width, x = len(element.text or "") * LETTER * 0.92, float(element.get("x", "nan"))
        left = x - {"end": width, "middle": width / 2}.get(element.get("text-anchor", ""), 0.0)
        assert left > -3, element.text
        assert left + width < WIDTH + 12, element.text
        rows.setdefault(float(element.get("y", "nan")), []).append((left, left + width))
    for spans in rows.values():
        ordered = sorted(spans)
        assert all(one[1] <= other[0] + 3 for one, other in pairwise(ordered))


def test_the_style_knows_light_and_dark_and_paper_and_loads_nothing() -> None:
    assert "prefers-color-scheme: dark" in STYLE
    assert "@media print" in STYLE
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "<" not in STYLE


def contrast(one: str, other: str) -> float:
    """Return the WCAG contrast of two colours, `#rrggbb`."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("part", "ground"), [(0, "#ffffff"), (1, "#171b22")])
def test_colours_stand_out_from_the_ground_and_carry_lettering(part: int, ground: str) -> None:
    block = STYLE.split("@media")[part]
    colours = re.findall(r"--(?:p\d|bad): (#[0-9a-f]{6})", block) + re.findall(
        r"--p-(?:ink|soft): var\(--\w+, (#[0-9a-f]{6})\)", block
    )

    assert len(colours) == 9
    assert min(contrast(colour, ground) for colour in colours) >= 4.5


def test_an_ecdf_marks_only_supported_quantiles_at_their_places() -> None:
    few, many = latencies("few", 0.05, 50), latencies("few", 0.05, 2000)

    assert "p50" in " ".join(texts(distribution([Sample("x", few)], title="t")))
    assert "p90" not in distribution([Sample("x", few)], title="t")
    svg = distribution([Sample("x", many)], title="t")
    assert f"p99 {digits(quantile(many, 0.99) * 1000)} ms" in svg
    assert len(list(parsed(svg).iter(f"{SVG}circle"))) == 3


def test_an_ecdf_is_logarithmic_only_over_more_than_a_decade() -> None:
    assert "logarithmic" in distribution([Sample("x", [0.001, 0.002, 0.5])], title="t")
    assert "logarithmic" not in distribution([Sample("x", [0.1, 0.2, 0.5])], title="t")
    assert "logarithmic" not in distribution([Sample("x", [0.0, 0.2, 5.0])], title="t")


@pytest.mark.parametrize("values", [[0.2], [0.2, 0.2, 0.2], [0.0, 0.0], [1e-9, 1e9]])
def test_odd_samples_are_drawn_all_the_same(values: list[float]) -> None:
    assert parsed(distribution([Sample("x", values)], title="t")) is not None
    if len(values) > 1:
        assert parsed(timeline(values, [float(index) for index in range(len(values))], title="t")) is not None
        assert (
            parsed(
                timeline(
                    values, [7.0] * len(values), title="t", warm_up=len(values), failed=range(len(values))
                )
            )
            is not None
        )


def test_nothing_is_drawn_of_nothing() -> None:
    assert distribution([], title="t") == distribution([Sample("x", [])], title="t") == ""
    assert timeline([0.1], [0.0], title="t") == ""
    assert against_number([("x", [ScalingPoint(1, 0.1)])], of="containers", title="t") == ""
    assert throughput([("x", {1.0: [2.0]})], title="t") == ""
    assert phase_split([("x", {"cni": 0.0})], title="t") == ""
    assert figures([Series(scenario="B-01", operation="Version")]) == []


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values and 1 times"):
        timeline([0.1, 0.2], [0.0], title="t")


def test_the_knee_is_shown_only_where_the_law_describes_the_measurements() -> None:
    bent = {level: [400 * level / (1 + 0.2 * (level - 1))] for level in (1.0, 2.0, 4.0, 8.0, 16.0)}
    noise = {level: [value] for level, value in ((1.0, 5.0), (2.0, 1.0), (4.0, 6.0), (8.0, 1.5), (16.0, 5.5))}

    assert law_of(bent) is not None
    assert "knee at" in throughput([("x", bent)], title="t")
    assert law_of(noise) is None
    assert "fitted" not in throughput([("x", noise)], title="t")
    assert "does not fit" in throughput([("x", noise)], title="t")
    assert law_of({1.0: [1.0], 2.0: [2.0]}) is None


def test_warm_up_is_shaded_and_errors_are_crossed() -> None:
    svg = timeline([0.1] * 20, [float(index) for index in range(20)], title="t", warm_up=5, failed=[7, 9])

    assert "warm-up (5)" in texts(svg)
    assert "errors (2)" in texts(svg)
    shade = next(
        element
        for element in parsed(svg).iter(f"{SVG}rect")
        if element.get("class") == "shade" and float(element.get("height", 0)) > 50
    )
    assert float(shade.get("width", 0)) == pytest.approx((WIDTH - 66 - 16) * 5 / 20, abs=1)
    crosses = [
        element.get("d", "") for element in parsed(svg).iter(f"{SVG}path") if element.get("class") == "cross"
    ]
    assert [drawn.count("M") for drawn in crosses] == [1, 2]  # the legend's, and the others


def test_phases_are_in_their_order_and_their_lettering_fits() -> None:
    svg = phase_split([("RunPodSandbox", {"rest": 0.03, "oci": 0.0004, "cni": 0.08})], title="t")

    assert [text for text in texts(svg) if text in {"CNI", "OCI runtime", "rest"}] == [
        "CNI",
        "OCI runtime",
        "rest",
    ]
    assert "RunPodSandbox: 110 ms" in texts(svg)
    assert "80.0 (72%)" in texts(svg)
    assert not any(text.startswith("0.4 (") or text == "0.4" for text in texts(svg))


def test_a_run_gets_the_plots_that_its_samples_deserve() -> None:
    found = figures(sample_series(size=200))
    kinds = {(figure.scenario, figure.kind) for figure in found}

    assert ("B-02", "phases") in kinds
    assert ("B-18", "number") in kinds
    assert ("B-18", "distribution") not in kinds
    assert {("B-13", "throughput"), ("B-28", "throughput")} <= kinds
    assert {("B-06", "distribution"), ("B-06", "timeline")} <= kinds
    assert not any(scenario == "B-26" for scenario, _ in kinds)
    assert len({figure.svg for figure in found}) == len(found)


def test_the_sides_of_a_comparison_share_their_plots() -> None:
    found = figures(sample_series(sides=True, size=200), {"a": "old", "b": "new"})

    create = next(figure for figure in found if figure.title == "Distribution of CreateContainer")
    assert any(text.startswith("old: p50") for text in texts(create.svg))
    assert any(text.startswith("new: p50") for text in texts(create.svg))
    for figure in found:
        if figure.title == "Distribution of ExecSync":
            entries = [text for text in texts(figure.svg) if "p50" in text]
            assert sum("old" in text for text in entries) == sum("new" in text for text in entries)


def test_units_of_throughput_are_those_of_the_samples() -> None:
    series = [
        Series(
            scenario="B-24",
            operation="PullImage",
            dimensions={"parallel": str(level)},
            unit="B/s",
            value=[level * 4e7],
            at=[0.0],
        )
        for level in (1, 2, 4)
    ]

    (figure,) = figures(series)
    assert "MB/s" in texts(figure.svg)
    assert PER_SECOND not in texts(figure.svg)


@pytest.mark.parametrize(
    ("rough", "nice"),
    [(1.0, 1.0), (1.1, 2.0), (2.1, 2.5), (2.6, 5.0), (5.1, 10.0), (0.03, 0.05), (77.0, 100.0)],
)
def test_steps_are_round(rough: float, nice: float) -> None:
    assert nice_step(rough) == pytest.approx(nice)


def test_axes_hold_their_values_and_ticks_are_short() -> None:
    axis = linear([0.137, 0.445], 0, 100, zero=True)
    assert (axis.low, axis.ticks[-1] >= 0.445) == (0.0, True)
    assert tick_texts(axis, 1e-3) == ["0", "200", "400", "600"]
    assert tick_texts(linear([0, 0.0061], 0, 100, zero=True), 1e-3) == ["0", "2", "4", "6", "8"]
    assert axis(-5) == 0
    assert axis(99) == 100

    wide = logarithmic([0.0013, 0.9], 0, 100)
    assert (wide.low, wide.high) == (0.001, 1.0)
    assert wide(0.001) == 0
    assert logarithmic([3.0], 0, 10).high > 3.0
    with pytest.raises(ValueError, match="above 0"):
        logarithmic([0.0, -1.0], 0, 10)

    assert levels([1, 2, 64], 0, 10).logarithmic
    assert not levels([1, 2, 4], 0, 10).logarithmic
    assert levels([3], 0, 10)(3) == 5


def test_thinning_keeps_peaks_ends_and_order() -> None:
    points = [(float(index), 1000.0 if index == 777 else float(index % 7)) for index in range(10_000)]

    thinned = extremes(points, 100)
    assert len(thinned) <= 400
    assert (777.0, 1000.0) in thinned
    assert (thinned[0], thinned[-1]) == (points[0], points[-1])
    assert thinned == sorted(thinned, key=lambda point: point[0])
    assert extremes(points[:50]) == points[:50]
    assert apart([(0, 0), (0.5, 0), (2, 0), (2.1, 0)], 1) == [(0, 0), (2, 0), (2.1, 0)]
    assert apart([], 1) == []


def by_pods(operation: str, at_one: float, each: float, *, unit: str = "s", side: str = "") -> list[Series]:
    """Return the series of an operation at several numbers of pods."""
    return [
        Series(
            scenario="B-27",
            operation=operation,
            dimensions={"pods": str(number)},
            unit=unit,
            side=side,
            value=[at_one + each * number] * 12,
            at=[float(index) for index in range(12)],
        )
        for number in (1, 10, 50)
    ]


def test_durations_bytes_and_counts_have_plots_of_their_own() -> None:
    found = figures(
        [
            *by_pods("relist", 0.002, 1e-4),
            *by_pods("memory of the daemon", 5e7, 1e5, unit="B"),
            *by_pods("descriptors of the shims", 0, 12, unit="1"),
            *by_pods("idle writes a minute", 0, 0, unit="B"),
        ]
    )

    assert [(figure.kind, figure.title) for figure in found] == [
        ("number", "Latency against the number of pods"),
        ("number", "Bytes against the number of pods"),
        ("number", "Count against the number of pods"),
    ]


def test_curves_share_a_plot_where_all_of_them_can_be_seen() -> None:
    found = figures(
        [
            series
            for side in ("a", "b")
            for name, size in (("restart", 2.0), ("relist", 0.004), ("ListContainers", 0.002))
            for series in by_pods(name, size, size / 100, side=side)
        ],
        {"a": "old", "b": "new"},
    )

    shown = [{text for text in texts(figure.svg) if ", median" in text} for figure in found]
    assert shown == [
        {"restart · old, median", "restart · new, median"},
        {f"{name} · {side}, median" for name in ("relist", "ListContainers") for side in ("old", "new")},
    ]
