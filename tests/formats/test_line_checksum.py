"""A checksum at the end of a line: it finds what JSON cannot, and nobody needs it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext import SessionMessage, ToolInvocation
from cortext.formats import line_checksum
from cortext.formats.folder import FOLDER
from cortext.formats.line_formats import with_checksums
from cortext.formats.log import LOG
from cortext.formats.message_lines import (
    RecordTable,
    decode_lines,
    decode_record,
    encode_record,
    record_ids,
)
from cortext.model import message_dicts
from cortext.model.message import message_from_dict
from tests.formats import strategies

TABLES = [with_checksums(LOG).records, with_checksums(FOLDER).records]
WHEN = datetime(2026, 1, 12, tzinfo=UTC)


@pytest.fixture(params=TABLES, ids=["log", "folder"])
def line(request: pytest.FixtureRequest) -> bytes:
    """A sealed line, without its newline."""
    return encode_record(SessionMessage("user", "Let's go", WHEN, "m1"), request.param)[:-1]


@given(message=strategies.messages, table=st.sampled_from(TABLES))
def test_sealed_line_decodes_to_same_message(message: SessionMessage, table: RecordTable) -> None:
    """Also a message that has a key of that name itself, alone and among others."""
    mine = SessionMessage("user", "x", WHEN, "own", extra={"crc": "0123abcd"})
    call = ToolInvocation("grep", {"a": 1}, id="c1", timestamp=WHEN)
    data = encode_record(message, table, [call]) + encode_record(mine, table)
    found = decode_lines(data + encode_record(message, table), table)
    assert found.messages == [message, mine, message]
    assert all(
        line_checksum.is_sealed(one) and line_checksum.is_sound(one)
        for one in data.split(b"\n")[:-1]
    )


def test_plain_and_sealed_lines_are_read_in_one_file(line: bytes) -> None:
    """A file may have been begun without; ids are found in both."""
    table = LOG.records if b'"turn"' in line else FOLDER.records
    plain = encode_record(SessionMessage("user", "two", WHEN, "m2"), table)
    found = decode_lines(line + b"\n" + plain, table)
    assert ([message.id for message in found.messages], found.damages) == (["m1", "m2"], [])
    assert record_ids(line + b"\n" + plain) == ["m1", "m2"]
    assert line_checksum.is_sound(plain[:-1])


def test_single_flipped_bit_is_detected_and_repaired(line: bytes) -> None:
    """Whether or not the line is still JSON."""
    body = len(line_checksum.unseal(line)) - 1
    for place in range(body):
        for bit in range(8):
            wrong = bytearray(line)
            wrong[place] ^= 1 << bit
            assert not line_checksum.is_sound(bytes(wrong))
            assert line_checksum.mended(bytes(wrong)) == line


def test_two_flipped_bits_are_detected_and_not_repaired(line: bytes) -> None:
    wrong = line.replace(b"Let's go", b"Met's do")
    assert not line_checksum.is_sound(wrong)
    assert line_checksum.mended(wrong) is None


def test_older_reader_keeps_checksum_as_unknown_key() -> None:
    """As an earlier release reads and writes a record: the key is one of the unknown ones."""
    line = encode_record(SessionMessage("user", "x", WHEN, "m1"), TABLES[1])
    data = json.loads(line)
    message = message_from_dict(data)
    assert message.extra == {"crc": data["crc"]}
    again = json.dumps(message_dicts.message_to_dict(message), separators=(",", ":")).encode()
    assert again + b"\n" == line
    assert line_checksum.is_sound(again)


def test_reseal_updates_checksum_of_changed_line(line: bytes) -> None:
    changed = line.replace(b"Let's go", b"[masked]")
    assert line_checksum.is_sound(line_checksum.reseal(changed))
    assert line_checksum.reseal(b'{"a":1}') == b'{"a":1}'


def test_nested_crc_key_is_not_read_as_checksum() -> None:
    message = SessionMessage("user", "x", WHEN, "m1", structured_data={"a": 1, "crc": "0123abcd"})
    line = encode_record(message, FOLDER.records)
    assert not line_checksum.is_sealed(line[:-1])
    assert decode_record(line[:-1], FOLDER.records, []).message == message
