"""The commands other than `run` and `doctor`, as a user calls them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import click
import pytest

from critests.cli.command import COMMANDS, Lazy
from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, begin, called, critests, validate


def test_help_has_examples() -> None:
    ended = called("--help")

    assert ended.returncode == 0
    assert "critests run --node containerd" in ended.stdout
    listed = ended.stdout.split("Commands:")[1].split("\n\n")[0].strip().splitlines()
    assert [line.split()[0] for line in listed][:3] == ["run", "bench", "load"]


def test_the_list_of_commands_has_the_first_sentences_of_their_help() -> None:
    for name, sentence in COMMANDS.items():
        command = Lazy().get_command(click.Context(Lazy()), name)
        assert command is not None
        assert command.get_short_help_str(1000) == sentence


NOT_NEEDED = {
    *("grpc", "pytest", "rich", "yaml", "http.client", "numpy", "scipy"),
    *("critests.catalogue", "critests.record.run_record"),
}
"""What takes a while to import, and no command needs before it has found its runtime."""


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("run", "--help"), ("run", "--runtime-endpoint", "unix:///nowhere")],
    ids=["help", "help of run", "wrong socket"],
)
def test_commands_without_a_runtime_import_neither_grpc_nor_pytest(arguments: tuple[str, ...]) -> None:
    """A machine's speed says nothing here; what is imported does."""
    code = (
        "import atexit, sys; from critests.cli import main;"
        f"atexit.register(lambda: print('imported:', sorted({NOT_NEEDED!r} & set(sys.modules))));"
        f"sys.argv = ['critests', *{arguments!r}]; main()"
    )

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "imported: []" in ended.stdout, ended.stderr


def test_a_wrong_selection_is_reported_before_a_runtime_is_looked_for() -> None:
    ended = critests("run", "--runtime-endpoint", "unix:///nowhere", "--select", "SBX-999")

    assert ended.returncode == 4
    assert "near it: SBX-" in ended.stderr
    assert "/nowhere" not in ended.stderr


def without_numpy(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call a command where numpy and scipy cannot be imported."""
    code = (
        "import sys; sys.modules['numpy'] = sys.modules['scipy'] = None; from critests.cli import main;"
        f"sys.argv = ['critests', *{arguments!r}]; main()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


PUBLISHED = Path(__file__).parents[2] / "results/published"
CONFORMANCE = [
    str(file) for file in sorted(PUBLISHED.glob("c*/1*/*/run.json.gz")) if "comparisons" not in str(file)
][:2]
COMPARISON = str(PUBLISHED / "comparisons/containerd-2.3-cri-o-1.36")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", CONFORMANCE[0]),
        ("report", CONFORMANCE[0], "--format", "html"),
        ("compare", *CONFORMANCE),
        ("gate", CONFORMANCE[0]),
    ],
    ids=["report", "page", "compare", "gate"],
)
def test_commands_about_conformance_need_no_numpy(arguments: tuple[str, ...]) -> None:
    ended = without_numpy(*arguments)

    assert "pip install" not in ended.stderr
    assert ended.stdout
    assert ended.returncode in {0, 1}


def test_the_store_and_a_dashboard_of_conformance_need_no_numpy(tmp_path: Path) -> None:
    results = tmp_path / "results/containerd/1/1"
    results.mkdir(parents=True)
    (results / "run.json.gz").write_bytes(Path(CONFORMANCE[0]).read_bytes())

    listed = without_numpy("results", "list", str(tmp_path / "results"))
    ended = without_numpy("dashboard", str(tmp_path / "results"), "--output", str(tmp_path / "site"))

    assert (listed.returncode, ended.returncode) == (0, 0), ended.stderr


@pytest.mark.parametrize("arguments", [("bench",), ("compare", COMPARISON)], ids=["bench", "compare"])
def test_numbers_of_benchmarks_name_what_they_need(arguments: tuple[str, ...]) -> None:
    ended = without_numpy(*arguments)

    assert ended.returncode == 4
    assert "pip install numpy scipy" in ended.stderr
    assert "'PATH[bench]'" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--json", "-"),
        ("bench", "--html", "-"),
        ("compare", "a", "b", "--json", "-"),
        ("gate", "a", "--junit", "-"),
    ],
    ids=" ".join,
)
def test_no_record_goes_to_standard_output(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output carries the text for people, and a file named - would be a surprise."""
    monkeypatch.chdir(tmp_path)

    ended = called(*arguments)

    assert ended.returncode == 4
    assert "name a file" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_version_and_an_unknown_command() -> None:
    assert called("--version").stdout.startswith("critests, version ")
    ended = called("nosuch")
    assert ended.returncode == 4
    assert "nosuch" in ended.stderr


def test_completion_completes() -> None:
    environment = {
        **os.environ,
        "_CRITESTS_COMPLETE": "bash_complete",
        "COMP_WORDS": "critests do",
        "COMP_CWORD": "1",
    }
    script = "import sys; sys.argv = ['critests']; from critests.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        timeout=SECONDS,
        check=False,
    )

    assert ended.stdout.strip() == "plain,doctor", ended.stderr


