"""The options of a run: which command takes which, what is read from them, and how they are handed on."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from critests.cli import command, pytest_command
from critests.exit_codes import UsageError
from critests.run.options import OPTIONS, Shard
from critests.run.run_settings import Settings

GIVEN: dict[str, Any] = {
    "runtime_endpoint": "unix:///x",
    "image_endpoint": "unix:///y",
    "timeout": "2s",
    "runtime_handler": ["runc, crun", "kata"],
    "node": None,
    "condition": (),
    "tls_ca": "ca.pem",
    "tls_cert": "cert.pem",
    "tls_key": "key.pem",
    "registry_port": "5011",
    "image_prefix": "registry.example/critests",
    "runtime_log": "containerd.service",
    "select": ("SBX", "CTR-01,CTR-02"),
    "deselect": ("SHOULD",),
    "profile": "smoke",
    "shard": "2/5",
    "rerun": "results/x",
    "read_only": True,
    "disruptive": True,
    "allow_kubelet": True,
    "api_level": "v1.34",
    "require": ("seccomp",),
    "no_expectations": True,
    "expectations": "known.toml",
    "strict": True,
    "deadline_scale": "0.5",
    "budget": "120",
    "seed": "0",
    "against": "crio",
    "baseline": "last",
    "results": "elsewhere",
    "junit": "junit.xml",
    "html": "page.html",
    "json": "run.json",
}


def read(**given: object) -> Settings:
    return Settings.read({f"cri_{name}": value for name, value in given.items()}.get)


def test_every_option_has_one_typed_value() -> None:
    assert [option.attribute for option in OPTIONS] == [
        item.name for item in fields(Settings) if item.name not in {"any_given", "wrapped"}
    ]


def test_every_option_is_taken_by_a_command_that_there_is() -> None:
    for option in OPTIONS:
        assert option.commands, option.name
        assert set(option.commands) <= set(command.COMMANDS), option.name


def test_what_is_given_becomes_what_it_means() -> None:
    settings = read(**GIVEN)

    assert settings.handlers == ["runc", "crun", "kata"]
    assert settings.select == ("SBX", "CTR-01", "CTR-02")
    assert (settings.registry_port, settings.seed, settings.budget) == (5011, 0, 120.0)
    assert settings.shard == Shard(2, 5)
    assert settings.api_minor == 34
    assert settings.results == Path("elsewhere")
    assert settings.any_given


def test_nothing_given_is_the_default() -> None:
    settings = read()

    assert settings == Settings()
    assert not settings.any_given
    assert settings.handlers == [""]
    assert settings.api_minor is None
    assert list(settings.given()) == []


def test_pytest_reads_what_the_command_read() -> None:
    settings = read(**GIVEN)
    words = pytest_command.pytest_command(pytest_command.VALIDATION, settings, ["--cri-progress"])
    of_pytest = {option.pytest_name: option for option in OPTIONS}
    handed: dict[str, object] = {}
    for word in words[words.index("critests.plugin") + 1 : -1]:
        name, equals, value = word.partition("=")
        option = of_pytest[name]
        handed[option.attribute] = ([value] if option.many else value) if equals else True

    assert read(**handed) == settings
    assert words[-1] == "--cri-progress"


@pytest.mark.parametrize("package", [pytest_command.VALIDATION, pytest_command.BENCHMARK])
def test_pytest_finds_its_configuration(package: str) -> None:
    words = pytest_command.pytest_command(package, Settings())

    assert Path(words[words.index("-c") + 1]).is_file()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"deadline_scale": "fast"}, "--deadline-scale fast: expected a positive number"),
        ({"budget": "0"}, "--budget 0: expected a positive number"),
        ({"seed": "-1"}, "--seed -1: expected a whole number"),
        ({"registry_port": "65536"}, "--registry-port 65536: expected a whole number from 1 to 65535"),
        ({"shard": "6/5"}, "--shard 6/5: expected K/N"),
        ({"api_level": "2.0"}, "--api-level 2.0: expected a Kubernetes release"),
        ({"json": "/"}, "--json /: that is a directory"),
        ({"profile": "tiny"}, "--profile tiny: choose from everything, full"),
        ({"node": "containerd", "runtime_endpoint": "/x"}, "give one of them"),
        ({"baseline": "no/such/run"}, "--baseline no/such/run: there is no such run"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read(**given)
