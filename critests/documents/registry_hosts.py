"""The file hosts.toml, which says from which hosts the images of one registry come.

Source: containerd, docs/hosts.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Odd, Path
from critests.documents.pull_choices import FIRST, NOBODY, ORIGIN, SECOND, PullChoice, mirrors_in_order
from critests.documents.toml_documents import toml_variants, written
from critests.documents.variants import LONG_TEXT, Variant

ACCEPTED = Expected.ACCEPTED
FILE: Final = f"{NOBODY}/hosts.toml"
_TAKES: Final = ["pull", "resolve"]


def hosts_file(address: str) -> dict[str, Any]:
    """Return a valid hosts.toml with a host and a server, which are both the registry at an address."""
    host = {
        "capabilities": _TAKES,
        "override_path": False,
        "dial_timeout": "5s",
        "header": {"x-critests": "1"},
    }
    return {
        "server": f"http://{address}",
        "capabilities": _TAKES,
        "host": {f"http://{address}": host},
    }


def hosts_variants(address: str) -> Iterator[Variant]:
    """Yield the variants of a hosts.toml with the registry at an address."""
    host = f"http://{address}"
    yield from toml_variants(hosts_file(address), _fields(host), f'server = "{host}"', f'[host."{host}"]')


def _fields(host: str) -> tuple[Field, ...]:
    return (
        Field(("server",), FieldType.TEXT, *(Odd(*each) for each in _urls(host).items())),
        *_fields_of_host(()),
        Field(
            ("host",),
            FieldType.OBJECT,
            *(Odd(change, {url: {"capabilities": _TAKES}}) for change, url in _urls(host).items()),
            Odd("has many hosts", {f"http://{NOBODY}/{number}": {} for number in range(1000)}),
            Odd("has a host in a host", {host: {"host": {host: {}}}}),
            Odd("has a number for a host", {host: 7}),
        ),
        *_fields_of_host(("host", host)),
    )


def _urls(host: str) -> dict[str, str]:
    return {
        "has no scheme": host.removeprefix("http://"),
        "has another scheme": host.replace("http:", "ftp:"),
        "is a scheme": "http://",
        "is a socket": f"unix:///run/{ESCAPE}",
        "is a file": "file:///etc/hostname",
        "has credentials": host.replace("//", "//user:password@"),
        "has a query": f"{host}?a=b",
        "has a fragment": f"{host}#a",
        "has an invalid port": "http://127.0.0.1:99999",
        "has no port": "http://127.0.0.1:",
        "has an invalid escape": f"{host}/%zz",
        "has a space": f"{host}/a b",
        "has a path upwards": f"{host}/../../{ESCAPE}",
        "has an unclosed bracket": "http://[::1",
        "is in upper case": host.upper(),
        "has a long path": f"{host}/{LONG_TEXT}",
    }


_CERTIFICATES = (
    Odd("is absent on disk", "absent.pem"),
    Odd("is no certificate", "/etc/hostname"),
    Odd("is a directory", "/etc"),
    Odd("is a list of paths", ["a.pem", "b.pem"]),
    Odd("is a list of pairs", [["a.pem", "b.pem"], ["c.pem", ""]]),
    Odd("is a list of one", [["a.pem"]]),
    Odd("is a list of numbers", [1, 2]),
    Odd("is a table", {"a": "b"}),
)


def _fields_of_host(path: Path) -> tuple[Field, ...]:
    return (
        Field(
            (*path, "capabilities"),
            FieldType.LIST,
            Odd("has push", [*_TAKES, "push"], ACCEPTED),
            Odd("is in another order", ["resolve", "pull"], ACCEPTED),
            Odd("is push alone", ["push"]),
            Odd("has an unknown one", ["fly"]),
            Odd("is in upper case", ["PULL"]),
        ),
        Field((*path, "ca"), FieldType.PATH, *_CERTIFICATES),
        Field((*path, "client"), FieldType.PATH, *_CERTIFICATES),
        Field(
            (*path, "skip_verify"),
            FieldType.BOOLEAN,
            Odd("is true", True, ACCEPTED),
            Odd("is false", False, ACCEPTED),
        ),
        Field((*path, "override_path"), FieldType.BOOLEAN, Odd("is false", False, ACCEPTED)),
        Field(
            (*path, "dial_timeout"),
            FieldType.TEXT,
            Odd("is one second", "1s", ACCEPTED),
            Odd("has no unit", "5"),
            Odd("is negative", "-1s"),
            Odd("is 0", "0s"),
            Odd("is a nanosecond", "1ns"),
            Odd("is a fraction", "1.5s"),
            Odd("is too large", "9999999999999h"),
        ),
        Field(
            (*path, "header"),
            FieldType.MAP,
            Odd("has several values", {"x-critests": ["a", "b"]}, ACCEPTED),
            Odd("has several names", {"x-critests-1": "a", "x-critests-2": "b"}, ACCEPTED),
            Odd("has an empty list", {"x-critests": []}),
            Odd("has a space in a name", {"x critests": "a"}),
            Odd("has a colon in a name", {"a:b": "c"}),
            Odd("has a line break", {"x-critests": "a\r\nb: c"}),
            Odd("has a host", {"Host": "example"}),
            Odd("has a range", {"Range": "bytes=0-0"}),
        ),
    )


@dataclass(frozen=True)
class _Hosts:
    """Writes hosts.toml with the suite's registry as server and as two mirrors."""

    server: str

    def first(self, **changes: object) -> dict[str, Any]:
        """Return the first mirror with changed settings."""
        return self._mirror(FIRST, **changes)

    def second(self) -> dict[str, Any]:
        """Return the second mirror."""
        return self._mirror(SECOND)

    def _mirror(self, place: str, **changes: object) -> dict[str, Any]:
        return {f"{self.server}/v2/{place}": {"capabilities": _TAKES, "override_path": True, **changes}}

    def text(self, *hosts: Mapping[str, Any], **root: object) -> str:
        """Return a file with these hosts, in their order."""
        merged = {url: settings for host in hosts for url, settings in host.items()}
        return _text({**root, "host": merged})

    def followed(self, *hosts: Mapping[str, Any]) -> dict[str, str]:
        """Return a file with these hosts, followed by the server."""
        return {FILE: self.text(*hosts, server=self.server)}


