import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from critests.record.identity import RuntimeIdentity
from critests.report.comparison import read_run
from tests.programs import program
from tests.report.comparison.sample_measured import samples, store
from tests.repository.tree import ROOT


def script(name: str) -> dict[str, object]:
    return runpy.run_path(str(ROOT / "tools" / name))


def test_make_teaches_every_target() -> None:
    targets = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    said = subprocess.run(["make", "-s", "-C", ROOT], capture_output=True, text=True, check=True).stdout

    assert targets
    assert not [target for target in targets if f"make {target} " not in said]


def test_every_job_of_make_test_is_one_of_tox() -> None:
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:env_list|labels = all) = (.+)$", text, re.MULTILINE)

    assert len(lists) == 2
    assert set(lists[0].split(",")) <= set(lists[1].split(","))
    assert set(lists[1].split(",")) <= set(re.findall(r"^\[testenv:(.+)\]$", text, re.MULTILINE))


def test_the_closing_line_counts_reports_and_jobs_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = script("count_tests.py")["main"]
    assert callable(main)
    step = {"elapsed": 1.5}
    jobs = {
        "lint": {"result": {"success": False}, "setup": [step], "test": [step]},
        "unit": {"result": {"success": True}, "setup": [], "test": [step]},
        ".pkg": {"setup": [step]},
        "wheel": {"setup": []},
    }
    (tmp_path / "tox.json").write_text(json.dumps({"testenvs": jobs}), encoding="utf-8")
    (tmp_path / "unit.xml").write_text(
        '<testsuites><testsuite tests="10" failures="0" errors="0" skipped="3"/></testsuites>',
        encoding="utf-8",
    )

    code = main(tmp_path)

    assert code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "==== 7 passed, 1 failed, 3 skipped in 4.50s ===="


def test_the_closing_line_does_not_pass_where_nothing_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = script("count_tests.py")["main"]
    assert callable(main)

    code = main(tmp_path)

    assert code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "==== 0 passed, 0 failed, 0 skipped in 0.00s ===="


def test_a_foreign_environment_is_named_by_what_it_lacks(tmp_path: Path) -> None:
    lacking = script("satisfies.py")["lacking"]
    assert callable(lacking)
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(
        '[project]\ndependencies = ["pytest>=9", "pytest<2", "nowhere-to-be-found>=1"]\n', encoding="utf-8"
    )

    sentences = lacking(pyproject)

    assert len(sentences) == 2
    assert sentences[0].startswith("pytest<2 is required, ")
    assert sentences[1] == "nowhere-to-be-found>=1 is not installed"


