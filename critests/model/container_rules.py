"""Containers: how each RPC may respond in each state, and what is true after it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from critests.model.observations import DEADLINE_EXCEEDED, NOT_SIGNALLED, CallResult
from critests.model.steps import EXEC_CODE, INPUT, NOTHING, TERMINAL, ContainerProcess, Step, colour_of
from critests.model.success_rules import absent, exactly, fails, succeeds
from critests.model.world import (
    CREATED,
    EXITED,
    GONE,
    READY,
    RUNNING,
    Breach,
    ContainerState,
    SandboxState,
    World,
    twins,
)


def create(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """CreateContainer: name and attempt are unique within the sandbox, which must be READY; the image must be
    present.
    """
    sandbox = world.sandboxes.get(step.inside)
    if sandbox is None or sandbox.gone:
        yield from fails("CTR-04", f"a container in {absent(sandbox)} sandbox", step, result)
        _add(world, step, result)
        return
    in_sandbox = [each for each in world.containers.values() if each.sandbox == step.inside]
    taken = list(twins(step, in_sandbox))
    if taken:
        # an error, or the id of the existing one: the API does not say which
        if result.ok and result.id not in {each.id for each in taken}:
            yield Breach(
                "CTR-07/never-two",
                "a second container of the same metadata",
                step.rpc,
                f"an error or the id {taken[0].id}",
                f"the id {result.id}",
            )
            _add(world, step, result)
        return
    image = world.images.get(step.image)
    if (step.inside, step.name, step.attempt) in world.abandoned:
        # the abandoned creation may complete after all, and then its container is returned
        if result.ok:
            world.unpredictable.discard(result.id)
            _add(world, step, result, again=True)
        return
    if image is not None and True not in image.present:
        yield from fails("CTR-05", "a container of an absent image", step, result)
    elif READY not in sandbox.may_be:
        yield from fails("SBX-29", "a container in a stopped sandbox", step, result)
    elif sandbox.may_be == {READY} and (image is None or image.present == {True}):
        yield from _creation_must_succeed(world, step, result, in_sandbox)
    other = [each for each in world.living_containers() if each.id == result.id]
    if result.ok and (other or not result.id):
        yield Breach(
            # the same name in another sandbox names another container
            "CTR-09"
            if other and (other[0].name, other[0].attempt) == (step.name, step.attempt)
            else "GEN-12",
            "the id of a new container",
            step.rpc,
            "an id that no other container has",
            f"that of {other[0].key} in {other[0].sandbox}" if other else "an empty one",
        )
        return
    _add(world, step, result)


def _creation_must_succeed(
    world: World, step: Step, result: CallResult, in_sandbox: list[ContainerState]
) -> Iterator[Breach]:
    same_name = [each for each in in_sandbox if each.name == step.name]
    if any(each.attempt == step.attempt for each in same_name):
        return  # the API does not say whether the name of a removed container can be used again
    if any(not each.may_be <= {EXITED, GONE} for each in same_name):
        return  # the kubelet creates the next attempt after the last one has exited
    elsewhere = [
        each for each in world.living_containers() if each.name == step.name and each.sandbox != step.inside
    ]
    pod = world.sandboxes[step.inside].name
    if any(
        world.sandboxes[each.sandbox].name == pod for each in elsewhere if each.sandbox in world.sandboxes
    ):
        return  # two attempts of one pod at a time: the kubelet avoids that, so a runtime may reject it
    again = any(
        (each.inside, each.name, each.attempt) == (step.inside, step.name, step.attempt)
        for each in world.failed
    )
    aspect = "CTR-11" if again else "CTR-08" if same_name else "CTR-09" if elsewhere else "CTR-01"
    yield from succeeds(aspect, "making a container", step, result)


def _add(world: World, step: Step, result: CallResult, *, again: bool = False) -> None:
    if result.ok and result.id:
        world.containers[step.makes] = ContainerState(
            *(step.makes, result.id, step.inside, step.name, step.attempt, step.image, step.process),
            identity_unclear=again,
        )
        if again:
            world.disturbed.add(result.id)


def start(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """StartContainer: only once, and only in a READY sandbox."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails(
            "CTR-20/error", f"starting {absent(container)} container", step, result, code="CTR-20/code"
        )
        return
    sandbox = world.sandboxes.get(container.sandbox)
    if CREATED not in container.may_be:
        yield from fails("CTR-19/error", "starting a container again", step, result)
    elif not _is(sandbox, READY):
        yield from fails("SBX-30", "starting a container in a stopped sandbox", step, result)
        # as after any failed start, its state is open
        container.may_be |= {EXITED, RUNNING} if result.ok else {EXITED, GONE}
    else:
        # a sandbox whose removal failed may be only an entry in the list, and an earlier failed call for the
        # container may still be in progress
        if container.may_be == {CREATED} and sandbox is not None and not sandbox.removal_failed:
            yield from succeeds("CTR-13", "starting a container", step, result)
        _note_start(container, sandbox, result)


