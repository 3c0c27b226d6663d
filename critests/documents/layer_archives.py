"""Layers with unusual pax headers, structure and compression.

Sources: OCI Image Format Specification 1.1, layer.md; POSIX.1-2017, pax; RFC 1952 (gzip); RFC 8878 (zstd).
"""

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from critests.documents.document_fields import ESCAPE, Expected
from critests.documents.layers import TAR, LayerVariant, layer
from critests.documents.tar_archives import (
    BLOCK,
    CHARACTER,
    DIRECTORY,
    END,
    FILE,
    GLOBAL,
    Member,
    archive,
    octal,
    pax_header,
    record,
)
from critests.images.oci_image import digest

ACCEPTED, EITHER = Expected.ACCEPTED, Expected.EITHER


RECORDS: Final = {
    "have a length of 0": b"0 a=b\n",
    "have a negative length": b"-7 a=b\n",
    "have a long length": b"9999999999 a=b\n",
    "have a length of more than 64 bits": b"99999999999999999999999 a=b\n",
    "have a short length": b"3 a=b\n",
    "have no length": b"a=b\n",
    "have no equal sign": b"6 abc\n",
    "have no line break": b"6 a=bc",
    "have no key": b"5 =b\n",
    "are empty": b"",
    "are a NUL": b"\0",
    "are long": record("comment", "x" * (1 << 20)),
    "are too long": record("comment", "x" * (8 << 20)),
    "are many": b"".join(record(f"CRITESTS.{number}", "x") for number in range(10_000)),
}
OVERRIDES: Final = {
    "size": ("-1", "1", "1024", "9223372036854775807", "99999999999999999999", "x", "1.5", ""),
    "mtime": ("-1", "0.5", "1e9", "nan", "inf", "9223372036854775807", "-99999999999", "x", ""),
    "atime": ("-1", "nan", "9223372036854775807", "x"),
    "ctime": ("nan", "x"),
    "uid": ("-1", "4294967295", "4294967296", "9223372036854775807", "x", ""),
    "gid": ("-1", "4294967295", "4294967296", "x", ""),
    "path": ("", "..", "/", f"../../../../{ESCAPE}", "x" * (1 << 16)),
    "linkpath": ("", f"../../../../{ESCAPE}"),
    "uname": ("root", "\0"),
    "hdrcharset": ("BINARY", "critests"),
    "charset": ("critests",),
    "GNU.sparse.major": ("1", "2", "x"),
    "GNU.sparse.size": ("-1", "9223372036854775807"),
    "GNU.sparse.realsize": ("9223372036854775807",),
    "GNU.sparse.map": ("0,1", "0,1,0,1", "1", "-1,5", "0,9223372036854775807"),
    "GNU.sparse.numblocks": ("1", "-1", "999999999"),
    "SCHILY.xattr.": ("x",),
    "SCHILY.xattr.user.critests": ("", "x" * (1 << 17)),
    "SCHILY.xattr.user." + "x" * 300: ("x",),
    "SCHILY.xattr.nonamespace": ("x",),
    "SCHILY.xattr.security.capability": ("x", "\1\0\0\2" + "\0" * 16),
    "SCHILY.xattr.security.selinux": ("x", "system_u:object_r:critests_t:s0"),
    "SCHILY.xattr.system.posix_acl_access": ("x",),
    "SCHILY.xattr.trusted.overlay.opaque": ("y", "x"),
    "SCHILY.xattr.trusted.overlay.redirect": (f"/../../{ESCAPE}", "/etc"),
    "SCHILY.xattr.trusted.overlay.metacopy": ("", "x"),
    "SCHILY.xattr.user.overlay.opaque": ("y",),
    "LIBARCHIVE.xattr.user.critests": ("eA==", "?"),
    "RHT.security.selinux": ("x",),
}


