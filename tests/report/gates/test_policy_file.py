import datetime as dt
import textwrap
from pathlib import Path

import pytest

from critests.report.gates.policy import Policy
from critests.report.gates.policy_file import read_policy
from critests.toml_file import TomlMalformed

WHOLE = """
levels = ["MUST", "SHOULD"]
max-blocked = 3
quantile = 0.9
max-regression = "15%"
max-error-rate = 0.01
noisy-fails = true
unmeasured-fails = true

[[waiver]]
requirement = "STP-02"
test = "test_x"
handlers = ["crun"]
runtime = "containerd"
versions = "<2.0"
reason = "replaced by 137"
owner = "runtime team"
expires = 2027-06-30

[[waiver]]
operation = "B-18 *"
reason = "new list"
owner = "runtime team"
expires = 2027-06-30
[waiver.dimensions]
containers = "1000"

[[waiver]]
capability = "AppArmor"
reason = "no module"
owner = "node team"
expires = 2027-06-30

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
    return read_policy(path, known_requirement=lambda name: name != "XXX-01")


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
    assert [waiver.subject for waiver in policy.waivers] == ["STP-02", "B-18 *", "AppArmor"]
    assert policy.waivers[0].line == 10
    assert policy.waivers[0].expires == dt.date(2027, 6, 30)
    assert policy.waivers[0].holds_for("containerd", "1.7.2")
    assert not policy.waivers[0].holds_for("containerd", "2.1.9")
    assert policy.waivers[1].covers_operation("B-18", "ListContainers", {"containers": "1000"})
    assert not policy.waivers[1].covers_operation("B-18", "ListContainers", {"containers": "10"})
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


ENTRY = '[[waiver]]\nrequirement = "STP-02"\nreason = "r"\nowner = "o"\nexpires = 2027-01-01\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            'levels = ["MUST"]\nmax_blocked = 3\n',
            2,
            '"max_blocked" is not a key here; there are [[benchmark]], [[waiver]], levels, max-blocked',
        ),
        ('levels = ["MAY"]\n', 1, "levels: must be a list of MUST, SHOULD, JUDGEMENT"),
        ("max-blocked = -1\n", 1, "max-blocked: must be a whole number"),
        ("max-blocked = true\n", 1, "max-blocked: must be a whole number"),
        ("quantile = 99\n", 1, "quantile: must be a number between 0 and 1"),
        ("\nmax-regression = 10\n", 2, 'max-regression: must be a share, such as "10%"'),
        ('max-regression = "ten"\n', 1, "max-regression: 'ten' is no share"),
        ("noisy-fails = 1\n", 1, "noisy-fails: must be true or false"),
        (f"{ENTRY}until = 3\n", 6, '"until" is not a key here'),
        (ENTRY.replace("STP-02", "XXX-01"), 2, 'the catalogue has no requirement "XXX-01"'),
        (ENTRY.replace('owner = "o"\n', ""), 1, 'the entry has no "owner"'),
        (ENTRY.replace('"o"', '" "'), 4, "owner: must be a text that is not empty"),
        (ENTRY.replace("2027-01-01", '"2027-01-01"'), 5, "expires: must be a day without quotes"),
        (
            f'{ENTRY}capability = "AppArmor"\n',
            6,
            'a waiver names one of "requirement", "operation" and "capability"',
        ),
        (ENTRY.replace('requirement = "STP-02"\n', ""), 1, "a waiver names one of"),
        (f"{ENTRY}versions = 'new'\n", 6, "is no condition on versions"),
        (f'{ENTRY}{ENTRY}reasons = "x"\n', 11, '"reasons" is not a key here'),
        ('[[benchmark]]\noperation = "B-06 *"\nat-most = 5\n', 3, "at-most: must be a value with its unit"),
        ('[[benchmark]]\noperation = "B-06 *"\nat-most = "5 furlongs"\n', 3, "is no value with a unit"),
        ('[[benchmark]]\nat-most = "5 s"\n', 1, 'the entry has no "operation"'),
        (
            '[[benchmark]]\noperation = "B"\nat-most = "5 s"\nat-least = "5 /s"\n',
            4,
            "its unit is not that of at-most",
        ),
        ('[[benchmark]]\noperation = "B"\ndimensions = { n = 5 }\n', 3, "must be a table of texts"),
        ('waiver = "all"\n', 1, "must be written as [[waiver]]"),
        ("[waivers]\na = 1\n", 1, '"waivers" is not a key here'),
        ("levels = [\n", 1, "not TOML"),
        ("a = 1\na = 2\n", 2, "not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(TomlMalformed) as caught:
        policy_of(tmp_path, text)

    place, _, said = str(caught.value).partition(": ")
    assert place == f"{tmp_path / 'gate.toml'}:{line}"
    assert words in said


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_bytes(b"levels = []\n\xff\n")

    with pytest.raises(TomlMalformed, match=r":2: not UTF-8 text"):
        read_policy(path)
    with pytest.raises(TomlMalformed, match="No such file"):
        read_policy(tmp_path / "absent.toml")


def test_the_documented_example_is_a_policy(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "comparing.md").read_text()

    policy = policy_of(tmp_path, page.split("```toml\n")[1].split("```")[0])

    assert policy.waivers
    assert policy.bounds
