"""Every validation test names existing requirements and has a unique name and a docstring; the page
says which test judges what.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from critests import catalogue
from critests.catalogue import Level
from critests.catalogue.references import problems_of, references_below

ROOT = Path(__file__).parents[2]
SUITE = Path(catalogue.__file__).parents[1] / "validation"
GENERATOR = ROOT / "tools" / "generate_catalogue_doc.py"
NEEDS_CHECKOUT = pytest.mark.skipif(
    not GENERATOR.is_file(), reason="not a checkout: tools/generate_catalogue_doc.py is not here"
)

GOOD = '''\
@requirement("SBA-17")
@pytest.mark.parametrize("state", [1, 2])
def test_list_filters_by_state(runtime) -> None:
    """A filter with a state MUST return | only sandboxes in that state.

    Source: PodSandboxFilter.state.
    """
    def test_inside() -> None: ...


@marks.requirement("SBX-26/error")
@requirement("SBX-26/code")
def test_status_of_a_removed_sandbox(runtime) -> None:
    """The status of a removed sandbox MUST be an error."""


class TestStop:
    @pytest.mark.parametrize("id", [pytest.param("a", marks=requirement("STP-09"))])
    async def test_stop_is_idempotent(self, id) -> None:
        """Stop SHOULD succeed."""


def helper() -> None: ...
'''


def suite_of(folder: Path, **files: str) -> Path:
    (folder / "sandboxes").mkdir()
    for name, text in files.items():
        (folder / "sandboxes" / f"{name}.py").write_text(text)
    return folder


def test_the_suite_names_requirements_that_exist() -> None:
    assert problems_of(references_below(SUITE), catalogue.load()) == []


SILENT = re.compile(r"not stated by the cri|nor the cri says|the cri (does not say|leaves it open)")
"""Words in a docstring of a promise without a source in the API."""


def test_a_must_that_the_api_does_not_state_is_our_judgement() -> None:
    plain = []
    for file in sorted(SUITE.rglob("test_*.py")):
        for function in ast.parse(file.read_bytes()).body:
            if not isinstance(function, ast.FunctionDef):
                continue
            problem_text = " ".join((ast.get_docstring(function) or "").split()).casefold()
            if not SILENT.search(problem_text):
                continue
            for name in aspects_of(function):
                _, aspect = catalogue.aspect(name)
                if aspect.level is Level.MUST and not aspect.judgement:
                    plain.append(f"{name}: {function.name}")

    assert plain == [], (
        "name what in the API, or in a standard that it refers to, requires it; otherwise it is †"
    )


def aspects_of(function: ast.FunctionDef) -> list[str]:
    return [
        str(node.args[0].value)
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "requirement"
        and isinstance(node.args[0], ast.Constant)
    ]


def test_tests_are_found_in_their_source(tmp_path: Path) -> None:
    found = references_below(suite_of(tmp_path, test_one=GOOD, helpers=GOOD))
    assert [(test.name, test.aspects) for test in found] == [
        ("test_list_filters_by_state", ("SBA-17",)),
        ("test_status_of_a_removed_sandbox", ("SBX-26/error", "SBX-26/code")),
        ("test_stop_is_idempotent", ("STP-09",)),
    ]
    assert found[0].title == "A filter with a state MUST return | only sandboxes in that state."
    assert (found[0].file, found[0].line) == (Path("sandboxes/test_one.py"), 3)
    assert problems_of(found, catalogue.load()) == []


def test_a_folder_without_tests_has_no_problems(tmp_path: Path) -> None:
    assert problems_of(references_below(tmp_path), catalogue.load()) == []
    assert references_below(tmp_path / "missing") == ()


@pytest.mark.parametrize(
    ("source", "problem_text"),
    [
        (
            '@requirement("SBX-26")\ndef test_a():\n    """A."""',
            "SBX-26 has several aspects, name one of SBX-26/error, SBX-26/code",
        ),
        (
            '@requirement("SBA-170")\ndef test_a():\n    """A."""',
            "no requirement 'SBA-170' in the catalogue; near it: SBA-17",
        ),
        ('def test_a():\n    """A."""', "names no requirement"),
        (
            '@requirement(ID)\ndef test_a():\n    """A."""',
            "the argument of @requirement must be a string literal",
        ),
        ('@requirement("SBA-17")\ndef test_a(): ...', "has no docstring"),
        (
            '@requirement("SBX-34")\ndef test_a():\n    """A."""',
            "SBX-34 is a rule of the suite that no test carries",
        ),
        (
            '@requirement("SEC-11")\ndef test_a():\n    """A."""',
            "SEC-11 is `untestable`",
        ),
        (
            '@requirement("NET-39")\ndef test_a():\n    """A."""',
            "NET-39 is `judged_by` RST-18",
        ),
    ],
    ids=[
        "no aspect",
        "unknown id",
        "no id",
        "no plain text",
        "no docstring",
        "a rule",
        "untestable",
        "judged",
    ],
)
def test_an_invalid_test_is_reported(tmp_path: Path, source: str, problem_text: str) -> None:
    (problem,) = problems_of(references_below(suite_of(tmp_path, test_one=source)), catalogue.load())
    assert problem.startswith("sandboxes/test_one.py:")
    assert f": test_a: {problem_text}" in problem


def test_equal_names_in_two_files_are_reported(tmp_path: Path) -> None:
    source = '@requirement("SBA-17")\ndef test_a():\n    """A."""'
    problems = problems_of(
        references_below(suite_of(tmp_path, test_one=source, test_two=source)), catalogue.load()
    )
    assert problems == [
        f"sandboxes/test_{name}.py:2: test_a: another test has the same name" for name in ("one", "two")
    ]


def generate(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(GENERATOR), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@NEEDS_CHECKOUT
def test_the_page_says_which_test_judges_what(tmp_path: Path) -> None:
    suite, page = suite_of(tmp_path, test_one=GOOD), tmp_path / "page.md"
    assert generate("--tests", suite, "--page", page) == (0, "")
    lines = page.read_text().splitlines()
    (row,) = [line for line in lines if line.startswith("| SBA-17 |")]
    link = "[test_list_filters_by_state](../critests/validation/sandboxes/test_one.py)"
    assert row.endswith(f"| {link}: A filter with a state MUST return \\| only sandboxes in that state. |")
    (row,) = [line for line in lines if line.startswith("| SBA-18 |")]
    assert row.endswith("| not yet |")
    (row,) = [line for line in lines if line.startswith("| [SBX: Sandbox lifecycle](#sbx) | sandboxes |")]
    assert row.endswith("| 2 | 0 |")
    (row,) = [line for line in lines if line.startswith("| SEC-11 |")]
    assert row.endswith("| no test: The API has no such field yet, so that it cannot be requested. |")


@NEEDS_CHECKOUT
def test_no_page_is_written_if_a_test_is_invalid(tmp_path: Path) -> None:
    suite, page = (
        suite_of(tmp_path, test_one='@requirement("SBA-17")\ndef test_a(): ...'),
        tmp_path / "page.md",
    )
    assert generate("--tests", suite, "--page", page) == (
        1,
        "sandboxes/test_one.py:2: test_a: has no docstring\n",
    )
    assert not page.exists()
