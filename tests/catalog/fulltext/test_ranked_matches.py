"""The ranking of conversations by the words of their texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity, TextEntry
from cortext.catalog.fulltext.ranked_matches import RankingScope

EVERYWHERE = RankingScope(lambda _: True)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[FulltextIndex]:
    with FulltextIndex(str(tmp_path / "words.db")) as opened:
        yield opened


def put(index: FulltextIndex, name: str, *texts: tuple[str, str]) -> Identity:
    entries = [TextEntry(n, role, n, text) for n, (role, text) in enumerate(texts, 1)]
    index.put(("", name), "", entries, keep=False)
    return "", name


def test_message_outranks_tool_output_that_has_the_words_many_times(index: FulltextIndex) -> None:
    output = ("tool", "retry uploads in src/uploads/retry.py")
    reader = put(index, "reader", ("user", "Explain the parser."), *[output] * 30)
    author = put(index, "author", ("user", "Retry uploads after an error."), ("assistant", "Done."))
    found = index.rank(["retry", "uploads"], EVERYWHERE)
    assert [each.identity for each in found] == [author, reader]


def test_word_that_is_only_in_tool_output_is_found(index: FulltextIndex) -> None:
    reader = put(index, "reader", ("user", "Run it."), ("tool", "Segfault in libfoo"))
    put(index, "other", ("user", "Run the parser."))
    assert [each.identity for each in index.rank(["segfault"], EVERYWHERE)] == [reader]


def test_tool_output_does_not_make_a_word_common(index: FulltextIndex) -> None:
    for number in range(20):
        put(index, f"log {number}", ("user", "Run the tests."), ("tool", "telemetry: off"))
    put(index, "tests", ("user", "Run the tests again, and the tests of the tests."))
    decision = put(index, "decision", ("user", "Switch telemetry off for tests."))
    assert index.rank(["telemetry", "tests"], EVERYWHERE)[0].identity == decision


def test_much_later_tool_output_does_not_hide_the_best_message(index: FulltextIndex) -> None:
    output = ("tool", "retry in src/retry.py")
    put(index, "long", ("user", "Retry after an error."), *[output] * 200)
    (found,) = index.rank(["retry"], EVERYWHERE)
    assert found.texts[0].role == "user"


@pytest.mark.parametrize("words", [("general", "generated"), ("generated", "general")])
def test_exact_word_comes_before_other_word_of_same_stem(
    index: FulltextIndex, words: tuple[str, str]
) -> None:
    for word in words:
        put(index, word, ("user", f"the {word} rules".ljust(30, "x")))
    found = index.rank(["general"], EVERYWHERE)
    assert [each.identity[1] for each in found] == ["general", "generated"]
    assert all(each.words == {0} for each in found)


def test_text_with_exact_word_is_first_text_of_its_conversation(index: FulltextIndex) -> None:
    texts = ("generated rules", "general rules xx", "generates rules")
    put(index, "one", *(("user", text) for text in texts))
    [found] = index.rank(["general"], EVERYWHERE)
    assert [match.number for match in found.texts] == [2, 3, 1]
