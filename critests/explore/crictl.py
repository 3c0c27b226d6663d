"""A sequence as a script of crictl calls, where crictl can say it."""

import json
import shlex
from collections.abc import Sequence

from critests.model.invariants import COLOUR
from critests.model.steps import (
    EXEC_CODE,
    FAILED,
    INPUT,
    LINGER_SECONDS,
    NOTHING,
    TERMINAL,
    TERMINATED,
    Beat,
    ContainerProcess,
    Step,
    colour_of,
)

EXEC_FLAGS = {INPUT: "-i ", TERMINAL: "-it "}
NOBODY = "0000000000000000000000000000000000000000000000000000000000000000"
HEAD = """#!/bin/sh
# {title}
# IMAGE: any image with a shell that is on the node; its tags are pulled from there where a step pulls.
: "${{IMAGE:?name an image with a shell}}"
folder=$(mktemp -d)
step() {{ echo "+ $*" >&2; "$@"; }}
"""


def script(beats: Sequence[Beat], title: str) -> str:
    """Return the script; steps that crictl cannot say stand in it as comments, and those of several clients
    run in the background.
    """
    lines = [HEAD.format(title=title)]
    for beat in beats:
        if len(beat) == 1:
            lines += _lines(beat[0])
        else:
            lines += [*(f"{{\n{chr(10).join(_lines(step))}\n}} &" for step in beat), "wait"]
    return "\n".join([*lines, "crictl pods; crictl ps -a", ""])


def _lines(step: Step) -> list[str]:
    making = {"RunPodSandbox": _sandbox, "CreateContainer": _container}.get(step.rpc)
    if making:
        return making(step)
    words = _words(step)
    return [f"step {words}"] if words else [f"# crictl cannot say: {step}"]


def _sandbox(step: Step) -> list[str]:
    config = {
        "metadata": {"name": step.name, "uid": step.name, "namespace": "explore", "attempt": step.attempt},
        "log_directory": "/tmp",  # noqa: S108 - of a script that a person runs on a machine for trials
        "labels": {COLOUR: colour_of(step.makes)},
        "linux": {},
    }
    file = f'"$folder/{step.makes}.json"'
    return [
        f"cat >{file} <<'EOF'\n{json.dumps(config)}\nEOF",
        f"crictl runp {file} >{_id_file(step.makes)}",
    ]


def _container(step: Step) -> list[str]:
    before = f"sleep {LINGER_SECONDS}; " if step.process == ContainerProcess.LINGERS else ""
    waits = f"trap '{before}exit {TERMINATED}' TERM; sleep 100000 & wait"
    ends = f"exit {0 if step.process == ContainerProcess.SUCCEEDS else FAILED}"
    command = ["/bin/sh", "-c", ends if ContainerProcess(step.process).brief else waits]
    config = {
        "metadata": {"name": step.name, "attempt": step.attempt},
        "image": {"image": "$IMAGE"},
        "command": command,
        "labels": {COLOUR: colour_of(step.makes)},
        "log_path": f"{step.name}.log",
        "stdin": step.process == ContainerProcess.LISTENS,
    }
    file, pod = f'"$folder/{step.makes}.json"', f'"$folder/{step.inside}.json"'
    return [
        f"sed \"s|[$]IMAGE|$IMAGE|\" >{file} <<'EOF'\n{json.dumps(config)}\nEOF",
        f"crictl create --no-pull {_value(step.inside)} {file} {pod} >{_id_file(step.makes)}",
    ]


def _id_file(key: str) -> str:
    """Return where an id is kept: in a file, since what runs in the background sets no variables."""
    return f'"$folder/{key}.id"'


def _value(key: str) -> str:
    return NOBODY if key == NOTHING else f'"$(cat {_id_file(key)})"'


def _words(step: Step) -> str:
    on = _value(step.on) if step.on else ""
    output = shlex.quote(f"echo in {step.on}; exit {EXEC_CODE}")
    filters = [f"--label {COLOUR}={step.colour}"] if step.colour else []
    filters += [f"--state {step.state.rpartition('_')[2].capitalize()}"] if step.state else []
    filters += [f"--id {on}"] if step.on else []
    filters += [f"--pod {_value(step.inside)}"] if step.inside else []
    return {
        "StopPodSandbox": f"crictl stopp {on}",
        "RemovePodSandbox": f"crictl rmp --force {on}",
        "PodSandboxStatus": f"crictl inspectp {on}",
        "ListPodSandbox": " ".join(["crictl pods", *filters]),
        "StartContainer": f"crictl start {on}",
        "StopContainer": f"crictl stop --timeout {step.timeout} {on}",
        "RemoveContainer": f"crictl rm {on}",
        "ContainerStatus": f"crictl inspect {on}",
        "ListContainers": " ".join(["crictl ps -a", *filters]),
        "ExecSync": f"crictl exec --sync {on} /bin/sh -c {output}",
        "Exec": f"crictl exec {EXEC_FLAGS.get(step.by, '')}{on} /bin/sh -c {output}",
        "GetContainerEvents": 'crictl events >"$folder/events" & listener=$!',
        "EventsCancelled": 'kill "$listener"',
        "PullImage": 'crictl pull "$IMAGE"',
        "RemoveImage": 'crictl rmi "$IMAGE"',
        "ImageStatus": 'crictl inspecti "$IMAGE"',
        "ListImages": "crictl images",
        "ListPodSandboxStats": "crictl statsp",
        "ListContainerStats": "crictl stats -a",
    }.get(step.rpc, "")
