"""What comes near a question that nothing answers."""

from pathlib import Path

import pytest

from cortext.features.search.partial_matches import (
    APART,
    LOOSE,
    SOME,
    WITHOUT,
    PartialMatch,
    find_partial_matches,
)
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchRequest
from tests.catalog.spaces import Space


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")


def near(text: str, **more: object) -> PartialMatch | None:
    finder = Finder()
    assert finder.refresh().left == 0
    question = SearchRequest(text, **more)  # type: ignore[arg-type]
    assert not finder.answer(question).groups
    return find_partial_matches(finder, question)


def shown(found: PartialMatch) -> list[tuple[str, list[str]]]:
    return [(g.row.id, [hit.snippet.text for hit in g.hits]) for g in found.answer.groups]


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("what did we decide about redis?", ["what", "did", "we", "about"]),
        ("where did we decide on redis", ["where", "did", "we", "on"]),
        ("deciding redis", []),
        ("We what we Redis redis decide", ["we", "what"]),
        ("decide redis kubernetes", ["kubernetes"]),
    ],
)
def test_a_sentence_finds_what_it_is_about(
    current_space: Space, question: str, without: list[str]
) -> None:
    """Without the words that only make a sentence and those that nobody said, in any ending."""
    current_space.add(
        "001-a", "We talk of caches.", "Decided: redis, for the sessions", "About redis"
    )
    found = near(question)
    assert found
    assert (found.how, list(found.without)) == (WITHOUT, without)
    assert shown(found) == [("001-a", ["Decided: redis, for the sessions"])]
    marked = found.answer.groups[0].hits[0].snippet
    assert [marked.text[a:b] for a, b in marked.spans] == ["Decided", "redis"]


def test_words_in_different_messages(current_space: Space) -> None:
    """The conversations that have all of them are shown, with a message for each word."""
    current_space.add("001-a", "redis is fast", "and the uploads are slow", "nothing")
    current_space.add("002-b", "redis again")
    current_space.add("003-c", "uploads again")
    found = near("redis uploads")
    assert found
    assert found.how == APART
    assert shown(found) == [("001-a", ["redis is fast", "and the uploads are slow"])]


def test_words_that_nothing_has_together(current_space: Space) -> None:
    """What has most of them comes first."""
    current_space.add("001-a", "redis and the cache")
    current_space.add("002-b", "a zebra")
    current_space.add("003-c", "redis alone")
    found = near("redis cache zebra")
    assert found
    assert (found.how, shown(found)) == (SOME, [("001-a", ["redis and the cache"])])
    found = near("alone zebra")
    assert found
    assert {id for id, _ in shown(found)} == {"002-b", "003-c"}


def test_a_phrase_that_nobody_said(current_space: Space) -> None:
    """What has its words, not side by side."""
    current_space.add("001-a", "redis or memcached?")
    found = near('"redis memcached"')
    assert found
    assert (found.how, shown(found)) == (LOOSE, [("001-a", ["redis or memcached?"])])


def test_what_is_left_of_the_question_holds(current_space: Space) -> None:
    """Neither what was excluded nor what was narrowed away comes near."""
    current_space.add("001-a", "redis and memcached", "uploads")
    current_space.add("002-b", "redis alone")
    found = near("redis zebra -memcached")
    assert found
    assert [id for id, _ in shown(found)] == ["002-b"]
    assert near("redis zebra", narrow=TextFilter(role="assistant")) is None


@pytest.mark.parametrize("question", ["zebra", "zebra OR lion", "zebra lion", "日本", "", "NOT a"])
def test_what_cannot_come_near(current_space: Space, question: str) -> None:
    """One word, alternatives, and words of which none was said."""
    current_space.add("001-a", "redis")
    assert near(question) is None


@pytest.mark.parametrize(
    "question",
    ["when will we use kubernetes helm charts", '{"x":1}', "what did we get", "let us make charts"],
)
def test_what_is_everywhere_says_nothing(current_space: Space, question: str) -> None:
    """Where all that a question is about is unknown, words that any sentence has are no answer; nor
    is a digit of some code."""
    current_space.add("001-a", "we use it", "and what will we make of 1 thing", "did you get that?")
    assert near(question) is None


def test_what_was_typed_is_named_as_it_was(current_space: Space) -> None:
    """Also in a script without spaces."""
    current_space.add("001-a", "redis is fast")
    found = near("redis 量子コンピュータ zebra")
    assert found
    assert found.without == ["量子コンピュータ", "zebra"]