def _order(address: str) -> Iterator[PullChoice]:
    write = _Hosts(f"http://{address}")
    first = write.first()
    dead = {f"http://{NOBODY}": {"capabilities": _TAKES}}
    yield from mirrors_in_order(write.followed, first, write.second(), dead)
    yield PullChoice(name="a host is used without a server", files={FILE: write.text(first)})
    yield PullChoice(
        name="the registry of the image follows the hosts if there is no server",
        files={f"{address}/hosts.toml": write.text(first)},
        registry=address,
        lacking=frozenset({FIRST}),
        asked=frozenset({ORIGIN, FIRST}),
        source=ORIGIN,
    )
    yield PullChoice(
        name="the server alone is used",
        files={FILE: _text({"server": write.server})},
        asked=frozenset({ORIGIN}),
        source=ORIGIN,
    )


def _capabilities(address: str) -> Iterator[PullChoice]:
    write = _Hosts(f"http://{address}")
    pulling = write.followed(write.first(capabilities=["pull"]))
    yield PullChoice(
        name="a host that may only pull resolves no tag", files=pulling, asked=frozenset({ORIGIN})
    )
    yield PullChoice(name="a host that may only pull is asked for a digest", files=pulling, by_digest=True)
    yield PullChoice(
        name="a host that may only resolve delivers nothing",
        files=write.followed(write.first(capabilities=["resolve"])),
        asked=None,
        source=ORIGIN,
    )
    yield PullChoice(
        name="a host that may only push is not asked",
        files=write.followed(write.first(capabilities=["push"])),
        asked=frozenset({ORIGIN}),
        source=ORIGIN,
    )


def _requests(address: str) -> Iterator[PullChoice]:
    write = _Hosts(f"http://{address}")
    yield PullChoice(
        name="the server may have a path",
        files={FILE: _text({"server": f"{write.server}/v2/{FIRST}", "override_path": True})},
    )
    yield PullChoice(
        name="the path of a host is not that of the API without override_path",
        files=write.followed(write.first(override_path=False)),
        asked=frozenset({ORIGIN}),
        source=ORIGIN,
    )
    yield PullChoice(
        name="a header is sent to its host",
        files=write.followed(write.first(header={"authorization": "Basic Y3JpdGVzdHM6eA=="})),
        username="critests",
    )


def _directories(address: str) -> Iterator[PullChoice]:
    write = _Hosts(f"http://{address}")
    first, second = write.text(write.first()), write.text(write.second())
    yield PullChoice(
        name="a directory with underscores comes before one with a colon",
        files={f"{NOBODY.replace(':', '_')}_/hosts.toml": first, FILE: second},
    )
    yield PullChoice(
        name="the default is used for a registry without a directory",
        files={"_default/hosts.toml": first},
    )
    yield PullChoice(
        name="the default is not used for a registry with a directory",
        files={"_default/hosts.toml": second, FILE: first},
    )


CHOICES: Final = {
    "order": _order,
    "capabilities": _capabilities,
    "requests": _requests,
    "directories": _directories,
}
"""Files that are valid, and what pulls with them do, by subject; from the address of the suite's registry,
which has the image in three places.
"""


def _text(document: Mapping[str, object]) -> str:
    return written(document).decode()
