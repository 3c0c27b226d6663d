"""A change to a document that an OCI runtime reads: a bundle's `config.json`, the process of an exec,
resources.

Also a program, `python oci_document.py CHANGES FILE`, which the wrapper of the OCI runtime calls: it exits
with 0 if it changed the file, and with 1 otherwise. It uses only Python's standard library, so that it starts
fast.

A path is as in the specification, `linux.resources.memory.limit`; `mounts[destination=/dev/shm]` selects
elements of a list, `mounts[]` all of them, and `["a.b"]` is a key with dots.

| action | effect |
|---|---|
| `clear` | removes it; of a list, the selected elements |
| `set JSON` | sets it, and creates missing parent objects |
| `add N` | adds to an existing number |
| `append JSON` | appends an element to a list, which is created if missing |
| `drop JSON`, `drop-all`, `keep-first` | removes an element of a list, all of them, or all but the first |
| `replace JSON JSON` | replaces an element by another |
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARGUMENTS = {
    "clear": 0,
    "set": 1,
    "add": 1,
    "append": 1,
    "drop": 1,
    "drop-all": 0,
    "keep-first": 0,
    "replace": 2,
}
"""Number of arguments of each action."""
_STEP = re.compile(r"""\["(?P<quoted>[^"]+)"\]|\[(?P<pick>[^\]"]*)\]|\.?(?P<key>[A-Za-z][\w-]*)""")
_CONTAINER_TYPE = re.compile(r"container-?type$", re.IGNORECASE)


class ChangeMalformed(ValueError):
    """The text is not a valid change; the message names the error."""


@dataclass(frozen=True)
class Pick:
    """Selection of list elements: those whose `key` has this value; all without a key."""

    key: str = ""
    value: str = ""

    def takes(self, element: object) -> bool:
        """Return whether an element is selected."""
        if not self.key:
            return True
        held = element.get(self.key) if isinstance(element, dict) else None
        return (held if isinstance(held, str) else json.dumps(held)) == self.value


@dataclass(frozen=True)
class OciChange:
    """A change at one place of a document.

    Attributes:
        steps: its path: keys, and selections of list elements.
        action: a key of `ARGUMENTS`.
        values: arguments of the action.
        of: `container` or `sandbox`, to change only their bundles; empty for other documents.
    """

    steps: tuple[str | Pick, ...]
    action: str
    values: tuple[Any, ...] = ()
    of: str = ""

    def apply(self, document: dict[str, Any]) -> bool:
        """Change a document in place; return whether it changed."""
        if self.of and _container_type(document) != self.of:
            return False
        before = json.dumps(document, sort_keys=True)
        *way, last = self.steps
        for holder in list(
            _walk(document, way, making=self.action in {"set", "append"} and not isinstance(last, Pick))
        ):
            self._act(holder, last)
        return json.dumps(document, sort_keys=True) != before

    def _act(self, holder: Any, last: str | Pick) -> None:  # noqa: ANN401 - whatever JSON holds
        if isinstance(last, Pick):
            self._act_on_elements(holder, last)
        elif isinstance(holder, dict):
            self._act_on_key(holder, last)

    def _act_on_elements(self, holder: Any, pick: Pick) -> None:  # noqa: ANN401 - whatever JSON holds
        if not isinstance(holder, list):
            return
        if self.action == "clear":
            holder[:] = [element for element in holder if not pick.takes(element)]
        elif self.action == "set":
            holder[:] = [self.values[0] if pick.takes(element) else element for element in holder]

    def _act_on_key(self, holder: dict[str, Any], key: str) -> None:
        held = holder.get(key)
        match self.action:
            case "clear":
                holder.pop(key, None)
            case "set":
                holder[key] = self.values[0]
            case "add" if isinstance(held, int):
                holder[key] = held + self.values[0]
            case "append":
                holder[key] = [*(held or []), self.values[0]]
            case "drop" if isinstance(held, list):
                holder[key] = [element for element in held if element != self.values[0]]
            case "drop-all" if isinstance(held, list):
                holder[key] = []
            case "keep-first" if isinstance(held, list):
                holder[key] = held[:1]
            case "replace" if isinstance(held, list):
                old, new = self.values
                holder[key] = [new if element == old else element for element in held]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        steps = [step if isinstance(step, str) else [step.key, step.value] for step in self.steps]
        return {"steps": steps, "action": self.action, "values": list(self.values), "of": self.of}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "OciChange":
        """Return it from plain data."""
        steps = tuple(step if isinstance(step, str) else Pick(*step) for step in data["steps"])
        return cls(steps, data["action"], tuple(data["values"]), data["of"])


def parse_change(path: str, action: str, argument: str, of: str = "") -> OciChange:
    """Parse a change.

    Args:
        path: path of the place.
        action: a key of `ARGUMENTS`.
        argument: arguments of the action.
        of: kind of the changed bundles.

    Raises:
        ChangeMalformed: one of them is invalid.
    """
    if action not in ARGUMENTS:
        raise ChangeMalformed(
            f"nothing that is done to an OCI document is called {action!r}; there are: {', '.join(ARGUMENTS)}"
        )
    values = tuple(_values(argument))
    if len(values) != ARGUMENTS[action]:
        raise ChangeMalformed(f"{action} takes {ARGUMENTS[action]} values, not {len(values)}: {argument!r}")
    if action == "add" and not isinstance(values[0], int):
        raise ChangeMalformed(f"add takes a number, not {argument!r}")
    steps = _steps(path)
    if isinstance(steps[-1], Pick) and action not in {"clear", "set"}:
        raise ChangeMalformed(f"elements of a list can be cleared and set; {action} is for a whole list")
    return OciChange(steps, action, values, of)


def _steps(path: str) -> tuple[str | Pick, ...]:
    steps: list[str | Pick] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ChangeMalformed(f"{path!r} is no path: what is meant by {path[position:]!r}?")
        position = match.end()
        if match["pick"] is None:
            steps.append(match["quoted"] or match["key"])
        else:
            key, _, value = match["pick"].partition("=")
            steps.append(Pick(key, value))
    if not steps:
        raise ChangeMalformed("a path is missing, as in bundle.process.cwd")
    return tuple(steps)


def _values(argument: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    rest = argument.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except json.JSONDecodeError as error:
            raise ChangeMalformed(f"{rest!r} is not JSON: {error}") from error
        yield value
        rest = rest[end:].strip()


def _walk(document: Any, way: list[str | Pick], *, making: bool) -> Iterator[Any]:  # noqa: ANN401 - whatever JSON holds
    """Yield the places at the end of a path; with `making`, create missing parent objects."""
    if not way:
        yield document
        return
    step, *rest = way
    if isinstance(step, Pick):
        for element in document if isinstance(document, list) else ():
            if step.takes(element):
                yield from _walk(element, rest, making=making)
    elif isinstance(document, dict):
        # a missing list has no elements to select
        if document.get(step) is None and making and not any(isinstance(each, Pick) for each in rest):
            document[step] = {}
        if document.get(step) is not None:
            yield from _walk(document[step], rest, making=making)


def _container_type(document: dict[str, Any]) -> str:
    """Return the container type that a CRI runtime writes into the annotations of a bundle: `container` or
    `sandbox`.
    """
    annotations = document.get("annotations") or {}
    found = [value for key, value in annotations.items() if _CONTAINER_TYPE.search(key)]
    return str(found[0]) if found else ""


def main(arguments: list[str]) -> int:
    """Apply the changes in one file to the document in another; return the exit code."""
    changes_file, document_file = map(Path, arguments)
    document = json.loads(document_file.read_bytes())
    changed = False
    for change in json.loads(changes_file.read_bytes()):
        changed |= OciChange.from_json(change).apply(document)
    if not changed:
        return 1
    document_file.write_text(json.dumps(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
