import ast
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.repository import tree

# Joined here, so that this file does not break the rule that it checks.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("ubuntu", "com", "/ubuntu"),
    )
]
REGISTRIES += [".".join(parts) for parts in (("registry", "npmjs", "org"), ("proxy", "golang", "org"))]
LONGEST = 500
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}
REASON = re.compile(r"[A-Za-z]{3,}")
SILENCES = re.compile(
    r"#\s*(?:ruff:\s*)?noqa(?P<noqa>:\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*)?|#\s*type:\s*ignore(?P<ignore>\[[a-z0-9,"
    r" -]+\])?"
)
A_RUNTIME = re.compile(r"containerd|cri-o\b|crio\b", re.IGNORECASE)


def machine_hosts() -> set[str]:
    """The hosts from which this machine itself takes packages, which a careless lock would have carried into
    the tree.
    """
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    for path in Path("/etc/apt").rglob("*.sources"):
        listed += "".join(
            line
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
            if line.startswith("URIs:")
        )
    hosts = {host.rpartition("@")[2] for host in re.findall(r"https?://([^/\s'\"]+)", listed)}
    return {host for host in hosts if "." in host and not host.startswith("127.")}


@cache
def validation_modules() -> list[tuple[Path, ast.Module]]:
    modules = [path for path in tree.python_files() if "critests/validation/" in tree.named(path)]
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in modules]


def test_no_file_names_a_package_registry() -> None:
    hosts = machine_hosts() | set(REGISTRIES)

    found = [f"{tree.named(path)}: {host}" for path, text in tree.texts() for host in hosts if host in text]

    assert not found, "the machine's own settings say where packages come from, not the tree"


def test_no_file_points_outside_the_checkout() -> None:
    outside = ("..", "shared"), ("", "work", "main"), ("", "work", "shared")

    found = [
        f"{tree.named(path)}: {'/'.join(parts)}"
        for path, text in tree.texts()
        for parts in outside
        if "/".join(parts) in text
    ]

    assert not found


def test_every_module_is_named_for_what_it_knows() -> None:
    found = [
        tree.named(path)
        for path in tree.python_files()
        if path.stem in SAYS_NOTHING or path.parent.name in SAYS_NOTHING
    ]

    assert not found


def test_no_module_is_too_long() -> None:
    lengths = {
        tree.named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in tree.python_files()
    }

    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST}


def is_explained(comment: str) -> bool:
    silences = list(SILENCES.finditer(comment))
    if not silences:
        return True
    return all(silence["noqa"] or silence["ignore"] for silence in silences) and bool(
        REASON.search(comment, silences[-1].end())
    )


def test_every_silenced_warning_says_why() -> None:
    found = [
        f"{tree.named(path)}:{line}: {comment}"
        for path in tree.python_files()
        if re.search(r"noqa|type: *ignore", path.read_text(encoding="utf-8"))
        for line, comment in tree.comments(path)
        if not is_explained(comment)
    ]

    assert not found, "after the code of the rule, say why it does not hold here"


def test_every_validation_test_states_its_promise_under_a_name_of_its_own() -> None:
    places = defaultdict(list)
    silent = []
    for path, module in validation_modules():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                places[node.name].append(tree.named(path))
                if not re.search(r"\b(MUST|SHOULD|MAY)\b", (ast.get_docstring(node) or "")):
                    silent.append(f"{tree.named(path)}:{node.lineno}: {node.name}")

    assert not {name: where for name, where in places.items() if len(where) > 1}, (
        "a dashboard merges tests of one name"
    )
    assert not silent, "the docstring is published: it says what the runtime MUST, SHOULD or MAY do"


def test_no_validation_test_mounts_what_only_the_suite_sees() -> None:
    found = [
        f"{tree.named(path)}:{node.lineno}"
        for path, module in validation_modules()
        for node in ast.walk(module)
        if isinstance(node, ast.arg) and node.arg.startswith("tmp_path")
    ]

    assert not found, "the runtime may not see pytest's temporary directories: take host_folder"


def test_no_validation_test_knows_a_runtime_by_name() -> None:
    found = [
        f"{tree.named(path)}:{node.lineno}: {ast.unparse(node)}"
        for path, module in validation_modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Compare) and A_RUNTIME.search(ast.unparse(node))
    ]

    assert not found, (
        "ask for a capability; what one runtime does otherwise belongs in its known_failures.toml"
    )
