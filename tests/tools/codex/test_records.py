"""Shortcuts of decoding: each gives what the long way would have given."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from cortext.model.message import Role
from cortext.tools import jsonl_transcripts
from cortext.tools.codex.records import INJECTED, ThreadIndexEntry, is_said

_TAG = re.compile(r"\s*</?image\b[^>]*>\s*")
_PIECES = ("", " ", "\n", "\u3000", "\u2028", "<", "<image>", "</image >", "# ", "x", "7", "é", ">")
_LINES = (
    b'{"id":"a","thread_name":"b"}', b'{"id":"a"}', b"", b" ", b"{", b'{"id":1}', b"[]", b"\0\0",
    b'{"id":"a"}\r', b'{"id":"\xff"}', b'{"id":', b'"a"}',
)  # fmt: skip
_TWO = b'{"id":"a"}{"id":"b"}'


def _is_said(text: str, role: Role) -> bool:
    if not text or text.isspace():
        return False
    if role == "user" and text[:100].lstrip().startswith(INJECTED):
        return False
    return not _TAG.fullmatch(text)


_texts = st.lists(st.sampled_from((*_PIECES, *INJECTED)) | st.text(max_size=3)).map("".join)


@given(_texts, st.sampled_from(("user", "assistant", "tool")))
@example(" " * 120 + INJECTED[0], "user")
@example("<image name=[x]>\n", "tool")
def test_is_said_shortcut_agrees_with_all_rules(text: str, role: Role) -> None:
    """The quick look at how a text begins leaves out no other texts than all rules together."""
    assert is_said(text, role) == _is_said(text, role)


def _read(blocks: list[bytes]) -> tuple[list[tuple[int, ThreadIndexEntry]], list[object]]:
    lines = jsonl_transcripts.JsonLines(ThreadIndexEntry, "a file")
    return list(lines.read(blocks)), list(lines.damages)


@given(st.lists(st.sampled_from(_LINES)), st.booleans(), st.lists(st.integers(0, 200)))
@example([_TWO], True, [3, 12])
@example([_LINES[1], _TWO, _LINES[1]], True, [20])
def test_json_lines_decode_same_wherever_blocks_end(
    lines: list[bytes], ended: bool, places: list[int]
) -> None:
    """Values, their numbers and the damages do not tell where one read ended. Only where there are
    two values on a line, and as many less on others, they are read if they come together."""
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    cuts = [0, *sorted(place for place in places if place <= len(data)), len(data)]
    blocks = [data[start:end] for start, end in pairwise(cuts)]
    one_by_one = [data[at : at + 1] for at in range(len(data))]
    assert _read(blocks) == _read([data]) == _read(one_by_one)
