"""The proxies between the suite and the runtime in one pytest process, and the calls that pass without a
fault.

Shared fixtures are created without a fault, unless the fault must reach them too. Containers that tests share
for reading are recreated under a fault, for that case only. A runtime of one test, or of one module, gets its
own proxy.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from critests.client.endpoint import Endpoint
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime
from critests.fixtures.shared_containers import SharedContainers
from critests.run.context import RunContext
from critests.run.pulled_images import TestImages
from critests.run.suite_session import SESSION
from critests_proof.language.faults import AnyFault
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.proxy.oci_proxy import remove_elsewhere
from critests_proof.proxy.watch import Watch

T = TypeVar("T")


class Between:
    """A pytest plugin that begins the run through a proxy.

    Args:
        keeps_apart: returns whether a test needs its own instance of shared containers.

    Attributes:
        reaches_shared: whether the set fault also reaches shared fixtures.
        after_restart: faults that are set after the restart of a test's own runtime.
        watch: records the calls; None without recording.
    """

    def __init__(self, keeps_apart: Callable[[pytest.Item], bool]) -> None:
        self._keeps_apart = keeps_apart
        self.proxy: FaultProxy | None = None
        self.own: FaultProxy | None = None
        self._of_modules: list[tuple[OwnRuntime, FaultProxy]] = []
        self.reaches_shared = False
        self.after_restart: tuple[AnyFault, ...] = ()
        self._upstream: tuple[Endpoint, Endpoint] | None = None
        self._context: RunContext | None = None
        self._watch: Watch | None = None

    @property
    def watch(self) -> Watch | None:
        """The recording of the calls, without those that pass without a fault by `honest`."""
        return self._watch

    @watch.setter
    def watch(self, watch: Watch | None) -> None:
        self._watch = watch
        for proxy in self.proxies():
            proxy.watch = watch

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin the run through the proxy."""
        suite = session.config.stash[SESSION]
        begin = suite.begin

        def begin_through_the_proxy() -> RunContext:
            context = begin()
            self._stand_between(context)
            return context

        suite.begin = begin_through_the_proxy

    def _stand_between(self, context: RunContext) -> None:
        if self.proxy is not None:
            return
        self._context = context
        self._upstream = (context.endpoint, context.image_endpoint)
        runtime = context.owned.runtime if context.owned is not None else None
        self.proxy = FaultProxy(
            context.endpoint.text,
            image_upstream=context.image_endpoint.text,
            oci_wrapper=runtime.wrappers.oci if runtime is not None else None,
            cni_wrapper=runtime.wrappers.cni if runtime is not None else None,
        )
        self.proxy.watch = self._watch
        context.endpoint = context.image_endpoint = Endpoint.parse(self.proxy.start())

    def _stand_before(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> FaultProxy:
        """Start a proxy with the set faults before the runtime of a test or a module, for the runtime's
        lifetime.
        """
        assert self.proxy is not None
        assert own.throwaway is not None
        proxy = FaultProxy(
            own.context.endpoint.text,
            oci_wrapper=own.throwaway.wrappers.oci,
            cni_wrapper=own.throwaway.wrappers.cni,
        )
        endpoint = Endpoint.parse(proxy.start())
        fixture.addfinalizer(proxy.close)
        proxy.watch = self._watch
        proxy.faults = self.proxy.faults
        own.connection.close()
        own.context = replace(own.context, endpoint=endpoint, image_endpoint=endpoint)
        own.connection = own.context.connect(own.connection.recorder)
        return proxy

    def _stand_before_a_test_s(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> None:
        """Start a proxy before the runtime of one test, and set the faults of `after_restart` after its
        restart.
        """
        proxy = self.own = self._stand_before(own, fixture)
        down = own.down

        @contextlib.contextmanager
        def down_and_set(*arguments: Any, **named: Any) -> Iterator[None]:  # noqa: ANN401 - whatever it takes
            with down(*arguments, **named):
                yield
            if self.after_restart:
                proxy.faults = self.after_restart

        own.down = down_and_set  # type: ignore[method-assign]  # of one object

    def _stand_before_a_module_s(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> None:
        """Start a proxy before the runtime of a module."""
        proxy = self._stand_before(own, fixture)
        self._of_modules.append((own, proxy))
        fixture.addfinalizer(lambda: self._of_modules.remove((own, proxy)))

    @property
    def used_up(self) -> bool:
        """Whether the runtime of a module is unusable for further tests."""
        return any(own.used_up for own, _ in self._of_modules)

    def proxies(self) -> list[FaultProxy]:
        """Return the running proxies: before the runtime under test, and before those of tests or modules."""
        of_modules = [proxy for _, proxy in self._of_modules]
        return [proxy for proxy in (self.proxy, self.own, *of_modules) if proxy is not None]

    def set(self, config: pytest.Config, faults: Iterable[AnyFault]) -> None:
        """Replace the faults in every proxy; begin the run if necessary."""
        if self.proxy is None:
            config.stash[SESSION].begin()
        for proxy in self.proxies():
            proxy.faults = tuple(faults)

    def lift(self) -> None:
        """Remove the faults, and drop the runtime of a test, which its fixture ends."""
        for proxy in self.proxies():
            proxy.faults = ()
        self.own = None
        self.reaches_shared, self.after_restart = False, ()

    def hits(self) -> int:
        """Return the number of changes by the set faults."""
        return sum(sum(proxy.hits.values()) for proxy in self.proxies())

    def step_aside(self) -> None:
        """Restore the endpoint of the run, for its clean-up."""
        if self._context is not None and self._upstream is not None:
            self._context.endpoint, self._context.image_endpoint = self._upstream
        if self.proxy is not None:
            self.proxy.close()
            self.proxy = None

    def pytest_unconfigure(self) -> None:
        """Remove leftovers after the exit of the runtime."""
        remove_elsewhere()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Create shared fixtures without faults."""
        if fixturedef.scope == "function":
            made = yield
            if isinstance(made, OwnRuntime) and made.throwaway is not None and self.proxy is not None:
                self._stand_before_a_test_s(made, fixturedef)
            elif isinstance(made, SharedContainers) and self._keeps_apart(request.node):
                made.keep_apart()
            return made
        with contextlib.nullcontext() if self.reaches_shared else self.honest():
            made = yield
        # these cache results for the whole session
        if isinstance(made, OwnRuntime):
            if self.proxy is not None:
                self._stand_before_a_module_s(made, fixturedef)
        elif isinstance(made, Runtime):
            # replaced on the object, not on its class
            made.capabilities.fact = self._honestly(made.capabilities.fact)  # type: ignore[method-assign]  # see above
            unfit = self._honestly(made.context.unfit_handlers)
            made.context.unfit_handlers = unfit  # type: ignore[method-assign]  # see above
        elif isinstance(made, TestImages):
            made.pull = self._honestly(made.pull)  # type: ignore[method-assign]  # see above
        return made

    @contextlib.contextmanager
    def honest(self) -> Iterator[None]:
        """Forward every call that starts in this block without a fault."""
        with contextlib.ExitStack() as stack:
            for proxy in self.proxies():
                stack.enter_context(proxy.honest())
            yield

    def _honestly(self, ask: Callable[..., T]) -> Callable[..., T]:
        def honestly(*arguments: Any, **named: Any) -> T:  # noqa: ANN401 - whatever the function takes
            with self.honest():
                return ask(*arguments, **named)

        return honestly


def take_down_what_is_shared(item: pytest.Item) -> None:
    """Tear down all fixtures, so that the next test creates its own."""
    # pytest has no public API to tear down all fixtures early
    item.session._setupstate.teardown_exact(None)  # noqa: SLF001 - see above


def can_wrap(config: pytest.Config) -> bool:
    """Return whether this process starts the runtime, and can wrap its OCI runtime and CNI plugins."""
    alone = not hasattr(config, "workerinput") and not getattr(config.option, "numprocesses", None)
    return alone and bool(config.getoption("cri_node"))