def _note_start(container: ContainerState, sandbox: SandboxState | None, result: CallResult) -> None:
    if result.ok:
        container.process_starts()
        return
    container.under_way = True
    if sandbox is not None:
        sandbox.start_failed = True
    # the API leaves open what remains after a failed start; some runtimes remove the container
    container.may_be |= {RUNNING, EXITED, GONE}


def _is(sandbox: SandboxState | None, state: str) -> bool:
    return sandbox is not None and state in sandbox.may_be


def stop(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """StopContainer may be repeated, changes nothing of an exited container, succeeds for a removed one."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from succeeds("STP-09", f"stopping {absent(container)} container", step, result)
        return
    if container.may_be == {EXITED}:
        yield from succeeds("STP-07", "stopping a container that has ended", step, result)
        return
    if CREATED not in container.may_be:
        aspect = "STP-01" if step.timeout else "STP-04"
        yield from succeeds(aspect, "stopping a container", step, result)
    if result.ok:
        container.under_way = False
        container.process_killed()
    else:
        container.may_be_killed()


def remove(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """RemoveContainer: in every state; may be repeated."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from succeeds("CTR-30", f"removing {absent(container)} container", step, result)
        return
    # a process that does not exit at SIGTERM may use up the deadline of the first call: that of a container
    # that was never started, and one that has not installed its signal handler yet
    late = result.code == DEADLINE_EXCEEDED and container.may_be != {EXITED}
    yield from succeeds(
        "CTR-28/first-call" if late else "CTR-28/removed", "removing a container", step, result
    )
    if result.ok:
        container.under_way = False
        container.may_be = frozenset({GONE})
    else:
        container.may_be_killed(or_gone=True)


def status(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ContainerStatus: NotFound for a container that does not exist."""
    container = world.containers.get(step.on)
    if container is None:
        yield from fails(
            "CTA-16/error", "the status of an unknown container", step, result, code="CTA-16/code"
        )
    elif container.gone:
        yield from fails(
            "CTR-31/error", "the status of a removed container", step, result, code="CTR-31/code"
        )
    elif GONE not in container.may_be:
        yield from succeeds("CTA-01", "the status of a container", step, result)
        if result.ok and result.id != container.id:
            yield Breach("CTA-01", "the id in a status", step.rpc, container.id, result.id)


def listed(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ListContainers with a filter: exactly the containers with that state, sandbox, id and label."""
    chosen = {name for name in ("on", "inside", "state", "colour") if getattr(step, name)}
    if len(chosen) > 1:
        aspect = "CTA-20"
    elif step.inside == NOTHING:
        aspect = "CTA-22"
    else:
        aspect = "CTA-19" if step.colour else "CTA-18" if chosen else "CTA-17"
    yield from succeeds(aspect, "a list of containers", step, result)
    if not result.ok:
        return
    yield from exactly(
        aspect,
        step,
        result,
        "container",
        (
            (each, _filtered_out(step, each))
            for each in world.containers.values()
            if each.id not in world.unpredictable
        ),
    )


def _filtered_out(step: Step, container: ContainerState) -> bool:
    """Whether a filter by id, sandbox or label excludes a container."""
    colour = colour_of(container.labelled_as or container.key)
    return bool(
        (step.on and step.on != container.key)
        or (step.inside and step.inside != container.sandbox)
        or (step.colour and step.colour != colour)
    )


@dataclass(frozen=True)
class CommandRules:
    """The aspects that judge a command in a container, by the RPC that runs it.

    Attributes:
        what: its name in messages.
        absent: it fails in a container that does not exist.
        code: and with NotFound; empty where no code is required.
        exited: it fails in an exited container.
        running: it succeeds in a running container.
        exit_code: it has the process's exit code.
        output: it has all the output.
    """

    what: str
    absent: str
    code: str
    exited: str
    running: str
    exit_code: str
    output: str


EXEC_SYNC = CommandRules(
    "a command", "EXS-16/error", "EXS-16/code", "EXS-15/exited", "EXS-02", "EXS-02", "EXS-01/small"
)
EXEC = CommandRules("a session", "STR-06/error", "", "EXE-15/exited", "EXE-14", "EXE-04", "EXE-01")
SESSIONS = {
    "": EXEC,
    INPUT: replace(EXEC, what="a session with input", running="EXE-03", output="EXE-03"),
    TERMINAL: replace(EXEC, what="a session with a terminal", running="EXE-02", output="EXE-02"),
}
"""By what the session has: nothing, input or a terminal."""


def exec_sync(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ExecSync: only in a running container."""
    return _command(world, step, result, EXEC_SYNC)


def exec_session(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """Exec, and the session at its URL: only in a running container."""
    return _command(world, step, result, SESSIONS[step.by])


def _command(world: World, step: Step, result: CallResult, rules: CommandRules) -> Iterator[Breach]:
    container = world.containers.get(step.on)
    if container is None or container.gone:
        where = f"{rules.what} in {absent(container)} container"
        yield from fails(rules.absent, where, step, result, code=rules.code)
    elif container.may_be == {EXITED}:
        yield from fails(rules.exited, f"{rules.what} in a container that has ended", step, result)
    elif container.may_be == {RUNNING}:
        yield from succeeds(rules.running, rules.what, step, result)
        if result.ok and result.exit_code != EXEC_CODE:
            yield Breach(
                rules.exit_code,
                f"the exit code of {rules.what}",
                step.rpc,
                str(EXEC_CODE),
                str(result.exit_code),
            )
        expected = output_of(world, step)
        if result.ok and result.output != expected:
            yield Breach(rules.output, f"the output of {rules.what}", step.rpc, expected, result.output)


def attach(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """Attach, and the line that the process then writes, because of the session's input or of a signal: in a
    running container. In an exited one both outcomes are accepted.
    """
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails("STR-06/error", f"attaching to {absent(container)} container", step, result)
    elif container.may_be == {RUNNING} and result.code != NOT_SIGNALLED:
        aspect, what = "ATT-01", "what a process writes while a client is attached"
        if step.by == INPUT:
            aspect, what = "ATT-02", f"{what} and tells it what"
        elif container.process == ContainerProcess.LISTENS:
            what += " that has no input for it"
        yield from succeeds(aspect, what, step, result)


def line_of(world: World, key: str) -> str:
    """Return the line that a process writes on request while a client is attached, different for each
    container.
    """
    return f"says {world.prefix}{key}"


def reopen_log(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ReopenContainerLog of a running container; in other states both outcomes are accepted."""
    container = world.containers.get(step.on)
    if container is None or container.gone:
        yield from fails("LOG-25/error", f"reopening the log of {absent(container)} container", step, result)
    elif container.may_be == {RUNNING}:
        yield from succeeds("LOG-21", "reopening the log of a container", step, result)


def output_of(world: World, step: Step) -> str:
    """Return the output of the command of an ExecSync, different for each container and sequence."""
    return f"in {world.prefix}{step.on}\n"


def process_ends(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """A process exits by itself: its container becomes EXITED, whether its sandbox is READY or not."""
    container = world.containers.get(step.on)
    if container is None or not container.may_be <= {RUNNING, EXITED}:
        return
    if result.code == NOT_SIGNALLED:
        # a container whose stop failed may reject commands; a step with ExecSync checks where it must not
        container.may_be = frozenset({RUNNING, EXITED})
        container.exit_codes = frozenset()
        return
    if not result.ok:
        yield Breach("CTR-21", "the end of a process", step.rpc, EXITED, result.details or result.code)
        container.may_be = frozenset({RUNNING, EXITED})
        container.exit_codes = frozenset()
        return
    container.process_exits()
