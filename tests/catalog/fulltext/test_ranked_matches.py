"""The ranking of conversations by the words of their texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.catalog.fulltext import ranked_matches
from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Identity, TextEntry
from cortext.catalog.fulltext.ranked_matches import RankingScope

EVERYWHERE = RankingScope(lambda _: True)


@pytest.fixture
def ranked_index(tmp_path: Path) -> Iterator[FulltextIndex]:
    with FulltextIndex(str(tmp_path / "words.db")) as opened:
        yield opened


def put(ranked_index: FulltextIndex, name: str, *texts: tuple[str, str]) -> Identity:
    entries = [TextEntry(n, role, n, text) for n, (role, text) in enumerate(texts, 1)]
    ranked_index.put(("", name), "", entries, keep=False)
    return "", name


def test_message_outranks_tool_output_that_has_the_words_many_times(
    ranked_index: FulltextIndex,
) -> None:
    output = ("tool", "retry uploads in src/uploads/retry.py")
    reader = put(ranked_index, "reader", ("user", "Explain the parser."), *[output] * 30)
    author = put(
        ranked_index, "author", ("user", "Retry uploads after an error."), ("assistant", "Done.")
    )
    found = ranked_index.rank(["retry", "uploads"], EVERYWHERE)
    assert [each.identity for each in found] == [author, reader]


def test_word_that_is_only_in_tool_output_is_found(ranked_index: FulltextIndex) -> None:
    reader = put(ranked_index, "reader", ("user", "Run it."), ("tool", "Segfault in libfoo"))
    put(ranked_index, "other", ("user", "Run the parser."))
    assert [each.identity for each in ranked_index.rank(["segfault"], EVERYWHERE)] == [reader]


def test_tool_output_does_not_make_a_word_common(ranked_index: FulltextIndex) -> None:
    for number in range(20):
        put(ranked_index, f"log {number}", ("user", "Run the tests."), ("tool", "telemetry: off"))
    put(ranked_index, "tests", ("user", "Run the tests again, and the tests of the tests."))
    decision = put(ranked_index, "decision", ("user", "Switch telemetry off for tests."))
    assert ranked_index.rank(["telemetry", "tests"], EVERYWHERE)[0].identity == decision


def test_much_later_tool_output_does_not_hide_the_best_message(ranked_index: FulltextIndex) -> None:
    output = ("tool", "retry in src/retry.py")
    put(ranked_index, "long", ("user", "Retry after an error."), *[output] * 200)
    (found,) = ranked_index.rank(["retry"], EVERYWHERE)
    assert found.texts[0].role == "user"


@pytest.mark.parametrize("words", [("general", "generated"), ("generated", "general")])
def test_exact_word_comes_before_other_word_of_same_stem(
    ranked_index: FulltextIndex, words: tuple[str, str]
) -> None:
    for word in words:
        put(ranked_index, word, ("user", f"the {word} rules".ljust(30, "x")))
    found = ranked_index.rank(["general"], EVERYWHERE)
    assert [each.identity[1] for each in found] == ["general", "generated"]
    assert all(each.words == {0} for each in found)


def test_text_with_exact_word_is_first_text_of_its_conversation(
    ranked_index: FulltextIndex,
) -> None:
    texts = ("generated rules", "general rules xx", "generates rules")
    put(ranked_index, "one", *(("user", text) for text in texts))
    [found] = ranked_index.rank(["general"], EVERYWHERE)
    assert [match.number for match in found.texts] == [2, 3, 1]


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_matches, "MOST_TEXTS", 5)


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("common", ["cache", "cac*"])
def test_old_conversation_with_rare_word_has_the_common_word_next_to_it(
    common: str, ranked_index: FulltextIndex
) -> None:
    old = put(ranked_index, "old", ("user", "The cache of the wombat."), ("user", "Clear it."))
    for number in range(20):
        put(ranked_index, f"new {number}", ("user", "A cache is full."))
    found = ranked_index.rank([common, "wombat"], EVERYWHERE)
    assert (found[0].identity, found[0].words) == (old, frozenset([0, 1]))
    assert found[0].texts[0].number == 1


@pytest.mark.usefixtures("few_texts")
def test_common_word_weighs_little_although_few_of_its_texts_are_considered(
    ranked_index: FulltextIndex,
) -> None:
    rare = put(ranked_index, "rare", ("user", "A wombat sleeps."))
    for number in range(30):
        put(ranked_index, f"new {number}", ("user", "A cache is full of caches."))
    assert ranked_index.rank(["cache", "wombat"], EVERYWHERE)[0].identity == rare


@pytest.mark.usefixtures("few_texts")
def test_all_texts_are_considered_if_few_conversations_are_searched(
    ranked_index: FulltextIndex,
) -> None:
    for number in range(20):
        put(ranked_index, f"{number}", ("user", "A cache is full."))
    narrow = RankingScope(lambda _: True, is_narrow=True)
    assert len(ranked_index.rank(["cache"], narrow)) == 20
    assert len(ranked_index.rank(["cache"], EVERYWHERE)) == 5


def test_phrase_is_ranked_as_one_word(ranked_index: FulltextIndex) -> None:
    phrase = put(ranked_index, "phrase", ("user", "The full cache was cleared."))
    put(ranked_index, "words", ("user", "The cache is full."), ("user", "Full of caches."))
    found = ranked_index.rank(["full cache"], EVERYWHERE)
    assert [each.identity for each in found] == [phrase]