def test_an_environment_that_make_did_not_make_is_left_as_it_is(tmp_path: Path) -> None:
    theirs = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", theirs], check=True)
    before = sorted(path.name for path in theirs.rglob("*"))

    asked = subprocess.run(
        [ROOT / "tools/python-env.sh", theirs, "requirements/run.lock"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked.returncode == 1
    assert "was not made by make" in asked.stderr
    assert sorted(path.name for path in theirs.rglob("*")) == before


def test_what_pages_quote_is_as_it_is_written() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "tools/generate_doc_quotes.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_test_and_a_fault_are_quoted_whole(tmp_path: Path) -> None:
    function, fault = map(script("generate_doc_quotes.py").get, ("function", "fault"))
    assert callable(function)
    assert callable(fault)
    (tmp_path / "test_a.py").write_text(
        "@one\n@two(\n    3)\ndef test_a():\n    pass\n\n\nx = 1\n", encoding="utf-8"
    )
    (tmp_path / "test_a.faults.toml").write_text(
        '[[fault]]\nid = "a"\n\n[[fault]]\nid = "b"\nturns_red = [\n    "test_a",\n]\n', encoding="utf-8"
    )

    assert function(tmp_path / "test_a.py", "test_a") == (
        "```python\n@one\n@two(\n    3)\ndef test_a():\n    pass\n```"
    )
    assert fault(tmp_path / "test_a.faults.toml", "b") == (
        '```toml\n[[fault]]\nid = "b"\nturns_red = [\n    "test_a",\n]\n```'
    )
    with pytest.raises(LookupError, match="test_b"):
        function(tmp_path / "test_a.py", "test_b")


def test_words_that_nobody_searches_for_are_found_in_names_docstrings_and_comments(tmp_path: Path) -> None:
    unusual_words = script("check_names.py")["unusual_words"]
    assert callable(unusual_words)
    module = tmp_path / "a.py"
    comment = "# " + "told so"
    module.write_text(
        f'"""Fine."""\n\nx = 1  {comment}\n\n\nclass KeptFiles:\n    """Tells."""\n\n\nnoise_floor = "told"\n'
    )

    assert [line.removeprefix(f"{module}:") for line in unusual_words(module)] == [
        "6: “Kept”: Kept Files",
        "7: “Tells”: Tells.",
        "3: “told”: told so",
    ]


def test_another_distribution_gets_the_packages_to_install(tmp_path: Path) -> None:
    for name in ("bash", "id", "ldd"):
        found = subprocess.run(
            ["sh", "-c", f"command -v {name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        (tmp_path / name).symlink_to(found)
    text = (
        (ROOT / "tools/install-packages.sh")
        .read_text(encoding="utf-8")
        .replace("PATH=$PATH:/usr/sbin:/sbin", "")
    )
    alone = tmp_path / "install-packages.sh"
    alone.write_text(text, encoding="utf-8")

    asked = subprocess.run(
        [tmp_path / "bash", alone, "runtime"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": str(tmp_path)},
    )

    assert asked.returncode == 1
    assert "has no apt-get" in asked.stderr
    assert "  runc  (what containerd starts containers with)" in asked.stderr.splitlines()


def test_a_changed_configuration_file_stays(tmp_path: Path) -> None:
    for name in ("bash", "sed", "tr", "rm", "mv", "chmod", "grep", "ldd"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name, does in (("id", "echo 0"), ("apt-get", f'echo "$*" >>{tmp_path}/asked')):
        program(tmp_path / name, f"#!{tmp_path}/bash\n{does}\n")
    alone = tmp_path / "install-packages.sh"
    alone.write_text(
        (ROOT / "tools/install-packages.sh")
        .read_text(encoding="utf-8")
        .replace("PATH=$PATH:/usr/sbin:/sbin", "")
        .replace("policy=/usr/sbin/policy-rc.d", f"policy={tmp_path}/policy-rc.d"),
        encoding="utf-8",
    )

    subprocess.run([tmp_path / "bash", alone, "runtime"], check=True, env={"PATH": str(tmp_path)})

    (install,) = [
        line for line in (tmp_path / "asked").read_text(encoding="utf-8").splitlines() if " --yes " in line
    ]
    assert "-o Dpkg::Options::=--force-confold" in install
    assert "runc" in install.split()
    assert not (tmp_path / "policy-rc.d").exists()


def test_further_runtimes_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    for version in ("1.7", "2.1"):
        program(tmp_path / version / "containerd", f"echo containerd example {version}.9 revision")

    said = subprocess.run(
        [ROOT / "tools/get-runtimes.sh", tmp_path], capture_output=True, text=True, check=True
    ).stdout

    assert said.splitlines() == [
        f"{tmp_path}/1.7: containerd 1.7.9 is there",
        f"{tmp_path}/2.1: containerd 2.1.9 is there",
    ]


def test_a_comparison_is_published_with_a_page_and_without_paths_of_the_machine(tmp_path: Path) -> None:
    main = script("publish_comparison.py")["main"]
    assert callable(main)
    both = samples(side="a", blocks=40) + samples({"RunPodSandbox": 1.4}, side="b", blocks=40, seed=2)
    there = RuntimeIdentity(name="containerd", version="2.1.9", endpoint="unix:///home/me/a.sock")
    run = store(tmp_path / "run", both, runtime=there)

    main([str(run), str(tmp_path / "kept"), "--replace", "/home/me=/run"])

    page = (tmp_path / "kept" / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith("| RunPodSandbox |")]
    assert "## B-06 creating, starting, stopping and removing a container" in page
    assert " | slower | " in row
    stored = read_run(tmp_path / "kept")
    assert stored.record.runtime.endpoint == "unix:///run/a.sock"
    assert stored.two_sided
    assert len(stored.samples) == len(both)
