import dataclasses
import random
import shutil
import time
from pathlib import Path

import pytest

from critests.record.files import write
from critests.record.identity import ProgramFile, RuntimeIdentity
from critests.record.result_records import RequirementVerdict
from critests.report.comparison import compare_records, read_run
from critests.report.comparison.html import comparison_to_html
from critests.report.dashboard import Options, SiteNotWritten, build
from critests.report.store import Index
from tests.report.dashboard.site_files import broken_links, pages_of
from tests.report.dashboard.synthetic import DAY, NOW, fill
from tests.report.pages import Page
from tests.report.sample_run import HOSTILE
from tests.report.store.small_run import BY_LETTER, STARTED, entry, small_run, store

LIMIT = 500_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index(tmp_path_factory.mktemp("store") / "index.sqlite")
    fill(index, lines=5, nights=80, requirements=60, series=4)
    return index


@pytest.fixture(scope="module")
def site(index: Index, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    build(index, site, Options(now=NOW))
    return site


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return pages_of(site)


def largest(site: Path) -> int:
    return max(path.stat().st_size for path in site.rglob("*.html"))


def test_every_page_nests_and_every_link_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    assert {name.partition("/")[0] for name in pages} == {
        *("index.html", "requirements.html"),
        *("grids", "benchmarks", "requirements"),
    }
    assert broken_links(site, pages) == []
    for page in pages.values():
        assert len(page.all("id")) == len(set(page.all("id")))
        assert set(page.all("aria-labelledby")) <= set(page.all("id"))


def test_the_page_needs_no_network_and_no_script(site: Path, pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert not {"img", "iframe", "object", "form", "base", "style"} & set(page.tags)
        assert not [name for _, name, _ in page.attributes if name.startswith("on")]
        assert not [address for address in [*page.all("href"), *page.all("src")] if "//" in address]
    assert "url(" not in (site / "style.css").read_text()
    assert "@import" not in (site / "style.css").read_text()


def test_the_overview_shows_every_runtime_by_area_newest_version_first(pages: dict[str, Page]) -> None:
    page = pages["index.html"]

    assert sorted(link for link in page.all("href") if link.startswith("grids/"))[:1] == [
        "grids/containerd-1.0.0.html"
    ]
    # the table comes after the incidents, which have links of their own
    order = list(
        dict.fromkeys(reversed([link for link in page.all("href") if link.startswith("grids/containerd")]))
    )
    order.reverse()
    assert order.index("grids/containerd-1.1.0.html") < order.index("grids/containerd-1.0.0.html")
    assert "runtime newest run" in page.text


def test_a_grid_shows_the_first_bad_run_and_flaky_requirements(tmp_path: Path) -> None:
    for night, letters in enumerate(["PPP", "PPP", "FPP", "FFP", "FPP"]):
        store(
            tmp_path / "results",
            small_run(dict(zip(("SBX-01", "SBX-02", "SBX-03"), letters, strict=True)), night=night),
        )
    with Index.of(tmp_path / "results") as index:
        build(index, tmp_path / "site", Options(now=STARTED + 5 * DAY, run_links="../results/"))
    page = pages_of(tmp_path / "site")["grids/containerd-2.1.0.html"]

    said = page.text
    assert "First bad run: 2026-11-20 11:06, 3 days ago; failed in 3 runs since." in said
    assert "SBX-01 was not seen" in said
    assert "flaky:" not in said, "one failure is not enough"
    assert "Deviating now 1" in said
    assert ("td", "title", "failed, 2026-11-20 11:06 to 2026-11-22 11:06") in page.attributes
    assert ("a", "href", "../../results/containerd/2.1.0/1795345600/report.html") not in page.attributes, (
        "there is no report"
    )


def test_an_incident_shows_what_broke_together_why_and_when(tmp_path: Path) -> None:
    programs = [
        ProgramFile(role="OCI runtime", path="/opt/runc", version="1.3", sha256=letter * 64)
        for letter in "ab"
    ]
    for night, letter in enumerate("PFPF"):
        runtime = RuntimeIdentity(name="containerd", version="2.1.0", programs=[programs[letter == "F"]])
        verdicts = dict.fromkeys(("SBX-01", "SBX-02"), letter)
        folder = store(tmp_path / "results", small_run(verdicts, night=night, runtime=runtime))
        (folder / "report.html").write_text("<p>")
    with Index.of(tmp_path / "results") as index:
        build(index, tmp_path / "site", Options(now=STARTED + 4 * DAY, run_links="../results/"))
    pages = pages_of(tmp_path / "site")

    for name in ("index.html", "grids/containerd-2.1.0.html"):
        said = pages[name].text
        assert "Incidents 1 going on" in said
        assert "1 more requirement broke in the same run" in said
        assert "again, as on 2026-11-19 11:06" in said
        assert "Since 2026-11-21 11:06 , 24 h ago; 1 run." in said
        assert "From 2026-11-19 11:06 until 2026-11-20 11:06 , which is good again; 1 run." in said
        assert "OCI runtime ( /opt/runc, 1.3, sha256 aaaaaaaaaaaa before" in said.replace("(", "( ")
        assert "SBX-01 was not seen" in said
    first = pages["index.html"].text.partition("Overview")[0]
    assert "1 incident going on" in first
    assert "and 1 more requirement, since 2026-11-21 11:06 SBX-01 was not seen" in first
    assert "Differs from the last good run: OCI runtime (/opt/runc, 1.3, sha256 aaaaaaaaaaaa before" in first
    links = pages["grids/containerd-2.1.0.html"].all("href")
    assert "../../results/containerd/2.1.0/1795259200/report.html#r-SBX-02" in links


def test_a_night_without_a_verdict_has_a_column_and_is_an_incident(tmp_path: Path) -> None:
    store(tmp_path / "results", small_run())
    nothing = small_run(night=1, version="unknown", exit_code=5, exit_reason="no container can be made")
    store(tmp_path / "results", dataclasses.replace(nothing, tests=[], requirements={}))
    with Index.of(tmp_path / "results") as index:
        build(index, tmp_path / "site", Options(now=STARTED + 2 * DAY))
    pages = pages_of(tmp_path / "site")

    assert "grids/containerd-unknown.html" not in pages
    assert "grids/containerd-all-versions.html" not in pages
    for name in ("index.html", "grids/containerd-2.1.0.html"):
        assert "Nothing could be tested" in pages[name].text
        assert "no container can be made" in pages[name].text
    assert (
        "2 runs; the newest of the whole suite 2026-11-18 11:06" in pages["grids/containerd-2.1.0.html"].text
    )


def test_runs_have_links_to_their_reports_where_there_are_any(tmp_path: Path) -> None:
    folder = store(tmp_path / "results", small_run())
    (folder / "report.html").write_text("<p>")
    with Index.of(tmp_path / "results") as index:
        for wanted, found in (
            ("../results/", "../../results/"),
            ("https://example.org/", "https://example.org/"),
            ("", None),
        ):
            build(index, tmp_path / "site", Options(now=STARTED, run_links=wanted))
            links = pages_of(tmp_path / "site")["grids/containerd-2.1.0.html"].all("href")
            assert (f"{found}containerd/2.1.0/1795000000/report.html" in links) is (found is not None)


def test_hostile_names_and_reasons_are_inert(tmp_path: Path) -> None:
    runtime = RuntimeIdentity(name=HOSTILE.replace("\udc80", "?"), version="</title><script>1</script>/../..")
    evil = '"><script>alert(1)</script>'
    record = small_run(
        {evil: "F", "SBX-01": "P"}, runtime=runtime, exit_reason=HOSTILE.replace("\udc80", "?") * 1000
    )
    forms = {
        "SBX-01": RequirementVerdict(outcome=BY_LETTER["P"], forms={"SBX-01": HOSTILE.replace("\udc80", "?")})
    }
    folder = store(tmp_path / "results", small_run())
    shutil.rmtree(folder)
    store(tmp_path / "results", small_run(version="hostile"))
    target = next((tmp_path / "results").glob("*/hostile/*"))
    write(record, target)
    store(tmp_path / "results", small_run(night=1, requirements=forms))
    with Index.of(tmp_path / "results") as index:
        build(
            index,
            tmp_path / "site",
            Options(now=STARTED, title=HOSTILE.replace("\udc80", "?"), run_links="../results/"),
        )

    pages = pages_of(tmp_path / "site")
    for name, page in pages.items():
        assert page.tags.count("script") == (
            1 if name.startswith("grids/") or name == "requirements.html" else 0
        ), name
        whole = (tmp_path / "site" / name).read_text()
        assert not {"\x00", "\x1b", "\u202e"} & set(whole), name
        assert "{{" not in whole or "7*7" in whole
    assert (
        broken_links(tmp_path / "site", {name: page for name, page in pages.items() if name != "index.html"})
        == []
    )
    assert largest(tmp_path / "site") < LIMIT


@pytest.mark.nightly("sizes of dashboards")
def test_even_a_year_of_noise_stays_small(tmp_path: Path) -> None:
    source = random.Random(3)  # noqa: S311 - a repeatable sequence is wanted
    with Index(tmp_path / "index.sqlite") as index:
        count = len(index.number_requirements(["SBX-01"]))
        for night in range(365):
            letters = "".join(source.choices("PFWKUBE", k=count))
            reasons = {f"SBX-{number:02}": "x" * 200 for number in range(40)}
            index.add_entry(entry(NOW - night * DAY, letters=letters, reasons=reasons))
        build(index, tmp_path / "site", Options(now=NOW))

    assert largest(tmp_path / "site") < LIMIT
    assert "to keep this page small" in pages_of(tmp_path / "site")["grids/containerd-2.1.0.html"].text


def test_a_run_of_one_test_does_not_represent_the_runtime(tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        index.number_requirements(["SBX-01"])
        for version, whole_code in (("1.0", 1), ("2.0", None)):
            runs = [(NOW - 60, 0, "--select SBX-01; 1 of 500 MUSTs judged")]
            runs += [] if whole_code is None else [(NOW - DAY, whole_code, "")]
            for started, code, partial in runs:
                index.add_entry(entry(started, version, exit_code=code, partial=partial, letters="P"))
        build(index, tmp_path / "site", Options(now=NOW))

    overview = pages_of(tmp_path / "site")["index.html"].text
    assert "breaks requirements: containerd 1.0" in overview, "the whole run before the small one"
    assert "in part only" in overview, "there is no whole run"
    assert "1 of 500 MUSTs judged" in overview
    assert overview.count("conforms") == 0
    grid = pages_of(tmp_path / "site")["grids/containerd-1.0.html"]
    ends = [value.split() for value in grid.all("class") if value.startswith("e ")]
    assert [("part" in each) for each in ends] == [True, False], "the small run looks like one"
    assert "covers a part of the suite" in grid.text
    assert "failed" in grid.text, "how it stands is what the whole run says"
    assert "The newest of all" in grid.text


def test_a_year_of_runs_is_fast(tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        fill(index, lines=2, nights=365, requirements=900, series=20)
        began = time.process_time()
        built = build(index, tmp_path / "site", Options(now=NOW))
        spent = time.process_time() - began

    assert spent < 20, "processor time; two of forty runtimes, and all 900 pages of requirements"
    assert largest(tmp_path / "site") < LIMIT
    assert built.pages > 900


def test_the_same_store_gives_the_same_site_and_writes_nothing_again(index: Index, tmp_path: Path) -> None:
    first = build(index, tmp_path / "site", Options(now=NOW))
    again = build(index, tmp_path / "site", Options(now=NOW))

    assert first.written > 60
    assert (again.written, again.removed) == (0, 0)


def test_only_files_of_an_earlier_build_are_removed(tmp_path: Path) -> None:
    gone = store(tmp_path / "results", small_run(version="2.0.0"))
    store(tmp_path / "results", small_run(night=1))
    site = tmp_path / "site"
    options = Options(now=STARTED, results=tmp_path / "results")
    with Index.of(tmp_path / "results") as index:
        build(index, site, options)
        (site / "grids" / "mine.txt").write_text("mine")
        shutil.rmtree(gone)
        index.update(tmp_path / "results")
        built = build(index, site, options)

    assert built.removed == 3, "its grid, its comparison, and the grid of all versions"
    assert sorted(path.name for path in (site / "grids").iterdir()) == ["containerd-2.1.0.html", "mine.txt"]


def test_a_folder_with_other_files_is_rejected(index: Index, tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("years of work")

    with pytest.raises(SiteNotWritten, match="not a site of critests"):
        build(index, tmp_path, Options(now=NOW))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


def test_a_store_without_runs_has_a_site_that_says_so(tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        build(index, tmp_path / "site", Options(now=NOW))

    assert "There are no runs yet." in pages_of(tmp_path / "site")["index.html"].text


def test_two_runtimes_are_compared_like_critests_compare(tmp_path: Path) -> None:
    results = tmp_path / "results"
    old = store(results, small_run({"SBX-01": "P"}))
    new = store(results, small_run({"SBX-01": "F"}, night=1, version="2.2.0"))
    with Index.of(results) as index:
        build(index, tmp_path / "site", Options(now=NOW, results=results))

    name = "compare/containerd-2.1.0--containerd-2.2.0.html"
    page = (tmp_path / "site" / name).read_text()
    comparison = compare_records(read_run(old).record, read_run(new).record)
    assert page == comparison_to_html(comparison, home="../index.html")
    assert name in pages_of(tmp_path / "site")["index.html"].all("href")


def test_damaged_runs_are_named_on_the_overview(tmp_path: Path) -> None:
    folder = store(tmp_path / "results", small_run())
    folder.with_name("7").mkdir()
    (folder.with_name("7") / "run.json").write_text("{")
    with Index.of(tmp_path / "results") as index:
        build(index, tmp_path / "site", Options(now=STARTED))

    assert "containerd/2.1.0/7" in pages_of(tmp_path / "site")["index.html"].text


def test_a_runtime_whose_version_changes_every_night_has_one_grid_of_all_versions(tmp_path: Path) -> None:
    for night, letter in enumerate("PPFP"):
        store(tmp_path / "results", small_run({"SBX-01": letter}, night=night, version=f"2.2.0-{night}-<b>"))
    with Index.of(tmp_path / "results") as index:
        build(index, tmp_path / "site", Options(now=STARTED + 4 * DAY))
    pages = pages_of(tmp_path / "site")

    said = pages["grids/containerd-all-versions.html"].text
    assert "2026-11-21 11:06 2.2.0-3-<b>" in said
    assert "was failed" in said
    assert "flaky" not in said.replace("then flaky requirements", ""), "it changed with the version"
    assert "grids/containerd-all-versions.html" in pages["index.html"].all("href")


@pytest.mark.nightly("sizes of dashboards")
def test_hundreds_of_versions_stay_small(tmp_path: Path) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        count = len(index.number_requirements(["SBX-01"]))
        for night in range(300):
            letters = "PPPF"[night % 4] + "P" * (count - 1)
            index.add_entry(entry(NOW - night * DAY, f"2.2.0-{night}", letters=letters))
        build(index, tmp_path / "site", Options(now=NOW))

    pages = {
        name: (tmp_path / "site" / name).read_text()
        for name in ("index.html", "grids/containerd-all-versions.html")
    }
    assert largest(tmp_path / "site") < LIMIT
    assert "240 older versions have no page of their own" in pages["index.html"]
    assert len(list((tmp_path / "site" / "grids").iterdir())) == 61
