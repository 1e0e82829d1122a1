"""Whatever happened to a file: when it is mended, what could be read is there."""

import contextlib
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortext.errors import CortextError
from tests.features.doctor.damage import DAMAGES, Damage, Kept

pytestmark = pytest.mark.long

WORDS = (
    b"\0", b"\n", b"\\ud83d", b"\xf0\x9f", b"{", b"}", b'"', b"]}\n", b',"crc":"00000000"}', b"m3",
    b'{"role":"user"}\n', b"\xff" * 9, b"\0" * 40, b"null\n", b"[]\n", b'{"created_at":1}',
    b"\n<<<<<<< HEAD\n", b"\n=======\n", b"\n>>>>>>> other\n", b"\xff\xfe", b"\xe9", b"}{", b"},",
    b'{"title":"x","status":"paused"}\n', b"[\n",
)  # fmt: skip
HALF = re.compile("[\ud800-\udfff]")
"""A half of a character is replaced, also in an id."""
KINDS = ("workspace", "log", "document")
cuts = st.tuples(st.integers(0, 1 << 14), st.integers(0, 200), st.sampled_from((b"", *WORDS)))


def struck(data: bytes, wounds: list[tuple[int, int, bytes]]) -> bytes:
    """Some bytes, each time, with others in their place."""
    for place, length, word in wounds:
        at = place % (len(data) + 1)
        data = data[:at] + word + data[at + length :]
    return data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of", ["head", "lines"])
@given(wounds=st.lists(cuts, min_size=1, max_size=4), sealed=st.booleans())
@settings(max_examples=40)
def test_repair_keeps_readable_messages_after_random_damage(
    kind: str, of: str, wounds: list[tuple[int, int, bytes]], sealed: bool
) -> None:
    """The original is kept, and a second look finds nothing to mend."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Kept(kind, Path(folder)).make(checksums=sealed and kind != "document")
        path: Path = getattr(kept, of)
        path.write_bytes(struck(path.read_bytes(), wounds))
        damaged = path.read_bytes()
        try:
            before = set(kept.ids())
        except CortextError:
            before = set[str]()  # of a later version, by what was put in
        found = kept.check()
        if found.mend is None:
            assert path.read_bytes() == damaged
            return
        found.mend.do()
        after = kept.check()
        assert [one.text for one in after.problems if one.mend] == []
        assert {HALF.sub("\ufffd", id) for id in before} <= set(kept.ids())
        now = path.read_bytes()
        only_ended = damaged.startswith(now) or now.startswith(damaged)
        assert only_ended or damaged in kept.kept()


def marked(kept: Kept) -> None:
    kept.lines.write_bytes(b"\xef\xbb\xbf" + kept.lines.read_bytes())


def crlf(kept: Kept) -> None:
    kept.lines.write_bytes(kept.lines.read_bytes().replace(b"\n", b"\r\n"))


def doubled(kept: Kept) -> None:
    data = kept.lines.read_bytes()
    kept.lines.write_bytes(data.rstrip(b"\n") + data)


def no_newlines(kept: Kept) -> None:
    kept.lines.write_bytes(kept.lines.read_bytes().replace(b"\n", b""))


def nul_head(kept: Kept) -> None:
    kept.head.write_bytes(b"\0" * len(kept.head.read_bytes()))


def half_a_head(kept: Kept) -> None:
    data = kept.head.read_bytes()
    kept.head.write_bytes(data[: len(data) // 2])


MORE = (marked, crlf, doubled, no_newlines, nul_head, half_a_head)
NOT_THERE = (
    AssertionError, AttributeError, CortextError, LookupError, OSError, StopIteration, TypeError,
    ValueError,
)  # fmt: skip
"""What a damage raises that finds nothing to damage."""
chains = st.lists(st.sampled_from((*DAMAGES, *MORE)), min_size=2, max_size=4)


@pytest.mark.parametrize("kind", KINDS)
@given(chain=chains, sealed=st.booleans())
@settings(max_examples=40)
def test_repair_keeps_readable_messages_after_combined_damages(
    kind: str, chain: list[Damage], sealed: bool
) -> None:
    """What could be read before is there, and a second look finds nothing to mend."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Kept(kind, Path(folder)).make(checksums=sealed and kind != "document")
        for how in chain:
            # One damage may leave nothing for the next to damage.
            with contextlib.suppress(*NOT_THERE):
                how(kept)
        try:
            before = set(kept.ids())
        except CortextError:
            before = set[str]()
        found = kept.check()
        if found.mend is None:
            return
        found.mend.do()
        assert {HALF.sub("\ufffd", id) for id in before} <= set(kept.ids())
        assert [one.text for one in kept.check().problems if one.mend] == []
