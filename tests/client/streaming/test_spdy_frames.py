import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.client.streaming.spdy_frames import (
    ControlFrame,
    ControlFrameType,
    DataFrame,
    HeaderReader,
    HeaderWriter,
    SpdyFrameReader,
    data_frame,
    dictionary,
    goaway,
    ping,
    rst_stream,
    syn_stream,
)
from critests.client.streaming.streaming_errors import ProtocolViolation

# What containerd sent for one exec of `echo out; echo err >&2; exit 7`: replies to three streams (the first
# header block opens the zlib stream with the dictionary's checksum, the others are its continuation), output,
# the ends of the streams, the status, GOAWAY.
RECORDED = bytes.fromhex(
    "80030002000000140000000578f9e3c6a7c26260606000000000ffff"
    "800300020000000e000000016260606000000000ffff"
    "800300020000000e000000036260606000000000ffff"
    "00000003000000046f75740a"
    "00000005000000046572720a"
    "0000000501000000"
    "0000000301000000"
    "80030003000000080000000100000005"
    "80030007000000080000000500000000"
)


def test_bytes_of_a_real_server_are_parsed_whatever_their_boundaries() -> None:
    whole = list(SpdyFrameReader().feed(RECORDED))
    reader = SpdyFrameReader()
    assert [frame for byte in RECORDED for frame in reader.feed(bytes([byte]))] == whole

    replies = [
        frame
        for frame in whole
        if isinstance(frame, ControlFrame) and frame.kind == ControlFrameType.SYN_REPLY
    ]
    headers = HeaderReader()
    assert [(frame.number(), headers.headers(frame.body[4:])) for frame in replies] == [
        (5, {}),
        (1, {}),
        (3, {}),
    ]
    assert whole[3:7] == [
        DataFrame(3, False, b"out\n"),
        DataFrame(5, False, b"err\n"),
        DataFrame(5, True, b""),
        DataFrame(3, True, b""),
    ]
    assert whole[7:] == [
        ControlFrame(ControlFrameType.RST_STREAM, 0, struct.pack("!II", 1, 5)),
        ControlFrame(ControlFrameType.GOAWAY, 0, struct.pack("!II", 5, 0)),
    ]


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (data_frame(3, b"ab"), "00000003 00000002 6162"),
        (data_frame(3, b"", fin=True), "00000003 01000000"),
        (syn_stream(1, b"B"), "80030001 0000000b 00000001 00000000 0000 42"),
        (syn_stream(1, b"B", fin=True), "80030001 0100000b 00000001 00000000 0000 42"),
        (rst_stream(7, 5), "80030003 00000008 00000007 00000005"),
        (ping(1), "80030006 00000004 00000001"),
        (goaway(0), "80030007 00000008 00000000 00000000"),
    ],
)
def test_frames_have_the_layout_of_spdy(frame: bytes, expected: str) -> None:
    assert frame == bytes.fromhex(expected)


def test_the_compressor_begins_with_the_checksum_of_the_dictionary() -> None:
    assert len(dictionary()) == 1423
    assert HeaderWriter().block({"a": "b"})[2:6] == RECORDED[14:18]


@given(
    st.lists(
        st.dictionaries(
            st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True),
            st.text(st.characters(max_codepoint=255), max_size=50),
            max_size=5,
        ),
        max_size=4,
    )
)
def test_headers_survive_the_shared_compressor(blocks: list[dict[str, str]]) -> None:
    writer, reader = HeaderWriter(), HeaderReader()
    assert [reader.headers(writer.block(block)) for block in blocks] == blocks


def test_names_are_sent_in_lower_case() -> None:
    assert HeaderReader().headers(HeaderWriter().block({"streamType": "Data"})) == {"streamtype": "Data"}


@pytest.mark.parametrize("block", [b"\x78\xf9\0\0\0\0", b"garbage"])
def test_a_damaged_block_is_a_violation(block: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        HeaderReader().headers(block)


def test_a_block_that_grows_without_bound_is_a_violation() -> None:
    with pytest.raises(ProtocolViolation, match="more than"):
        HeaderReader().headers(HeaderWriter().block({"a": "x" * 1_000_000}))


def test_frame_of_another_spdy_version_is_a_violation() -> None:
    with pytest.raises(ProtocolViolation, match="version 2"):
        list(SpdyFrameReader().feed(bytes.fromhex("8002000600000004")))


def test_a_control_frame_cut_short_is_a_violation() -> None:
    with pytest.raises(ProtocolViolation, match="only 0 bytes"):
        ControlFrame(ControlFrameType.PING, 0, b"").number()