def test_images_are_listed_and_written_as_a_layout(tmp_path: Path) -> None:
    listed = called("images", "list").stdout.splitlines()
    unknown = called("images", "build", str(tmp_path), "nosuch")
    ended = called("images", "build", str(tmp_path / "layout"), "plain", "pause")

    assert ended.returncode == 0, ended.stderr
    index = json.loads((tmp_path / "layout" / "index.json").read_text(encoding="utf-8"))
    assert {entry["annotations"]["org.opencontainers.image.ref.name"] for entry in index["manifests"]} == {
        "plain:1",
        "pause:1",
    }
    assert "localhost/critests/NAME:TAG" in ended.stderr
    assert [line for line in listed if line.startswith("plain ")]
    assert unknown.returncode == 1
    assert "no test image 'nosuch'" in unknown.stderr


def test_images_are_served_until_the_end() -> None:
    serving = begin("images", "serve")
    try:
        assert serving.stdout is not None
        address = serving.stdout.readline().partition("/")[0]
        with urllib.request.urlopen(f"http://{address}/v2/critests/plain/manifests/1", timeout=10) as answer:
            assert answer.status == 200
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=SECONDS)

    assert serving.returncode == 0


def test_doctor_prints_json(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        found = critests("doctor", "--json", "--runtime-endpoint", endpoint, "--allow-kubelet", cwd=tmp_path)
    missing = critests("doctor", "--json", "--runtime-endpoint", "/no/such.sock", cwd=tmp_path)

    said, not_there = json.loads(found.stdout), json.loads(missing.stdout)
    lacking = {fact["name"]: fact["remedy"] for fact in said["capabilities"] if fact["present"] is False}
    assert (found.returncode, said["exit_code"], said["ready"]) == (0, 0, True)
    assert said["runtime"]["version"].startswith("criserver 1.0.0")
    assert lacking["disruption allowed"].startswith("give --disruptive")
    assert said["machine"]["memory_bytes"] > 0
    assert (missing.returncode, not_there["exit_code"], not_there["ready"]) == (5, 5, False)
    assert "no such socket" in not_there["reason"]


def test_doctor_prints_what_it_found_and_what_is_missing(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        found = critests("doctor", "--runtime-endpoint", endpoint, "--allow-kubelet", cwd=tmp_path)

    assert found.returncode == 0, found.stdout + found.stderr
    assert not list(tmp_path.iterdir())
    assert "criserver 1.0.0" in found.stdout
    assert re.search(r"memory +[\d.]+ [MG]B", found.stdout)
    assert "to get it: give --disruptive" in found.stdout


def test_clean_without_a_runtime_is_fine() -> None:
    assert critests("clean").returncode == 0


@pytest.mark.nightly("two whole runs")
def test_a_merged_run_sets_the_exit_code(tmp_path: Path) -> None:
    with serve(CriServer(wrong=["filters-ignored"])) as endpoint:
        for number in ("1", "2"):
            validate(endpoint, tmp_path / "shards", f"--select CTA-18 --shard {number}/2")
    shards = [str(file.parent) for file in (tmp_path / "shards").rglob("run.json")]
    joined = critests("results", "merge", *shards, "--results", str(tmp_path / "joined"))

    assert len(shards) == 2, joined.stderr
    assert joined.returncode == 1, joined.stdout + joined.stderr
