"""Words that few texts have: what is looked through first has one, or none."""

from itertools import islice
from pathlib import Path

import pytest

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, TextEntry


@pytest.mark.parametrize("block", [7, 64])
@pytest.mark.parametrize("having", [[1990], [1990, 3], [1000, 3], [*range(1, 2001, 90)], []])
def test_rare_word_finds_every_text_once_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, having: list[int]
) -> None:
    """Every text that has a rare word is found once, the newest first, however few are wanted."""
    for module in ("fulltext_rows", "newest_matches"):
        monkeypatch.setattr(f"cortext.catalog.fulltext.{module}.BLOCK", block)
    with FulltextIndex(str(tmp_path / "words.sqlite3")) as words:
        new = [TextEntry(n, "user", n, "odd" if n in having else "same") for n in range(1, 2001)]
        words.put(("/w", "a"), "1", new, keep=False)
        for most in (1, 20):
            found = [spot.number for spot in words.find('"odd"', most=most)]
            assert found == sorted(having, reverse=True)
            few = [spot.number for spot in islice(words.find('"odd"', most=most), most)]
            assert few == found[:most]
