"""What stands between the suite and the runtime in one pytest process: the proxies, and which calls are let
through honestly whatever fault is set.

What is made for several tests is made honestly, whenever it is made, unless a fault is to reach that too. The
containers that tests share to look at them are made anew under a fault, for that case alone. A runtime that a
test, or a module of tests, has for itself gets a proxy for itself.
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
    """A pytest plugin that lets the run begin through a proxy.

    Args:
        keeps_apart: says of a test whether the containers that it shares with others are to be its own.

    Attributes:
        reaches_shared: whether the fault that is set reaches what is made for several tests, too.
        after_restart: faults that are set once a runtime of a test's own was restarted.
        watch: notes what passes; None where nobody wants to know.
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
        """What notes the calls that pass, those that are let through honestly left out."""
        return self._watch

    @watch.setter
    def watch(self, watch: Watch | None) -> None:
        self._watch = watch
        for proxy in self.proxies():
            proxy.watch = watch

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Let the run begin through the proxy."""
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
            oci_wrapper=runtime.oci_wrapper if runtime is not None else None,
            cni_wrapper=runtime.cni_wrapper if runtime is not None else None,
        )
        self.proxy.watch = self._watch
        context.endpoint = context.image_endpoint = Endpoint.parse(self.proxy.start())

    def _stand_before(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> FaultProxy:
        """Stand before a runtime that a test or a module has for itself, with the faults that are set, for as
        long as it has it.
        """
        assert self.proxy is not None
        assert own.throwaway is not None
        proxy = FaultProxy(
            own.context.endpoint.text,
            oci_wrapper=own.throwaway.oci_wrapper,
            cni_wrapper=own.throwaway.cni_wrapper,
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
        """Stand before the runtime of one test, and set a fault that is for later once it has restarted."""
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
        """Stand before the runtime of a module, whose tests have it one after the other."""
        proxy = self._stand_before(own, fixture)
        self._of_modules.append((own, proxy))
        fixture.addfinalizer(lambda: self._of_modules.remove((own, proxy)))

    @property
    def used_up(self) -> bool:
        """Whether a runtime that the tests of a module have is no good for another one."""
        return any(own.used_up for own, _ in self._of_modules)

    def proxies(self) -> list[FaultProxy]:
        """Return the proxies that stand: before the runtime under test, and before those of a test or a
        module.
        """
        of_modules = [proxy for _, proxy in self._of_modules]
        return [proxy for proxy in (self.proxy, self.own, *of_modules) if proxy is not None]

    def set(self, config: pytest.Config, faults: Iterable[AnyFault]) -> None:
        """Set faults instead of those that are set, in every proxy; the run begins if it has not."""
        if self.proxy is None:
            config.stash[SESSION].begin()
        for proxy in self.proxies():
            proxy.faults = tuple(faults)

    def lift(self) -> None:
        """Lift the faults, and forget the runtime that a test had for itself: its fixture ends it."""
        for proxy in self.proxies():
            proxy.faults = ()
        self.own = None
        self.reaches_shared, self.after_restart = False, ()

    def hits(self) -> int:
        """Return how often the faults that are set have changed something."""
        return sum(sum(proxy.hits.values()) for proxy in self.proxies())

    def step_aside(self) -> None:
        """Give the run its own endpoint back, for its clean-up."""
        if self._context is not None and self._upstream is not None:
            self._context.endpoint, self._context.image_endpoint = self._upstream
        if self.proxy is not None:
            self.proxy.close()
            self.proxy = None

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind, now that the runtime is gone."""
        remove_elsewhere()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Let everything be honest that other tests will use as well."""
        if fixturedef.scope == "function":
            made = yield
            if isinstance(made, OwnRuntime) and made.throwaway is not None and self.proxy is not None:
                self._stand_before_a_test_s(made, fixturedef)
            elif isinstance(made, SharedContainers) and self._keeps_apart(request.node):
                made.keep_apart()
            return made
        with contextlib.nullcontext() if self.reaches_shared else self.honest():
            made = yield
        # what these remember is for the whole session, whichever test asks first
        if isinstance(made, OwnRuntime):
            if self.proxy is not None:
                self._stand_before_a_module_s(made, fixturedef)
        elif isinstance(made, Runtime):
            # one object is made honest, not its class
            made.capabilities.fact = self._honestly(made.capabilities.fact)  # type: ignore[method-assign]  # see above
            unfit = self._honestly(made.context.unfit_handlers)
            made.context.unfit_handlers = unfit  # type: ignore[method-assign]  # see above
        elif isinstance(made, TestImages):
            made.pull = self._honestly(made.pull)  # type: ignore[method-assign]  # see above
        return made

    @contextlib.contextmanager
    def honest(self) -> Iterator[None]:
        """Let every call that begins in this block pass unchanged."""
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
    """Take down every fixture that stands, so that the next test makes its own."""
    # pytest has no public way to take down all fixtures early
    item.session._setupstate.teardown_exact(None)  # noqa: SLF001 - see above


def can_wrap(config: pytest.Config) -> bool:
    """Whether this process starts the runtime, and so can put wrappers before what is below it."""
    alone = not hasattr(config, "workerinput") and not getattr(config.option, "numprocesses", None)
    return alone and bool(config.getoption("cri_node"))
