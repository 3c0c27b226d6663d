import textwrap
from pathlib import Path

import pytest

from critests import catalogue
from critests.record import expectations
from critests.report.gates.policy import Policy, read_policy
from critests.toml_file import TomlMalformed

WHOLE = """
levels = ["MUST", "SHOULD"]
max-blocked = 3
quantile = 0.9
max-regression = "15%"
max-error-rate = 0.01
noisy-fails = true
unmeasured-fails = true

[[benchmark]]
operation = "B-06 RunPodSandbox"
dimensions = { network = "bridge" }
quantile = 0.99
at-most = "250 ms"
max-regression = "5%"
max-error-rate = "0.1%"

[[benchmark]]
operation = "B-28 pods"
at-least = "5 /s"
"""


def policy_of(folder: Path, text: str) -> Policy:
    path = folder / "gate.toml"
    path.write_text(textwrap.dedent(text))
    return read_policy(path)


def test_a_whole_policy_is_read(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, WHOLE)

    assert policy.levels == {"MUST", "SHOULD"}
    assert (policy.max_blocked, policy.quantile, policy.max_regression, policy.max_error_rate) == (
        3,
        0.9,
        0.15,
        0.01,
    )
    assert policy.noisy_fails
    assert policy.unmeasured_fails
    bound = policy.bounds[0]
    assert (bound.at_most, bound.unit, bound.quantile, bound.max_regression, bound.max_error_rate) == (
        0.25,
        "s",
        0.99,
        0.05,
        0.001,
    )
    assert (policy.bounds[1].at_least, policy.bounds[1].unit) == (5, "1/s")


def test_an_empty_policy_is_the_built_in_one(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "")

    assert policy == Policy(source="gate.toml")
    assert policy.levels == {"MUST"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            'levels = ["MUST"]\nmax_blocked = 3\n',
            2,
            '"max_blocked" is not a key here; there are [[benchmark]], levels, max-blocked',
        ),
        ('levels = ["MAY"]\n', 1, "levels: must be a list of MUST, SHOULD, JUDGEMENT"),
        ("max-blocked = -1\n", 1, "max-blocked: must be a whole number"),
        ("max-blocked = true\n", 1, "max-blocked: must be a whole number"),
        ("quantile = 99\n", 1, "quantile: must be a number between 0 and 1"),
        ("\nmax-regression = 10\n", 2, 'max-regression: must be a share, such as "10%"'),
        ('max-regression = "ten"\n', 1, "max-regression: 'ten' is not a share"),
        ("noisy-fails = 1\n", 1, "noisy-fails: must be true or false"),
        ('max-blocked = 1\n[[waiver]]\nrequirement = "STP-02"\n', 2, "a file of known failures"),
        ('[[benchmark]]\noperation = "B-06 *"\nat-most = 5\n', 3, "at-most: must be a value with its unit"),
        ('[[benchmark]]\noperation = "B-06 *"\nat-most = "5 furlongs"\n', 3, "is not a value with a unit"),
        ('[[benchmark]]\nat-most = "5 s"\n', 1, 'the entry has no "operation"'),
        (
            '[[benchmark]]\noperation = "B"\nat-most = "5 s"\nat-least = "5 /s"\n',
            4,
            "its unit is not that of at-most",
        ),
        ('[[benchmark]]\noperation = "B"\ndimensions = { n = 5 }\n', 3, "must be a table of texts"),
        ("levels = [\n", 1, "not TOML"),
        ("a = 1\na = 2\n", 2, "not TOML"),
    ],
)
def test_an_error_in_a_policy_names_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(TomlMalformed) as caught:
        policy_of(tmp_path, text)

    place, _, said = str(caught.value).partition(": ")
    assert place == f"{tmp_path / 'gate.toml'}:{line}"
    assert words in said


def test_binary_files_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_bytes(b"levels = []\n\xff\n")

    with pytest.raises(TomlMalformed, match=r":2: not UTF-8 text"):
        read_policy(path)
    with pytest.raises(TomlMalformed, match="No such file"):
        read_policy(tmp_path / "absent.toml")


def test_the_documented_examples_can_be_read(tmp_path: Path) -> None:
    docs = Path(__file__).parents[3] / "docs"
    policy, known = (
        (docs / page).read_text().split("```toml\n")[1].split("```")[0]
        for page in ("comparing.md", "running.md")
    )
    file = tmp_path / "known.toml"
    file.write_text(known)

    assert policy_of(tmp_path, policy).bounds
    assert expectations.load(file, known_requirement=catalogue.names().__contains__).known
