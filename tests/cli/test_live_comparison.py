import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from critests.cli import live_comparison
from critests.cli.command_errors import NotPossible
from critests.cli.compare import compare
from critests.cli.live_comparison import LiveOptions, compare_live
from critests.node.starting.targets import EndpointSubject, HandlerSubject, LiveSubject, ThrowawaySubject
from critests.record.files import write
from critests.record.run_record import RunRecord
from critests.record.samples import write_samples
from critests.report.comparison import CompareSettings
from critests.run.run_settings import Settings
from tests.plugin.command import critests
from tests.programs import program
from tests.report.sample_benchmark import sample_benchmark
from tests.report.sample_run import sample_run

ENDPOINT = EndpointSubject("unix:///run/a.sock")
THROWAWAY = ThrowawaySubject("containerd", Path("/opt/containerd"))


class Runs:
    """Stands for pytest: keeps what it was asked for, and hands out made-up runs."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, Settings]] = []
        self.measured, series = sample_benchmark(sides=True, size=200)
        place = folder / self.measured.runtime.name / self.measured.runtime.version / "1"
        place.mkdir(parents=True)
        write(self.measured, place)
        write_samples(place / "samples", "B-06", series)
        self.validated = sample_run(folder)

    def __call__(self, package: str, settings: Settings, what: str) -> RunRecord:
        del what
        self.asked.append((package, settings))
        return self.measured if package == "critests.benchmark" else self.validated


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs(tmp_path)
    monkeypatch.setattr(live_comparison, "_run", made)
    return made


def options(results: Path, only: str = "") -> LiveOptions:
    return LiveOptions(how=CompareSettings(), only=only, run=Settings(results=results))


@pytest.mark.parametrize(
    ("a", "b", "reached", "against"),
    [
        (ENDPOINT, THROWAWAY, {"runtime_endpoint": "unix:///run/a.sock"}, "containerd=/opt/containerd"),
        (THROWAWAY, ENDPOINT, {"node": "containerd=/opt/containerd"}, "unix:///run/a.sock"),
        (HandlerSubject("runc"), HandlerSubject("crun"), {"runtime_handler": ("runc",)}, "handler=crun"),
    ],
    ids=["endpoint", "throwaway", "handlers"],
)
def test_one_run_measures_both_sides(
    tmp_path: Path, runs: Runs, a: LiveSubject, b: LiveSubject, reached: dict[str, object], against: str
) -> None:
    comparison = compare_live(a, b, options(tmp_path, only="speed"))

    ((package, settings),) = runs.asked
    assert package == "critests.benchmark"
    assert vars(settings).items() >= {**reached, "against": against}.items()
    assert comparison.live
    assert comparison.speed is not None
    assert comparison.speed.operations
    assert comparison.conformance is None


def test_conformance_is_compared_along_with_speed(tmp_path: Path, runs: Runs) -> None:
    comparison = compare_live(ENDPOINT, THROWAWAY, options(tmp_path))

    assert [package for package, _ in runs.asked] == [
        "critests.benchmark",
        "critests.validation",
        "critests.validation",
    ]
    assert comparison.speed is not None
    assert comparison.conformance is not None
    assert [settings.select for _, settings in runs.asked][1:] == [(), ()]


def oci_options(folder: Path, runs: Runs, *, own: bool = False, **chosen: object) -> set[tuple[str, ...]]:
    """Return the OCI runtimes that a comparison of two throwaway runtimes passes to its runs."""
    run = Settings(results=folder, **chosen)  # type: ignore[arg-type]  # options of the user's, by name
    compare_live(THROWAWAY, THROWAWAY, LiveOptions(how=CompareSettings(), run=run, own_oci=own))
    return {settings.handler_binary for _, settings in runs.asked}


def test_two_throwaway_runtimes_get_one_oci_runtime(
    tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runc = program(tmp_path / "bin" / "runc", "exit 0")
    monkeypatch.setenv("PATH", str(runc.parent))

    assert oci_options(tmp_path, runs) == {(f"runc={runc}",)}


def test_the_user_chooses_the_oci_runtimes(tmp_path: Path, runs: Runs) -> None:
    assert oci_options(tmp_path, runs, own=True) == {()}
    runs.asked.clear()
    assert oci_options(tmp_path, runs, handler_binary=("runc=/opt/runc",)) == {("runc=/opt/runc",)}


def test_options_of_private_runtimes_are_for_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Settings] = []

    def stop(_a: LiveSubject, _b: LiveSubject, options: LiveOptions) -> None:
        chosen.append(options.run)
        raise NotPossible("enough")

    monkeypatch.setattr(live_comparison, "compare_live", stop)
    binary = program(tmp_path / "program", "exit 0")
    sides = [f"containerd={binary}", f"crio={binary}"]

    CliRunner().invoke(compare, [*sides, "--handler-binary", f"runc={binary}"])

    assert [run.handler_binary for run in chosen] == [(f"runc={binary}",)]


def test_a_run_in_the_wrong_folder_is_an_error(tmp_path: Path, runs: Runs) -> None:
    with pytest.raises(NotPossible, match=runs.measured.run_id):
        compare_live(ENDPOINT, THROWAWAY, options(tmp_path / "elsewhere"))


@pytest.mark.parametrize(
    ("code", "kind"), [(2, click.exceptions.Exit), (5, NotPossible)], ids=["interrupted", "not testable"]
)
def test_a_failed_run_ends_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception]
) -> None:
    monkeypatch.setattr(live_comparison, "pytest_command", lambda *_: ["sh", "-c", f"exit {code}"])

    with pytest.raises(kind):
        compare_live(ENDPOINT, THROWAWAY, options(tmp_path))


@pytest.mark.nightly("compares two runtimes for minutes")
@pytest.mark.runtime
def test_two_private_runtimes_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    chosen = f"--only speed --select B-01,B-11 --budget 8 --json {file} --results {tmp_path}"

    ended = critests(*f"compare containerd containerd --details {chosen}".split())

    assert ended.returncode == 0, ended.stdout + ended.stderr
    operations = json.loads(file.read_text())["speed"]["operations"]
    assert {"Version", "RunPodSandbox", "pod cycle"} <= {each["operation"] for each in operations}
    assert "containerd" in ended.stdout
    assert "Speed" in ended.stdout