def pax_headers() -> Iterator[LayerVariant]:
    """Yield archives with unusual pax headers."""
    odd = Member("odd", content=b"x")
    for change, records in RECORDS.items():
        yield layer("pax records", change, pax_header(records) + archive(odd))
        yield layer("global pax records", change, pax_header(records, GLOBAL) + archive(odd))
    for key, values in OVERRIDES.items():
        name = key if len(key) < 60 else "a long SCHILY.xattr"
        for value in values:
            shown = repr(value) if len(value) < 60 else f"{len(value)} letters"
            for kind in (FILE, DIRECTORY):
                of = "a file" if kind == FILE else "a directory"
                member = Member("odd", kind, b"x" if kind == FILE else b"", pax={key: value})
                yield layer(f"pax record {name} of {of}", f"is {shown}", archive(member))
    for key in ("path", "linkpath", "size", "uid", "mtime"):
        yield layer(f"global pax record {key}", "is 7", pax_header(record(key, "7"), GLOBAL) + archive(odd))
    twice = record("path", "first") + record("path", "second")
    yield layer(
        "pax records", "have a key twice", pax_header(twice) + archive(odd), ACCEPTED, "test -f /second"
    )
    yield layer(
        "pax records",
        "have an unknown key",
        archive(Member("odd", content=b"x", pax={"CRITESTS.unknown": "x"})),
        ACCEPTED,
        "test -f /odd",
    )
    yield layer("pax records", "belong to no member", pax_header(record("path", "x")) + END)
    yield layer("pax records", "are there twice", pax_header(record("a", "b")) * 2 + archive(odd))
    for content in (b"", b"1\n", b"-1\n", b"1\n0\n", b"1\n0\n9223372036854775807\n", b"x\n", b"9" * 600):
        sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "odd"}
        member = Member("odd", content=content, pax={**sparse, "GNU.sparse.realsize": "4611686018427387904"})
        yield layer("sparse map", f"is {content[:30]!r}", archive(member))


def archives() -> Iterator[LayerVariant]:
    """Yield archives with an unusual structure."""
    odd = Member("odd", content=b"x" * 1500)
    whole = archive(odd)
    yield layer("archive", "has no members", END, ACCEPTED)
    for change, tar in {
        "is nothing": b"",
        "is one block of zeros": bytes(BLOCK),
        "is no archive": b"critests" * 200,
        "has no end": odd.packed(),
        "ends in a header": whole[:300],
        "ends in a file": whole[: BLOCK + 700],
        "has text after its end": whole + b"critests" * 100,
        "has an archive after its end": whole + archive(Member("after-end", content=b"x")),
        "has a block of zeros in its middle": odd.packed()
        + bytes(BLOCK)
        + archive(Member("after", content=b"x")),
        "has much after its end": whole + bytes(8 << 20),
        "has many members": archive(*(Member(f"many/{number}") for number in range(10_000))),
        "has deep directories": archive(*(Member("d/" * depth, DIRECTORY) for depth in range(1, 300))),
        "has a file twice": archive(Member("odd", content=b"a"), Member("odd", content=b"b")),
        "has a file, then a directory of its name": archive(odd, Member("odd", DIRECTORY), Member("odd/x")),
        "has a directory, then a file of its name": archive(
            Member("d", DIRECTORY), Member("d/x"), Member("d")
        ),
        "has a file in a file": archive(odd, Member("odd/x", content=b"x")),
        "has a file in place of the root": archive(Member(".", FILE, b"x")),
        "has a directory in place of the shell": archive(Member("bin/busybox", DIRECTORY)),
        "has a directory in place of the user database": archive(Member("etc/passwd", DIRECTORY)),
        "has a device in place of the groups": archive(
            Member("etc/group", CHARACTER, raw={"devmajor": octal(5, 8)})
        ),
        "has a huge user database": archive(Member("etc/passwd", content=b"x:x:1:1::/:/\n" * 400_000)),
    }.items():
        yield layer("archive", change, tar)


