"""`critests dashboard`, as a user calls it."""

from pathlib import Path

from click.testing import CliRunner, Result

from critests.cli.dashboard import dashboard
from tests.report.store.small_run import small_run, store


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(dashboard, [str(argument) for argument in arguments])


def test_a_site_links_to_the_reports_of_its_runs(tmp_path: Path) -> None:
    folder = store(tmp_path / "results", small_run())
    (folder / "report.html").write_text("<p>")

    ended = call(tmp_path / "results", "-o", tmp_path / "site")

    assert ended.exit_code == 0, ended.output
    assert ended.output.splitlines()[-1] == str(tmp_path / "site" / "index.html")
    assert (
        'href="../results/containerd/2.1.0/1795000000/report.html"'
        in (tmp_path / "site" / "index.html").read_text()
    )
    assert (
        'href="../../results/containerd/'
        in (tmp_path / "site" / "grids" / "containerd-2.1.0.html").read_text()
    )


def test_links_can_lead_elsewhere_or_be_left_out(tmp_path: Path) -> None:
    folder = store(tmp_path / "results", small_run())
    (folder / "report.html").write_text("<p>")
    page = tmp_path / "site" / "index.html"

    call(tmp_path / "results", "-o", tmp_path / "site", "--run-links", "https://example.org/runs")
    assert 'href="https://example.org/runs/containerd/2.1.0/1795000000/report.html"' in page.read_text()

    call(tmp_path / "results", "-o", tmp_path / "site", "--run-links", "none")
    assert "report.html" not in page.read_text()


def test_errors_are_sentences(tmp_path: Path) -> None:
    store(tmp_path, small_run())

    refused = call(tmp_path, "-o", tmp_path)

    assert refused.exit_code == 3
    assert "not a site of critests" in refused.stderr
