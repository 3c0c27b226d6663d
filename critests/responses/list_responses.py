"""What every list holds: no object twice, and only entries that match the filter of the request."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from critests.responses.rules import Difference, Response, Rule, in_one_line

# entries and filters have no common type
Entry = Any
Filter = Any


@dataclass(frozen=True)
class ListKind:
    """A list of objects that have ids.

    Attributes:
        fields: of the responses that have it, `ListContainersResponse.containers`.
        of: returns the part of an entry that has id and labels.
        twice: aspect that an object listed twice breaks.
        filters: aspect to a function that returns whether an entry matches a filter.
    """

    fields: tuple[str, ...]
    of: Callable[[Entry], Entry]
    twice: str
    filters: Mapping[str, Callable[[Filter, Entry], bool]]

    def rules(self) -> Iterable[Rule]:
        """Return the rules of this list."""
        for field in self.fields:
            name = field.partition(".")[2]
            yield Rule(self.twice, (field,), self._no_duplicates(name))
            for aspect, matches in self.filters.items():
                yield Rule(aspect, (field,), self._only_matches(name, matches))

    def _no_duplicates(self, name: str) -> Callable[[Any, Response], Iterable[Difference]]:
        def check(response: Entry, _: Response) -> Iterable[Difference]:
            ids = Counter(self.of(entry).id for entry in getattr(response, name))
            if len(ids) == len(getattr(response, name)):
                return
            for identity, count in ids.items():
                if count > 1:
                    yield Difference(name, "each id once", f"{count} entries", identity)

        return check

    def _only_matches(
        self, name: str, matches: Callable[[Filter, Entry], bool]
    ) -> Callable[[Any, Response], Iterable[Difference]]:
        def check(response: Entry, of: Response) -> Iterable[Difference]:
            if "filter" not in of.request.DESCRIPTOR.fields_by_name or not of.request.HasField("filter"):
                return
            for entry in getattr(response, name):
                if not matches(of.request.filter, entry):  # type: ignore[attr-defined]  # checked above
                    yield Difference(
                        name, "entries that match the filter", in_one_line(entry), self.of(entry).id
                    )

        return check


def _itself(entry: Entry) -> Entry:
    return entry


def _attributes(entry: Entry) -> Entry:
    return entry.attributes


def _has_id(wanted: Filter, entry: Entry) -> bool:
    # runtimes may accept the beginning of an id
    return bool(entry.id.startswith(wanted.id))


def _has_labels(wanted: Filter, entry: Entry) -> bool:
    return all(entry.labels.get(key) == value for key, value in wanted.label_selector.items())


def _has_state(wanted: Filter, entry: Entry) -> bool:
    return not wanted.HasField("state") or entry.state == wanted.state.state


def _is_in_sandbox(wanted: Filter, entry: Entry) -> bool:
    return bool(entry.pod_sandbox_id.startswith(wanted.pod_sandbox_id))


LISTS = (
    ListKind(
        fields=("ListPodSandboxResponse.items", "StreamPodSandboxesResponse.pod_sandboxes"),
        of=_itself,
        twice="SBA-24",
        filters={"SBA-16": _has_id, "SBA-17": _has_state, "SBA-22": _has_labels},
    ),
    ListKind(
        fields=("ListContainersResponse.containers", "StreamContainersResponse.containers"),
        of=_itself,
        twice="CTR-07/never-two",
        filters={
            "CTA-18": lambda wanted, entry: (
                _has_id(wanted, entry) and _has_state(wanted, entry) and _is_in_sandbox(wanted, entry)
            ),
            "CTA-19": _has_labels,
        },
    ),
    ListKind(
        fields=("ListContainerStatsResponse.stats", "StreamContainerStatsResponse.container_stats"),
        of=_attributes,
        twice="STA-16",
        filters={
            "STA-16": lambda wanted, entry: (
                _has_id(wanted, entry.attributes) and _has_labels(wanted, entry.attributes)
            )
        },
    ),
    ListKind(
        fields=("ListPodSandboxStatsResponse.stats", "StreamPodSandboxStatsResponse.pod_sandbox_stats"),
        of=_attributes,
        twice="STA-25",
        filters={
            "STA-25": lambda wanted, entry: (
                _has_id(wanted, entry.attributes) and _has_labels(wanted, entry.attributes)
            )
        },
    ),
    ListKind(fields=("ListImagesResponse.images",), of=_itself, twice="IMS-13", filters={}),
    ListKind(fields=("StreamImagesResponse.images",), of=_itself, twice="LST-03", filters={}),
    ListKind(
        fields=("PodSandboxStatusResponse.containers_statuses", "ContainerEventResponse.containers_statuses"),
        of=_itself,
        twice="CTR-07/never-two",
        filters={},
    ),
)

RULES = [rule for kind in LISTS for rule in kind.rules()]