def compressions() -> Iterator[LayerVariant]:
    """Yield archives with an unusual compression."""
    tar = archive(Member("odd", content=b"critests" * 1000))
    there = "test -s /odd"

    def compressed(
        algorithm: str, change: str, content: bytes, expected: Expected = EITHER, media_type: str = ""
    ) -> LayerVariant:
        kind = media_type or f"{TAR}+{algorithm}"
        return LayerVariant(algorithm, change, content, kind, digest(tar), expected, there)

    half = len(tar) // 2
    good = gzip.compress(tar, mtime=0)
    first, second = gzip.compress(tar[:half], mtime=0), gzip.compress(tar[half:], mtime=0)
    yield compressed("gzip", "has two members", first + second, ACCEPTED)
    yield compressed("gzip", "has an empty member first", gzip.compress(b"", mtime=0) + good, ACCEPTED)
    yield compressed("gzip", "has an empty member last", good + gzip.compress(b"", mtime=0), ACCEPTED)
    for change, head in _GZIP_HEADERS.items():
        yield compressed("gzip", change, head + good[10:], ACCEPTED)
    for change, content in {
        "has a wrong checksum": good[:-8] + b"\0\0\0\0" + good[-4:],
        "has a wrong length": good[:-4] + b"\0\0\0\0",
        "has no trailer": good[:-8],
        "ends in its middle": good[: len(good) // 2],
        "ends in its header": good[:5],
        "is empty": b"",
        "has text after its end": good + b"critests",
        "has zeros after its end": good + bytes(BLOCK),
        "has reserved flags": good[:3] + b"\xe0" + good[4:],
        "has an unknown method": good[:2] + b"\7" + good[3:],
        "has a name without an end": good[:3] + b"\x08" + good[4:10] + b"x" * (1 << 20),
        "has a damaged block": good[:40] + b"\xff\xff\xff" + good[43:],
        "is not compressed": tar,
        "is zlib's format": zlib.compress(tar),
        "is zstd": zstd(tar),
    }.items():
        yield compressed("gzip", change, content)
    yield compressed("zstd", "has one frame", zstd(tar), ACCEPTED)
    yield compressed("zstd", "has two frames", zstd(tar[:half]) + zstd(tar[half:]), ACCEPTED)
    skippable = b"\x50\x2a\x4d\x18" + struct.pack("<I", 5) + b"12345"
    yield compressed("zstd", "has a skippable frame first", skippable + zstd(tar), ACCEPTED)
    yield compressed("zstd", "has a skippable frame last", zstd(tar) + skippable, ACCEPTED)
    yield compressed("zstd", "has an empty frame last", zstd(tar) + zstd(b""), ACCEPTED)
    good = zstd(tar)
    for change, content in {
        "ends in its middle": good[: len(good) // 2],
        "has text after its end": good + b"critests",
        "has a reserved bit": good[:4] + bytes([good[4] | 8]) + good[5:],
        "has a dictionary": good[:4] + bytes([good[4] | 1]) + b"\7" + good[5:],
        "has a wrong size": good[:5] + struct.pack("<Q", 7) + good[13:],
        "has a huge size": good[:5] + struct.pack("<Q", 1 << 62) + good[13:],
        "has a reserved block type": good[:13] + bytes([good[13] | 6]) + good[14:],
        "has a huge window": b"\x28\xb5\x2f\xfd\x00\xf8" + good[13:],
        "has a skippable frame without content": b"\x50\x2a\x4d\x18\xff\xff\xff\xff",
        "is empty": b"",
        "is gzip": gzip.compress(tar),
        "is not compressed": tar,
    }.items():
        yield compressed("zstd", change, content)
    yield compressed("none", "is gzip", gzip.compress(tar), media_type=TAR)
    yield compressed("none", "is zstd", zstd(tar), media_type=TAR)
    yield compressed("none", "has an unknown compression", tar, media_type=f"{TAR}+critests")


_GZIP_HEADERS: Final[Mapping[str, bytes]] = {
    "has a name": b"\x1f\x8b\x08\x08" + bytes(4) + b"\0\3" + b"layer.tar\0",
    "has a comment": b"\x1f\x8b\x08\x10" + bytes(4) + b"\0\3" + b"a comment\0",
    "has an extra field": b"\x1f\x8b\x08\x04" + bytes(4) + b"\0\3" + b"\x06\0CR\x02\0xy",
    "has a time and another system": b"\x1f\x8b\x08\x00\xff\xff\xff\xff\x02\x0b",
    "is marked as text": b"\x1f\x8b\x08\x01" + bytes(4) + b"\0\3",
}
"""Optional parts of a header (RFC 1952, section 2.3)."""


def zstd(content: bytes) -> bytes:
    """Return a frame of raw blocks, with the size in eight bytes (RFC 8878, section 3.1.1)."""
    frame = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", len(content))
    step = 128 << 10
    for start in range(0, max(len(content), 1), step):
        block = content[start : start + step]
        frame += (len(block) << 3 | (start + step >= len(content))).to_bytes(3, "little") + block
    return frame
