"""The file registries.conf, which says from which registries images come.

Source: containers-registries.conf(5), containers-registries.conf.d(5).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Odd, Path
from critests.documents.pull_choices import FIRST, NOBODY, ORIGIN, SECOND, PullChoice, mirrors_in_order
from critests.documents.toml_documents import toml_variants, written
from critests.documents.variants import LONG_TEXT, MANY, Variant

ACCEPTED = Expected.ACCEPTED
FILE: Final = "registries.conf"
DROP_INS: Final = "registries.conf.d"


def registries_file(address: str) -> dict[str, Any]:
    """Return a valid registries.conf with a registry whose images come from an address, or before from a path
    there.
    """
    mirror = {"location": f"{address}/{FIRST}", "insecure": True, "pull-from-mirror": "all"}
    registry = {
        "prefix": NOBODY,
        "location": address,
        "insecure": True,
        "blocked": False,
        "mirror": [mirror],
    }
    return {
        "unqualified-search-registries": [address],
        "short-name-mode": "enforcing",
        "aliases": {"critests-alias": f"{address}/critests/alias"},
        "registry": [registry],
    }


def registries_variants(address: str) -> Iterator[Variant]:
    """Yield the variants of a registries.conf with the registry at an address."""
    yield from toml_variants(
        registries_file(address), _fields(address), 'short-name-mode = "enforcing"', "[aliases]"
    )


def _fields(address: str) -> tuple[Field, ...]:
    registry: tuple[str | int, ...] = ("registry", 0)
    mirror = (*registry, "mirror", 0)
    return (
        Field(
            ("unqualified-search-registries",),
            FieldType.LIST,
            Odd("has a URL in it", [f"http://{address}"]),
            Odd("has a path in it", [f"{address}/a"]),
            Odd("has a space in it", ["a b"]),
        ),
        Field(
            ("short-name-mode",),
            FieldType.TEXT,
            Odd("is permissive", "permissive", ACCEPTED),
            Odd("is disabled", "disabled", ACCEPTED),
        ),
        Field(
            ("credential-helpers",),
            FieldType.LIST,
            Odd("is that of files", ["containers-auth.json"], ACCEPTED),
            Odd("is absent on disk", ["critests"]),
            Odd("leads upwards", [f"../../{ESCAPE}"]),
        ),
        Field(("additional-layer-store-auth-helper",), FieldType.PATH),
        Field(
            ("aliases",),
            FieldType.MAP,
            Odd("has a tag", {"a": f"{address}/a:1"}),
            Odd("has a short name as a value", {"a": "b"}),
            Odd("has an invalid name", {"A B": "c"}),
        ),
        Field(
            ("registry",),
            FieldType.LIST,
            Odd("has many prefixes", [{"location": f"{address}/{number}"} for number in range(MANY)]),
            required=True,  # without it, the registry of the image is one that nobody serves
        ),
        Field(
            (*registry, "prefix"),
            FieldType.TEXT,
            Odd("is a wildcard alone", "*"),
            Odd("has a wildcard inside", "a.*.b"),
            Odd("is a wildcard with a port", "*.a:1"),
            *_locations(NOBODY),
            required=True,
        ),
        *_fields_of_endpoint(registry, address),
        Field((*registry, "pull-from-mirror"), FieldType.TEXT, Odd("is outside of a mirror", "all")),
        Field(
            (*registry, "blocked"),
            FieldType.BOOLEAN,
            Odd("is false", False, ACCEPTED),
            # forbids pulls, but administrators block a registry to have its mirrors alone
            Odd("is true", True),
        ),
        Field(
            (*registry, "mirror-by-digest-only"),
            FieldType.BOOLEAN,
            Odd("is false", False, ACCEPTED),
            Odd("is true, and the mirror has its own restriction", True),
        ),
        Field(
            (*registry, "mirror"),
            FieldType.LIST,
            Odd("has many that are dead", [{"location": f"{NOBODY}/{number}"} for number in range(100)]),
        ),
        *_fields_of_endpoint(mirror, address),
        Field(
            (*mirror, "pull-from-mirror"),
            FieldType.TEXT,
            Odd("is of digests", "digest-only", ACCEPTED),
            Odd("is of tags", "tag-only", ACCEPTED),
        ),
    )


def _fields_of_endpoint(path: Path, address: str) -> tuple[Field, ...]:
    return (
        Field((*path, "location"), FieldType.TEXT, *_locations(address), required=True),
        # without it, the registry is one of TLS
        Field((*path, "insecure"), FieldType.BOOLEAN, required=True),
    )


def _locations(address: str) -> tuple[Odd, ...]:
    return (
        Odd("is a URL", f"http://{address}"),
        Odd("ends with a slash", f"{address}/"),
        Odd("has a tag", f"{address}/a:1"),
        Odd("has a digest", f"{address}/a@sha256:{'5' * 64}"),
        Odd("has an invalid port", "127.0.0.1:99999"),
        Odd("has two slashes", f"{address}//a"),
        Odd("has upper case", f"{address}/A"),
        Odd("has a space", f"{address}/a b"),
        Odd("has a query", f"{address}/a?b=c"),
        Odd("leads upwards", f"{address}/../../{ESCAPE}"),
        Odd("has a long path", f"{address}/{LONG_TEXT}"),
    )


def _mirror(address: str, place: str) -> dict[str, object]:
    return {"location": f"{address}/{place}", "insecure": True}


def _origin(address: str) -> dict[str, object]:
    return {"prefix": NOBODY, "location": address, "insecure": True}


def _mirrors(address: str, _: str) -> Iterator[PullChoice]:
    origin, first, second = _origin(address), _mirror(address, FIRST), _mirror(address, SECOND)

    def mirrored(*mirrors: Mapping[str, object], **changes: object) -> dict[str, str]:
        settings = {name.replace("_", "-"): value for name, value in changes.items()}
        return {FILE: _text([{**origin, **settings, "mirror": list(mirrors)}])}

    yield from mirrors_in_order(mirrored, first, second, {"location": NOBODY, "insecure": True})
    for name, by_digest, uses, of_registry, of_mirror in (
        ("mirror-by-digest-only: not for a tag", False, False, True, ""),
        ("mirror-by-digest-only: for a digest", True, True, True, ""),
        ("pull-from-mirror digest-only: not for a tag", False, False, False, "digest-only"),
        ("pull-from-mirror digest-only: for a digest", True, True, False, "digest-only"),
        ("pull-from-mirror tag-only: for a tag", False, True, False, "tag-only"),
        ("pull-from-mirror tag-only: not for a digest", True, False, False, "tag-only"),
        ("pull-from-mirror all: for a tag", False, True, False, "all"),
        ("pull-from-mirror all: for a digest", True, True, False, "all"),
    ):
        mirror = {**first, **({"pull-from-mirror": of_mirror} if of_mirror else {})}
        yield PullChoice(
            name=name,
            files=mirrored(mirror, **({"mirror_by_digest_only": True} if of_registry else {})),
            by_digest=by_digest,
            asked=frozenset({FIRST if uses else ORIGIN}),
            source=FIRST if uses else ORIGIN,
        )


def _refused(name: str, *registries: Mapping[str, object], registry: str = NOBODY) -> PullChoice:
    return PullChoice(
        name=name,
        files={FILE: _text(registries)},
        registry=registry,
        asked=frozenset(),
        source="",
        expected=Expected.REFUSED,
    )


def _registries(address: str, _: str) -> Iterator[PullChoice]:
    origin, first, second = _origin(address), _mirror(address, FIRST), _mirror(address, SECOND)
    below = f"{NOBODY}/critests"
    yield PullChoice(
        name="the location replaces the prefix", files={FILE: _text([{**first, "prefix": NOBODY}])}
    )
    yield PullChoice(
        name="the prefix is the location if it is absent",
        files={FILE: _text([{"location": address, "insecure": True, "mirror": [first]}])},
        registry=address,
    )
    yield PullChoice(
        name="the longest prefix is chosen",
        files={
            FILE: _text(
                [
                    {**second, "prefix": NOBODY},
                    {"prefix": below, "location": f"{address}/{FIRST}/critests", "insecure": True},
                    {**second, "prefix": f"{below}/other"},
                ]
            )
        },
    )
    yield PullChoice(
        name="a prefix ends where a part of the name ends",
        files={
            FILE: _text(
                [
                    {**first, "prefix": NOBODY},
                    {
                        "prefix": f"{NOBODY}/critest",
                        "location": f"{address}/{SECOND}/critest",
                        "insecure": True,
                    },
                ]
            )
        },
    )
    yield PullChoice(
        name="a prefix may be all hosts of a domain",
        files={FILE: _text([{**first, "prefix": "*.critests.example"}])},
        registry="a.b.critests.example",
    )
    yield _refused(
        "a blocked registry is not asked",
        {"location": address, "insecure": True, "blocked": True},
        registry=address,
    )
    yield _refused("a registry without TLS is not asked unless it is insecure", {**origin, "insecure": False})
    yield PullChoice(
        name="a mirror without TLS is not asked unless it is insecure",
        files={FILE: _text([{**origin, "mirror": [{**first, "insecure": False}]}])},
        asked=frozenset({ORIGIN}),
        source=ORIGIN,
    )


def _blocked_prefixes(address: str, _: str) -> Iterator[PullChoice]:
    # without mirrors: administrators block a registry to have its mirrors alone
    origin = _origin(address)
    yield _refused("a blocked prefix with another location is not asked", {**origin, "blocked": True})
    below = {"prefix": f"{NOBODY}/critests", "location": f"{address}/critests", "insecure": True}
    yield _refused(
        "a blocked prefix is not asked below one that is not blocked", origin, {**below, "blocked": True}
    )


def _short_names(address: str, repository: str) -> Iterator[PullChoice]:
    first = _mirror(address, FIRST)
    searched = {"unqualified-search-registries": [address]}
    yield PullChoice(
        name="a short name is looked for in the search registries",
        files={FILE: _text([{**first, "prefix": address}], **searched)},
        registry="",
    )
    yield PullChoice(
        name="a short name with an alias is that of the alias",
        files={
            FILE: _text(
                [{"location": address, "insecure": True}],
                **searched,
                aliases={repository: f"{address}/{FIRST}/{repository}"},
            )
        },
        registry="",
    )


def _drop_ins(address: str, _: str) -> Iterator[PullChoice]:
    first, second = _mirror(address, FIRST), _mirror(address, SECOND)
    yield PullChoice(
        name="a file of the directory replaces the registry of the same prefix",
        files={
            FILE: _text([{**second, "prefix": NOBODY}]),
            f"{DROP_INS}/1.conf": _text([{**first, "prefix": NOBODY}]),
        },
    )
    yield PullChoice(
        name="the last file of the directory by its name replaces those before",
        files={
            FILE: _text([]),
            f"{DROP_INS}/10.conf": _text([{**first, "prefix": NOBODY}]),
            f"{DROP_INS}/09.conf": _text([{**second, "prefix": NOBODY}]),
        },
    )
    yield PullChoice(
        name="a file of the directory with another ending is ignored",
        files={
            FILE: _text([{**first, "prefix": NOBODY}]),
            f"{DROP_INS}/1.conf.bak": _text([{**second, "prefix": NOBODY}]),
        },
    )


CHOICES: Final = {
    "mirrors": _mirrors,
    "registries": _registries,
    "blocked prefixes": _blocked_prefixes,
    "short names": _short_names,
    "drop-ins": _drop_ins,
}
"""Files that are valid, and what pulls with them do, by subject; from the address of the suite's registry,
which has the image in three places, and the image's repository.
"""


def _text(registries: Sequence[object], **root: object) -> str:
    return written({**root, "registry": list(registries)}).decode()
