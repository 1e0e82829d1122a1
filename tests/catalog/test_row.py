import pytest

from cortext.catalog.row import (
    BoundSession,
    ConversationRow,
    NotInWorkspaceError,
    decode_rows,
    encode_row,
)


def conversation(**facts: object) -> ConversationRow:
    known = {
        "workspace": "/home/me/blog",
        "path": "conversations/2026-11-16/001-chat-x",
        "key": "001-chat-x",
        "status": "active",
        "last_active": 1,
    }
    return ConversationRow(**(known | facts))  # pyright: ignore[reportArgumentType]


def test_encoded_row_keeps_every_field() -> None:
    row = conversation(
        tags=("a", "b\nc"),
        bindings=(BoundSession("claude", "1:2"),),
    )
    assert decode_rows([encode_row(row)]) == [row]


def test_encoded_row_keeps_names_that_are_not_utf8() -> None:
    row = conversation(workspace="/home/me/\udcff", path="\ud800")
    assert decode_rows([encode_row(row)]) == [row]


@pytest.mark.parametrize("data", [b"", b"garbage", b"[]", b"{},{}", b'{"path":1}', b"\xff"])
def test_foreign_data_is_not_decoded_as_row(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_rows([data])


def test_tool_session_row_has_no_workspace_place() -> None:
    row = conversation(workspace="", tool="claude", working_dir="/x")
    assert row.folder == "/x"
    with pytest.raises(NotInWorkspaceError):
        _ = row.place
