"""What lists and statuses must report after every step, about everything that the client knows.

From them the model also learns which way a runtime went where the API leaves a choice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from critests.model.image_rules import reference
from critests.model.observations import (
    NOT_FOUND,
    ObservedContainer,
    ObservedImage,
    ObservedSandbox,
    StateSnapshot,
)
from critests.model.restart_rules import aspect_of
from critests.model.steps import DAEMON_RESTARTS, LAST_LINES, Step, colour_of
from critests.model.world import (
    CREATED,
    EXITED,
    GONE,
    NOTREADY,
    ORDER,
    READY,
    RUNNING,
    Breach,
    ContainerState,
    Image,
    SandboxState,
    World,
    still_possible,
)

COLOUR = "colour"
ANNOTATION = "critests.example/made-as"
"""Label and annotation of every object, which lists and statuses must report."""
DAY_NS = 24 * 3600 * 10**9
"""Tolerated difference of the clocks of client and runtime; a time in seconds, or one that was never set, is
further away.
"""


def sandboxes(world: World, step: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """Each sandbox is listed once, in a possible state; its status agrees; removed ones are not listed."""
    counts = Counter(entry.id for entry in snapshot.sandboxes)
    listed = {entry.id: entry for entry in snapshot.sandboxes}
    known = {sandbox.id for sandbox in world.sandboxes.values()}
    for identity, count in counts.items():
        if count > 1:
            yield Breach("SBA-24", "a sandbox is listed twice", step.rpc, "once", f"{count} times")
        if identity in known or identity in world.unpredictable:
            continue
        world.unpredictable.add(identity)
        name, attempt = listed[identity].name.removeprefix(world.prefix), listed[identity].attempt
        if ("", name, attempt) in world.abandoned:
            continue
        if listed[identity].state != READY:
            # a failed creation may leave one, for a removal to clean up (SBX-10)
            world.leftovers.add((name, attempt))
            yield from _in_time("SBA-03", step, listed[identity], snapshot)
        else:
            yield Breach(
                "SBX-05/never-two",
                "a sandbox that nobody made",
                step.rpc,
                "no other sandbox",
                f"{identity}, named {listed[identity].name}",
            )
    for sandbox in world.sandboxes.values():
        if sandbox.id not in world.unpredictable:
            yield from _sandbox(world, step, sandbox, listed.get(sandbox.id), snapshot)
    if snapshot.leases is not None:
        yield from _leases(world, step, snapshot.leases)
    yield from _pipes(world, step, snapshot)


def _pipes(world: World, step: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """Without a container in a sandbox, the processes that serve it have no more open pipes than at first."""
    with_containers = {each.sandbox_id for each in snapshot.containers}
    for sandbox in world.sandboxes.values():
        if sandbox.id in with_containers or sandbox.id not in snapshot.pipes or sandbox.may_be != {READY}:
            continue
        now = snapshot.pipes[sandbox.id]
        if 0 <= sandbox.pipes < now:
            yield Breach(
                "CTR-18" if sandbox.start_failed else "CTR-37",
                "pipes of containers that are gone",
                step.rpc,
                f"{sandbox.pipes} open for {sandbox.key}, as at first",
                str(now),
            )
        sandbox.pipes = now


def _leases(world: World, step: Step, leases: frozenset[str]) -> Iterator[Breach]:
    """A stopped sandbox has released its addresses, to the network or to another sandbox."""
    used = {address for each in world.sandboxes.values() if not each.stopped for address in each.addresses}
    for sandbox in world.sandboxes.values():
        leaked = leases & {*sandbox.addresses} - used
        if sandbox.stopped and leaked:
            # SBX-19 is about the repetition of a failed DEL
            aspect = "SBX-19" if sandbox.stop_failed else "NET-40" if sandbox.gone else "SBX-13"
            yield Breach(
                aspect,
                f"the addresses of a {'removed' if sandbox.gone else 'stopped'} sandbox",
                step.rpc,
                "given back",
                f"{', '.join(sorted(leaked))} of {sandbox.key} given away",
            )
        if sandbox.stopped:
            sandbox.addresses = ()


def _sandbox(
    world: World, step: Step, sandbox: SandboxState, entry: ObservedSandbox | None, snapshot: StateSnapshot
) -> Iterator[Breach]:
    state = entry.state if entry else GONE
    if state not in sandbox.may_be:
        yield _in_another_state(world, step, sandbox, state, _aspect_of_sandbox_state(sandbox, state))
        return
    sandbox.may_be = still_possible(sandbox, state, ending=False)
    if entry is None:
        return
    expected = (_in_runtime(world, sandbox.name), sandbox.attempt)
    if (entry.name, entry.attempt) != expected:
        yield Breach(
            "SBA-02", "the metadata of a sandbox", step.rpc, str(expected), str((entry.name, entry.attempt))
        )
    yield from _labels("SBA-04", "SBA-05", step, sandbox, entry)
    yield from _creation_time("SBA-03", "when a sandbox was made", step, sandbox, entry, snapshot)
    status = snapshot.sandbox_statuses.get(sandbox.id)
    if isinstance(status, str):
        # a removal in progress may complete between the list and the status
        if status != NOT_FOUND or GONE not in sandbox.may_be:
            yield Breach("SBX-37", "the status of a sandbox that is listed", step.rpc, "a status", status)
    elif status is not None:
        if not _has_changed(sandbox, status.state):
            yield from _agree("SBA-23", step, entry, status)
        if status.state == READY:
            yield from _addresses(step, sandbox, status)


def _in_another_state(
    world: World, step: Step, one: SandboxState | ContainerState, state: str, aspect: str
) -> Breach:
    """Return the breach of an impossible state; the object is not checked any more."""
    world.unpredictable.add(one.id)
    kind = "sandbox" if isinstance(one, SandboxState) else "container"
    return Breach(
        aspect_of(one) if step.rpc == DAEMON_RESTARTS else aspect,
        f"a {kind} is {_short(state)}",
        step.rpc,
        f"{one.key} is {' or '.join(map(_short, sorted(one.may_be)))}",
        _short(state),
    )


def _addresses(step: Step, sandbox: SandboxState, status: ObservedSandbox) -> Iterator[Breach]:
    """A restart MUST NOT change them, unless a stop failed half way; other changes are not checked."""
    if step.rpc == DAEMON_RESTARTS and not sandbox.stop_failed and status.addresses != sandbox.addresses:
        yield Breach(
            "RST-02",
            "the addresses of a sandbox",
            step.rpc,
            ", ".join(sandbox.addresses) or "none",
            ", ".join(status.addresses) or "none",
        )
    # expected from now on; after a failed stop the status may omit addresses that are still allocated
    sandbox.addresses = status.addresses or (sandbox.addresses if sandbox.stop_failed else ())


def _aspect_of_sandbox_state(sandbox: SandboxState, state: str) -> str:
    if sandbox.may_be == {GONE}:
        return "SBX-26/error"
    if state == GONE:
        return "SBX-37" if NOTREADY in sandbox.may_be else "SBA-15"
    return "SBX-12" if sandbox.may_be == {NOTREADY} else "SBX-01"


def containers(world: World, step: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """Each container is listed once, in a possible state; its status agrees; states never go back, and an
    exit does not change afterwards.
    """
    counts = Counter(entry.id for entry in snapshot.containers)
    listed = {entry.id: entry for entry in snapshot.containers}
    known = {container.id for container in world.containers.values()}
    for identity, count in counts.items():
        if count > 1:
            yield Breach(
                "CTR-07/never-two", "a container is listed twice", step.rpc, "once", f"{count} times"
            )
        if identity not in known and identity not in world.unpredictable:
            world.unpredictable.add(identity)
            if _was_abandoned(world, listed[identity]):
                continue
            yield Breach(
                "CTR-11" if step.rpc == "CreateContainer" else "CTR-07/never-two",
                "a container that nobody made",
                step.rpc,
                "no other container",
                f"{identity}, named {listed[identity].name}",
            )
    for container in world.containers.values():
        if container.id not in world.unpredictable:
            yield from _container(world, step, container, listed.get(container.id), snapshot)


def _was_abandoned(world: World, entry: ObservedContainer) -> bool:
    """Whether a client abandoned the creation of a container, or of its sandbox."""
    inside = [each.key for each in world.sandboxes.values() if each.id == entry.sandbox_id]
    return any((key, entry.name, entry.attempt) in world.abandoned for key in inside)


def _container(
    world: World,
    step: Step,
    container: ContainerState,
    entry: ObservedContainer | None,
    snapshot: StateSnapshot,
) -> Iterator[Breach]:
    state = entry.state if entry else GONE
    if state not in container.may_be:
        aspect = _aspect_of_container_state(world, step, container, state)
        yield _in_another_state(world, step, container, state, aspect)
        return
    # a process that exits by itself may do so at any moment while the snapshot is taken
    ending = container.may_be == {RUNNING, EXITED} and state == RUNNING
    container.may_be = still_possible(container, state, ending=ending)
    if entry is None:
        return
    expected = (container.name, container.attempt)
    if (entry.name, entry.attempt) != expected:
        yield Breach(
            "CTA-01", "the metadata of a container", step.rpc, str(expected), str((entry.name, entry.attempt))
        )
    sandbox = world.sandboxes.get(container.sandbox)
    if sandbox is not None and entry.sandbox_id != sandbox.id:
        yield Breach("CTA-23/equal", "the sandbox of a container", step.rpc, sandbox.id, entry.sandbox_id)
    yield from _labels("CTA-02", "CTA-02", step, container, entry)
    yield from _creation_time("CTA-04", "when a container was made", step, container, entry, snapshot)
    status = snapshot.container_statuses.get(container.id)
    if isinstance(status, str):
        # a removal in progress may complete between the list and the status
        if status != NOT_FOUND or GONE not in container.may_be:
            yield Breach("CTA-01", "the status of a container that is listed", step.rpc, "a status", status)
    elif status is not None:
        if not _has_changed(container, status.state):
            yield from _agree("CTA-23/equal", step, entry, status)
        yield from _times(step, container, status)
        yield from _unchanged_by_restart(step, container, status)
        if container.id in snapshot.logs and container.has_run and status.state == EXITED:
            yield from _log(step, container, status, snapshot.logs[container.id])


def _has_changed(one: SandboxState | ContainerState, reported: str) -> bool:
    """Note and return whether the state changed between the list and the status, as by a process that exits
    by itself or a failed call that is still in progress.
    """
    if len(one.may_be) == 1 or reported not in one.may_be or reported == GONE:
        return False
    before = one.may_be
    one.may_be = still_possible(one, reported, ending=reported != EXITED)
    return one.may_be != before


def _log(
    step: Step, container: ContainerState, status: ObservedContainer, lines: Sequence[str]
) -> Iterator[Breach]:
    """The last line that a process wrote before its exit is in the log."""
    container.log_read = True
    if status.exit_code in LAST_LINES and LAST_LINES[status.exit_code] not in lines:
        last = lines[-1] if lines else "nothing"
        yield Breach("LOG-15", "the end of a log", step.rpc, LAST_LINES[status.exit_code], last)


def _unchanged_by_restart(
    step: Step, container: ContainerState, status: ObservedContainer
) -> Iterator[Breach]:
    """A restart changes no field of a status, unless the state changed (RST-04)."""
    before = container.last_status
    if step.rpc == DAEMON_RESTARTS and before is not None and before.state == status.state:
        for name, value in before.restart_safe.items():
            if status.restart_safe.get(name) != value:
                yield Breach(
                    "RST-22/containers",
                    f"{name} of a container",
                    step.rpc,
                    value or "none",
                    status.restart_safe.get(name) or "none",
                )
    # expected from now on
    container.last_status = status


def _aspect_of_container_state(world: World, step: Step, container: ContainerState, state: str) -> str:
    if container.may_be == {GONE}:
        inside = world.sandboxes.get(container.sandbox)
        return "SBX-21" if inside is not None and inside.gone else "CTR-31/error"
    if state == GONE:
        return "SBX-35/end" if step.rpc == "StopPodSandbox" else "CTA-17"
    if step.on not in {container.key, container.sandbox} or step.rpc == "Attach":
        return "ATT-06" if step.on == container.key else "CTR-34"
    known = [each for each in container.may_be if each in ORDER]
    if state in ORDER and ORDER.index(state) < min(map(ORDER.index, known)):
        if step.rpc == "StopPodSandbox":
            return "SBX-12"
        own_change = (step.rpc, state) in {("StopContainer", RUNNING), ("StartContainer", CREATED)}
        return "CTA-27" if own_change else "CTA-26"
    return "CTR-19/unchanged" if step.rpc == "StartContainer" else "CTA-27"


def _times(step: Step, container: ContainerState, status: ObservedContainer) -> Iterator[Breach]:
    reported = f"started {status.started_at}, finished {status.finished_at}, exit code {status.exit_code}"
    if status.state == CREATED and (status.started_at, status.finished_at, status.exit_code) != (0, 0, 0):
        yield Breach("CTR-01", "times and exit code before the start", step.rpc, "0, 0 and 0", reported)
    if status.state == RUNNING:
        if not status.started_at or status.finished_at:
            yield Breach("CTA-29", "times while it runs", step.rpc, "a start and no end", reported)
        if container.started_at and status.started_at != container.started_at:
            yield Breach("CTA-29", "when it was started", step.rpc, str(container.started_at), reported)
        container.started_at = container.started_at or status.started_at
    if status.state == EXITED:
        yield from _end(step, container, status, reported)


def _end(step: Step, container: ContainerState, status: ObservedContainer, reported: str) -> Iterator[Breach]:
    if not status.finished_at or status.finished_at < status.started_at:
        yield Breach("CTR-21", "when it ended", step.rpc, "a time after its start", reported)
    if container.started_at and status.started_at != container.started_at:
        yield Breach("CTA-29", "when it was started", step.rpc, str(container.started_at), reported)
    if container.exit_codes and status.exit_code not in container.exit_codes:
        allowed = " or ".join(map(str, sorted(container.exit_codes)))
        yield Breach("CTR-21", "the exit code", step.rpc, allowed, str(status.exit_code))
        container.exit_codes = frozenset({status.exit_code})
    before = container.exit_status
    container.exit_status = status
    if before is None:
        container.started_at = status.started_at
        return
    changed = (before.exit_code, before.finished_at) != (status.exit_code, status.finished_at)
    if changed:
        by_stop = {"StopContainer": "STP-07", "StopPodSandbox": "SBX-36"}
        yield Breach(
            by_stop.get(step.rpc, "CTA-30"),
            "exit code or finish time changed later",
            step.rpc,
            f"exit code {before.exit_code} at {before.finished_at}",
            f"{status.exit_code} at {status.finished_at}",
        )


def images(world: World, step: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """Each image is listed once with the names that it was pulled by, and removed ones are not listed."""
    for image in world.images.values():
        entries = [
            entry
            for entry in snapshot.images
            if (image.id and entry.id == image.id) or entry.names & {*image.names}
        ]
        listed = bool(entries)
        if listed not in image.present:
            aspect = {"PullImage": "IMS-25", "RemoveImage": "IMS-25", DAEMON_RESTARTS: "RST-09"}.get(
                step.rpc, "IMS-11/no-filter"
            )
            if listed and _by_one_name(image, step, entries):
                aspect = "IMS-15"
                what, expected, actual = "a removal by one name leaves another", "not listed", "listed"
            elif listed:
                what, expected, actual = "an image that was removed is listed", "not listed", "listed"
            else:
                what, expected, actual = "an image that is there is not listed", "listed", "not listed"
            yield Breach(aspect, what, step.rpc, f"{image.key} is {expected}", actual)
        if len(entries) > 1:
            yield Breach("IMS-13", "an image is listed twice", step.rpc, "once", f"{len(entries)} times")
        if listed and image.id and entries[0].id != image.id:
            yield Breach("IMG-08", "the reference of a pull and the id", step.rpc, image.id, entries[0].id)
            image.id = entries[0].id
        names = frozenset(name for entry in entries for name in entry.names)
        if image.present == {True} and listed and not image.tags <= names:
            missing = ", ".join(sorted(image.tags - names))
            yield Breach(
                "IMG-10", "a name of an image is missing", step.rpc, missing, ", ".join(sorted(names))
            )
        # expected from now on
        image.set_present(listed)
        image.tags = frozenset({*image.names} & names)
        image.entry = entries[0] if entries else None


def handlers(world: World, _: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """The handlers have one order as long as they are the same, after whatever step Status was called."""
    if sorted(snapshot.handlers) == sorted(world.handlers) and snapshot.handlers != world.handlers:
        yield Breach(
            "RT-21/order",
            "the order of the handlers",
            "Status",
            ", ".join(world.handlers),
            ", ".join(snapshot.handlers),
        )
    world.handlers = snapshot.handlers


def _by_one_name(image: Image, step: Step, entries: Sequence[ObservedImage]) -> bool:
    """Whether a removal by one name removed only that name."""
    if step.rpc != "RemoveImage" or step.by == "id" or step.on != image.key:
        return False
    names = {name for entry in entries for name in entry.names}
    return bool(names) and reference(image, step.by) not in names


def _creation_time(
    aspect: str,
    what: str,
    step: Step,
    one: SandboxState | ContainerState,
    entry: ObservedSandbox | ObservedContainer,
    snapshot: StateSnapshot,
) -> Iterator[Breach]:
    """A creation time never changes, and is within the time of the sequence."""
    if not one.created_at:
        yield from _in_time(aspect, step, entry, snapshot)
    expected = one.created_at or entry.created_at
    if entry.created_at != expected or not entry.created_at:
        yield Breach(aspect, what, step.rpc, str(expected or "> 0"), str(entry.created_at))
    # expected from now on
    one.created_at = entry.created_at


def _in_time(
    aspect: str, step: Step, entry: ObservedSandbox | ObservedContainer, snapshot: StateSnapshot
) -> Iterator[Breach]:
    """A new object was created in the time of the sequence."""
    if snapshot.at and abs(snapshot.at - entry.created_at) > DAY_NS:
        yield Breach(
            aspect,
            "the time of a creation",
            step.rpc,
            f"about {snapshot.at}, which is now",
            str(entry.created_at),
        )


def _labels(
    labels: str,
    annotations: str,
    step: Step,
    one: SandboxState | ContainerState,
    entry: ObservedSandbox | ObservedContainer,
) -> Iterator[Breach]:
    if one.identity_unclear:
        one.identity_unclear, one.labelled_as = False, entry.annotations.get(ANNOTATION, "")
    key = one.labelled_as or one.key
    if entry.labels.get(COLOUR) != colour_of(key):
        yield Breach(
            labels, "the label of an object", step.rpc, colour_of(key), str(entry.labels.get(COLOUR))
        )
    if entry.annotations.get(ANNOTATION) != key:
        yield Breach(
            annotations, "the annotation of an object", step.rpc, key, str(entry.annotations.get(ANNOTATION))
        )


def _agree(
    aspect: str,
    step: Step,
    entry: ObservedSandbox | ObservedContainer,
    status: ObservedSandbox | ObservedContainer,
) -> Iterator[Breach]:
    """List and status report the same."""
    for name in ("id", "state", "name", "attempt", "created_at", "image_id", "labels", "annotations"):
        in_list, in_status = getattr(entry, name, ""), getattr(status, name, "")
        if in_list != in_status:
            yield Breach(
                aspect, f"{name} in list and status", step.rpc, f"{in_list} as listed", str(in_status)
            )


def _in_runtime(world: World, name: str) -> str:
    return f"{world.prefix}{name}"


def _short(state: str) -> str:
    return state.rpartition("_")[2]
