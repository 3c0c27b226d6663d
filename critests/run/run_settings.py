"""The user's options, checked and typed."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from critests.conditions.condition_table import check_conditions
from critests.exit_codes import UsageError
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.node.starting.targets import parse_handler_binaries, parse_node_settings, parse_throwaway
from critests.node.wrappers.wrapped_programs import NONE_WRAPPED, WrappedPrograms
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import LAST, run_named
from critests.run.machine_speed import measure_speed
from critests.run.options import OPTIONS, Option, Shard
from critests.runtimes.runtime_settings import RuntimeSetting

WHOLE = Shard()
PYTEST_VARIABLES = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
"""Environment variables that may change what pytest collects."""


def needs_node(option: str) -> str:
    """Return the message for an option that configures a private runtime, given without one."""
    return f"{option} is for a runtime that --node starts; others have their own configuration"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The value of every option, by its name.

    Attributes:
        runtime_handler: empty for the default handler, which is an empty name in `handlers`.
        timeout: seconds until the runtime accepts a connection, and until it responds to Version; None for
            the default.
        cgroup_driver: empty for the default of the machine.
        times: how often each test runs; 0 for once, with repeats of new failures.
        registry_port: None for the default port, or the next free one.
        budget: seconds of sampling; None for the default of the profile.
        seed: None for a random one.
        deadline_scale: None for the scale that `measure_speed` finds.
        any_given: whether the user gave any option of critests.
        wrapped: the programs of a private runtime that get a wrapper; not an option of the user, but needed
            by the audit and by explorations.
    """

    runtime_endpoint: str = ""
    image_endpoint: str = ""
    timeout: float | None = None
    runtime_handler: tuple[str, ...] = ()
    node: str = ""
    handler_binary: tuple[str, ...] = ()
    cgroup_driver: str = ""
    node_setting: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    upgrade_from: Path | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    registry_port: int | None = None
    image_prefix: str = ""
    runtime_log: str = ""
    select: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    profile: str = ""
    shard: Shard = WHOLE
    rerun: Path | None = None
    times: int = 0
    time_limit: float | None = None
    read_only: bool = False
    disruptive: bool = False
    allow_kubelet: bool = False
    api_level: str = ""
    require: tuple[str, ...] = ()
    no_expectations: bool = False
    expectations: Path | None = None
    strict: bool = False
    deadline_scale: float | None = None
    budget: float | None = None
    seed: int | None = None
    against: str = ""
    resume: Path | None = None
    baseline: str = ""
    results: Path = Path("results")
    junit: Path | None = None
    html: Path | None = None
    json: Path | None = None
    any_given: bool = field(default=False, compare=False)
    wrapped: WrappedPrograms = field(default=NONE_WRAPPED, compare=False)

    @classmethod
    def read(cls, get: Callable[[str], Any]) -> "Settings":
        """Read the options.

        Args:
            get: returns what the user gave for an option, by `Option.dest`.

        Raises:
            UsageError: a value is invalid.
        """
        given = {option.attribute: option.value(get(option.dest)) for option in OPTIONS if get(option.dest)}
        settings = cls(**given, any_given=bool(given))
        settings = replace(
            settings,
            rerun=_stored(settings, "--rerun", settings.rerun),
            resume=_stored(settings, "--resume", settings.resume),
        )
        if settings.baseline:
            settings = replace(settings, baseline=_earlier(settings))
        if settings.node and settings.runtime_endpoint:
            msg = "--node starts a runtime and --runtime-endpoint names one that runs: give one of them"
            raise UsageError(msg)
        for name, value in (
            ("--handler-binary", settings.handler_binary),
            ("--cgroup-driver", settings.cgroup_driver),
            ("--node-setting", settings.node_setting),
        ):
            if value and not settings.node:
                raise UsageError(needs_node(name))
        parse_handler_binaries(settings.handler_binary)
        _ = settings.of_node  # rejects names that the kind of runtime does not have
        check_conditions(
            settings.condition,
            private=bool(settings.node),
            disruptive=settings.disruptive,
            read_only=settings.read_only,
        )
        if settings.upgrade_from and not settings.node:
            msg = "--upgrade-from is for a runtime that --node starts: it is started with that program first"
            raise UsageError(msg)
        return settings

    @property
    def of_node(self) -> tuple[RuntimeSetting, ...]:
        """What the private runtime's configuration has besides the default."""
        if not self.node_setting:
            return ()
        return parse_node_settings(self.node_setting, parse_throwaway(self.node).kind)

    def given(self) -> Iterator[tuple[Option, str]]:
        """Yield every option that is not at its default, with its value as text."""
        untouched = Settings()
        for option in OPTIONS:
            value = getattr(self, option.attribute)
            if value != getattr(untouched, option.attribute):
                yield option, _in_words(value)

    @property
    def scale(self) -> float:
        """The scale of all deadlines."""
        return 1.0 if self.deadline_scale is None else self.deadline_scale

    def with_scale(self) -> "Settings":
        """Return these settings with the scale of a slow machine, unless the user gave one."""
        measured = 1.0 if self.deadline_scale else measure_speed().scale
        return self if measured == 1.0 else replace(self, deadline_scale=measured)

    @property
    def handlers(self) -> list[str]:
        """The runtime handlers to test; the empty name stands for the default."""
        return list(self.runtime_handler) or [""]

    @property
    def driver(self) -> CgroupDriver:
        """The requested cgroup driver."""
        return CgroupDriver(self.cgroup_driver or CgroupDriver.UNKNOWN)

    @property
    def collects_each_once(self) -> bool:
        """Whether pytest collects each test of the suite exactly once, as the suite index lists them."""
        return len(self.handlers) == 1 and not any(map(os.environ.get, PYTEST_VARIABLES))

    @property
    def api_minor(self) -> int | None:
        """The minor of the declared API level (34 for 1.34), or None."""
        return int(self.api_level.rpartition(".")[2]) if self.api_level else None


def _stored(settings: Settings, option: str, named: Path | None) -> Path | None:
    """Return the run that an option names, possibly as `latest`.

    Raises:
        UsageError: there is no latest run.
    """
    if named is None:
        return None
    try:
        return run_named(named, settings.results)
    except RecordUnreadable as error:
        msg = f"{option} {error}"
        raise UsageError(msg) from error


def _earlier(settings: Settings) -> str:
    """Return the run that --baseline names: its path, or `last`, which is resolved after this run.

    Raises:
        UsageError: there is no such run.
    """
    if settings.baseline == LAST:
        return LAST
    path = _stored(settings, "--baseline", Path(settings.baseline))
    if path is None or not path.exists():
        msg = f"--baseline {settings.baseline}: there is no such run"
        raise UsageError(msg)
    return str(path)


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if isinstance(value, bool) else str(value)
