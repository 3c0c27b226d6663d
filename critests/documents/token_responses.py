"""Challenges of a registry, and responses of its token endpoint, with unusual values.

Sources: RFC 9110, sections 5.6 and 11; RFC 6750; distribution project, "Token Authentication Specification".
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from critests.documents.document_fields import ESCAPE, Expected, Field, FieldType, Odd
from critests.documents.registry_responses import response
from critests.documents.variants import Variant, variants

ACCEPTED, EITHER = Expected.ACCEPTED, Expected.EITHER
REALM, SERVICE, SCOPE = 'realm="{realm}"', 'service="{service}"', 'scope="{scope}"'
USUAL: Final = f"Bearer {REALM},{SERVICE},{SCOPE}"


@dataclass(frozen=True)
class ChallengeVariant:
    """An unusual challenge.

    Attributes:
        change: what is unusual, in words.
        challenges: values of WWW-Authenticate, with placeholders for the realm, the service and the scope.
        expected: ACCEPTED if it matches the grammar, so that a client must be able to parse it (RFC 9110,
            section 2.2), and asks for a token.
    """

    change: str
    challenges: tuple[str, ...]
    expected: Expected

    def __str__(self) -> str:
        return f"challenge {self.change}"


VALID: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    # 11.1 and 11.2: schemes and names of parameters are case-insensitive
    "letter case": {
        "is as usual": (USUAL,),
        "has its scheme in lower case": (f"bearer {REALM},{SERVICE},{SCOPE}",),
        "has its scheme in upper case": (f"BEARER {REALM},{SERVICE},{SCOPE}",),
        "has a name in upper case": (f'Bearer REALM="{{realm}}",{SERVICE},{SCOPE}',),
    },
    # 5.6.3: optional whitespace, and bad whitespace, which a recipient must parse
    "whitespace": {
        "has spaces after commas": (f"Bearer {REALM}, {SERVICE},   {SCOPE}",),
        "has spaces before commas": (f"Bearer {REALM} ,{SERVICE} , {SCOPE}",),
        "has a tab after a comma": (f"Bearer {REALM},\t{SERVICE},{SCOPE}",),
        "has spaces around an equal sign": (f'Bearer realm = "{{realm}}",{SERVICE},{SCOPE}',),
        "has two spaces after its scheme": (f"Bearer  {REALM},{SERVICE},{SCOPE}",),
        "has spaces at its end": (f"{USUAL}   ",),
    },
    # 5.6.1.2: a recipient must ignore empty elements
    "parameters": {
        "has an empty element": (f"Bearer {REALM},,{SERVICE}, ,{SCOPE}",),
        "has an empty element at its end": (f"{USUAL},",),
        "has another order": (f"Bearer {SCOPE},{SERVICE},{REALM}",),
        "has an unknown parameter": (f'Bearer x="y",{REALM},{SERVICE},{SCOPE}',),
        "has an unknown parameter without quotes": (f"Bearer x=y,{REALM},{SERVICE},{SCOPE}",),
    },
    # 5.6.4: quoted strings
    "quotes": {
        "has a comma in quotes": (f'Bearer error_description="a, b=c",{REALM},{SERVICE},{SCOPE}',),
        "has an escaped quote": (f'Bearer error_description="a \\"b\\"",{REALM},{SERVICE},{SCOPE}',),
        "has an escaped letter": (f'Bearer x="\\y",{REALM},{SERVICE},{SCOPE}',),
        "has an empty quoted string": (f'Bearer error_description="",{REALM},{SERVICE},{SCOPE}',),
        "has the name of a scheme in quotes": (f'Bearer x="Basic realm",{REALM},{SERVICE},{SCOPE}',),
    },
    # 11.6.1: several challenges in several headers
    "several headers": {
        "is behind one of an unknown scheme": ('Critests a="b"', USUAL),
        "is before one of an unknown scheme": (USUAL, 'Critests a="b"'),
    },
    # 11.6.1: or in one
    "several in a header": {
        "is behind one of an unknown scheme in one header": (f'Critests a="b", {USUAL}',),
        "is before one of an unknown scheme in one header": (f'{USUAL}, Critests a="b"',),
        "is behind one with a token in one header": (f"Critests YWJj==, {USUAL}",),
        "is behind a scheme alone in one header": (f"Negotiate, {USUAL}",),
    },
}
"""Challenges that match the grammar of RFC 9110, by what is unusual in them."""

INVALID: Final[dict[str, tuple[str, ...]]] = {
    "is absent": (),
    "is empty": ("",),
    "is only a scheme": ("Bearer",),
    "is a scheme and a space": ("Bearer ",),
    "has no realm": (f"Bearer {SERVICE},{SCOPE}",),
    "has an empty realm": (f'Bearer realm="",{SERVICE},{SCOPE}',),
    "has no service": (f"Bearer {REALM},{SCOPE}",),
    "has no scope": (f"Bearer {REALM},{SERVICE}",),
    "has an empty scope": (f'Bearer {REALM},{SERVICE},scope=""',),
    "has several scopes": (f'Bearer {REALM},{SERVICE},scope="{{scope}} repository:critests/other:pull"',),
    "has an unknown scope": (f'Bearer {REALM},{SERVICE},scope="critests"',),
    "has the scope of another repository": (
        f'Bearer {REALM},{SERVICE},scope="repository:critests/other:pull"',
    ),
    "has a scope with more colons": (f'Bearer {REALM},{SERVICE},scope="repository:a:b:c:pull"',),
    "has a realm twice": (f'Bearer {REALM},realm="http://127.0.0.1:1/",{SERVICE},{SCOPE}',),
    "has no quotes": ("Bearer realm={realm},service={service},scope={scope}",),
    "has single quotes": (USUAL.replace('"', "'"),),
    "has no end of its quotes": (USUAL[:-1],),
    "has only the beginning of quotes": (f'{USUAL},x="',),
    "has a backslash at its end": (f'{USUAL},x="\\',),
    "has no commas": (f"Bearer {REALM} {SERVICE} {SCOPE}",),
    "has semicolons": (f"Bearer {REALM};{SERVICE};{SCOPE}",),
    "has no equal sign": (f"Bearer realm,{SERVICE},{SCOPE}",),
    "has no name": (f'Bearer ="x",{REALM},{SERVICE},{SCOPE}',),
    "is long": (f'Bearer x="{"y" * (1 << 16)}",{REALM},{SERVICE},{SCOPE}',),
    "has many parameters": (f"Bearer {','.join('x=y' for _ in range(5_000))},{REALM},{SERVICE},{SCOPE}",),
    "is there a thousand times": (USUAL,) * 1000,
    "is one of a thousand schemes": (*(f'Critests{number} a="b"' for number in range(1000)), USUAL),
    "is Basic": ('Basic realm="x"',),
    "is Basic without a realm": ("Basic",),
    "is Basic before Bearer": ('Basic realm="x"', USUAL),
    "is Bearer before Basic": (USUAL, 'Basic realm="x"'),
    "is Basic before Bearer in one header": (f'Basic realm="x", {USUAL}',),
    "is Digest": ('Digest realm="x", nonce="y", qop="auth"',),
    "is Negotiate": ("Negotiate",),
    "is NTLM": ("NTLM TlRMTVNTUAACAAAA",),
    "has only commas": (",,,",),
    "has only an equal sign": ("=",),
    "has bytes above 127": (f'Bearer x="\xff\xfe",{REALM},{SERVICE},{SCOPE}',),
    "has an error": (f'Bearer error="insufficient_scope",{REALM},{SERVICE},{SCOPE}',),
    "has an invalid token as its error": (f'Bearer error="invalid_token",{REALM},{SERVICE},{SCOPE}',),
}
REALMS: Final = {
    "is relative": "/token",
    "has no scheme": "127.0.0.1/token",
    "has another scheme": "ftp://127.0.0.1/token",
    "is a file": "file:///etc/hostname",
    "is a socket": f"unix:///run/{ESCAPE}",
    "has a closed port": "http://127.0.0.1:1/token",
    "has an invalid port": "http://127.0.0.1:99999/token",
    "is no URL": "http://[::1",
    "has a fragment": "{realm}#x",
    "has a query": "{realm}?a=b",
    "has an invalid query": "{realm}?%zz",
    "has credentials": "http://a:b@{service}/token",
    "is missing at the registry": "http://{service}/no-such-path",
    "is the manifest": "http://{service}/v2/",
    "is long": "http://{service}/token?" + "x" * (1 << 15),
    "leads upwards": "http://{service}/../../token",
}


def valid_challenges(form: str) -> Iterator[ChallengeVariant]:
    """Yield challenges of one form in `VALID`."""
    for change, challenges in VALID[form].items():
        yield ChallengeVariant(change, challenges, ACCEPTED)


def invalid_challenges() -> Iterator[ChallengeVariant]:
    """Yield challenges that need not be understood."""
    for change, challenges in INVALID.items():
        yield ChallengeVariant(change, challenges, EITHER)
    for change, realm in REALMS.items():
        yield ChallengeVariant(
            f"has a realm that {change}", (f'Bearer realm="{realm}",{SERVICE},{SCOPE}',), EITHER
        )


TOKEN: Final = "{token}"  # noqa: S105 - a placeholder
_NUMBERS: Final = (
    Odd("is 60", 60, ACCEPTED),
    Odd("is 1", 1),
    Odd("is a year", 31_536_000, ACCEPTED),
    Odd("is a float", 60.0),
)
_TIMES: Final = (
    Odd("has a fraction", "2026-01-01T00:00:00.123456789Z"),
    Odd("has a zone", "2026-01-01T00:00:00+02:00"),
    Odd("is in the future", "2999-01-01T00:00:00Z"),
    Odd("is long ago", "0001-01-01T00:00:00Z"),
    Odd("is no time", "now"),
)
DOCUMENT: Final[dict[str, object]] = {
    "token": TOKEN,
    "access_token": TOKEN,
    "expires_in": 300,
    "issued_at": "2026-01-01T00:00:00Z",
    "refresh_token": "critests",
}
FIELDS: Final = (
    # either of the two is enough
    Field(("token",), FieldType.TEXT),
    Field(("access_token",), FieldType.TEXT),
    Field(("expires_in",), FieldType.INTEGER, *_NUMBERS),
    Field(("issued_at",), FieldType.TEXT, *_TIMES),
    Field(("refresh_token",), FieldType.TEXT),
)


def token_variants() -> Iterator[Variant]:
    """Yield HTTP responses of the token endpoint, with a placeholder for a valid token."""
    headers = [("Content-Type", "application/json"), ("Connection", "close")]
    for each in variants(DOCUMENT, FIELDS):
        body = each.content.replace(b'"x": "' + b"x" * (8 << 20), b'"x": "' + b"x" * (1 << 20))
        yield Variant(f"token {each.field}".strip(), each.change, response(headers, body), each.expected)
    body = json.dumps(DOCUMENT).encode()
    for status in (
        "201 x",
        "204 x",
        "301 x",
        "400 x",
        "401 x",
        "403 x",
        "404 x",
        "418 x",
        "429 x",
        "500 x",
        "503 x",
    ):
        yield Variant("token status", f"is {status[:3]}", response(headers, body, status))
    for change, location in {"is itself": "/token", "is missing": "/no-such-path", "is empty": ""}.items():
        yield Variant(
            "token location", change, response([("Location", location), *headers], b"", "307 Temporary")
        )
    for value in ("text/html", "", "application/octet-stream"):
        yield Variant(
            "token Content-Type", f"is {value!r}", response([("Content-Type", value), *headers[1:]], body)
        )
    yield Variant("token response", "is nothing", b"")
    yield Variant("token response", "is no HTTP", b"critests")
