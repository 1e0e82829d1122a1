"""The ranking of conversations for a query."""

import shutil
from pathlib import Path

import pytest

from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from tests.catalog.spaces import Space


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")


def answer(text: str, **more: object) -> SearchPage:
    finder = Finder()
    assert finder.refresh().left == 0
    return finder.answer(SearchRequest(text, **more))  # type: ignore[arg-type]


def ids(page: SearchPage) -> list[str]:
    return [group.row.id for group in page.groups]


def test_question_finds_conversation_by_its_telling_words(current_space: Space) -> None:
    current_space.add("001-a", "We disabled telemetry by default.", "Nobody asked for it.")
    current_space.add("002-b", "What did we do about the default branch?")
    page = answer("why did we decide to disable telemetry by default?")
    assert ids(page)[0] == "001-a"
    assert list(page.missing) == ["decide"]


def test_words_in_different_messages_find_their_conversation(current_space: Space) -> None:
    current_space.add("001-a", "The otter swims.", "The badger digs.")
    current_space.add("002-b", "An otter again.")
    page = answer("badger otter")
    assert ids(page)[0] == "001-a"
    assert list(page.missing) == []


@pytest.mark.parametrize("query", ["caching", "cache", "caches", "cached"])
def test_word_finds_its_other_forms(current_space: Space, query: str) -> None:
    current_space.add("001-a", "We cached the answers.")
    page = answer(query)
    assert ids(page) == ["001-a"]
    snippet = page.groups[0].hits[0].snippet
    assert [snippet.text[start:end] for start, end in snippet.spans] == ["cached"]


@pytest.mark.parametrize("query", ["shadowBranch", "shadow_branch", "shadow branch"])
@pytest.mark.parametrize("written", ["shadowBranch", "shadow_branch", "shadow branch"])
def test_parts_of_identifiers_are_words(current_space: Space, query: str, written: str) -> None:
    current_space.add("001-a", f"Look at {written} first.")
    assert ids(answer(query)) == ["001-a"]


def test_snippet_marks_identifier_that_contains_the_word(current_space: Space) -> None:
    current_space.add("001-a", "Look at shadowBranch first.")
    snippet = answer("branch").groups[0].hits[0].snippet
    assert [snippet.text[start:end] for start, end in snippet.spans] == ["shadowBranch"]


def test_word_finds_longer_words_but_never_their_middle(current_space: Space) -> None:
    current_space.add("001-a", "The authentication fails.")
    current_space.add("002-b", "They respond late.")
    assert ids(answer("auth")) == ["001-a"]
    assert ids(answer("pond")) == []


def test_misspelled_word_is_corrected_and_named(current_space: Space) -> None:
    current_space.add("001-a", "The hippopotamus swims.")
    page = answer("hipopotamus")
    assert ids(page) == ["001-a"]
    assert page.corrections == {"hipopotamus": "hippopotamus"}


def test_quoted_text_matches_exactly(current_space: Space) -> None:
    current_space.add("001-a", "The cache is emptied.")
    current_space.add("002-b", "We emptied the caches.")
    assert ids(answer('"cache is emptied"')) == ["001-a"]


def test_words_beside_quoted_text_may_be_in_other_messages(current_space: Space) -> None:
    current_space.add("001-a", "The cache is never emptied.", "Empty it every hour.")
    current_space.add("002-b", "It is never emptied.")
    page = answer('"never emptied" hour')
    assert ids(page)[0] == "001-a"
    assert list(page.missing) == []
    assert page.groups[0].hits[0].number == 1


def test_phrase_without_match_shows_conversations_with_its_words(current_space: Space) -> None:
    current_space.add("001-a", "The cache was not emptied.")
    page = answer('"cache emptied"')
    assert ids(page) == ["001-a"]
    assert list(page.missing) == ['"cache emptied"']


def test_operators_join_words_of_different_messages(current_space: Space) -> None:
    current_space.add("001-a", "We chose redis.", "It expires after an hour.")
    current_space.add("002-b", "We chose memcached.", "The hours are long.")
    current_space.add("003-c", "We chose redis.", "It never expires.")
    page = answer("(redis OR memcached) hour")
    assert sorted(ids(page)) == ["001-a", "002-b"]
    assert list(page.missing) == []
    assert {hit.number for hit in page.groups[0].hits} == {1, 2}
    assert ids(answer("redis AND never")) == ["003-c"]


def test_alternative_that_nobody_used_is_not_missing(current_space: Space) -> None:
    current_space.add("001-a", "The otter swims.", "It is wet.")
    for query in ("(otter OR zyzzyva) wet", "otter|zyzzyva wet"):
        page = answer(query)
        assert ids(page) == ["001-a"]
        assert (list(page.missing), dict(page.corrections)) == ([], {})


def test_excluded_word_hides_only_its_own_messages(current_space: Space) -> None:
    current_space.add("001-a", "The otter and the badger.", "The otter swims.", "It is wet.")
    current_space.add("002-b", "The otter and the badger.", "It is wet.")
    page = answer("otter wet -badger")
    assert ids(page) == ["001-a"]
    assert 1 not in {hit.number for hit in page.groups[0].hits}
    assert ids(answer("otter NOT (badger OR swims)")) == []


def test_role_filter_applies_to_every_part_of_a_condition(current_space: Space) -> None:
    current_space.add("001-a", "The otter swims.", title="Weasel")
    assert ids(answer("(otter OR badger) weasel")) == ["001-a"]
    assert ids(answer("(otter OR badger) weasel", narrow=TextFilter(role="user"))) == []
    assert ids(answer("(otter OR badger) swims", narrow=TextFilter(role="user"))) == ["001-a"]


def test_two_phrases_may_be_in_different_messages(current_space: Space) -> None:
    current_space.add("001-a", "The cache is never emptied.", "Empty it every hour.")
    page = answer('"never emptied" "every hour"')
    assert ids(page) == ["001-a"]
    assert list(page.missing) == []


def test_text_with_signs_of_query_comes_first(current_space: Space) -> None:
    current_space.add("001-a", "See 255 in the list, and 255 again.")
    current_space.add("002-b", "See #255.")
    page = answer("#255")
    assert ids(page) == ["002-b", "001-a"]
    assert page.exact == [True, False]


def test_conversation_with_few_of_the_words_is_left_out(current_space: Space) -> None:
    current_space.add("001-a", "otter badger weasel stoat")
    current_space.add("002-b", "otter alone")
    assert ids(answer("otter badger weasel stoat")) == ["001-a"]


def test_deleted_text_is_never_found(current_space: Space) -> None:
    folder = current_space.add("001-a", "The otter swims.")
    assert ids(answer("otter")) == ["001-a"]
    shutil.rmtree(folder)
    assert ids(answer("otter")) == []


def test_recent_conversation_wins_among_equal_ones(current_space: Space) -> None:
    for number in range(3):
        current_space.add(f"00{number}-a", "The otter swims.")
    page = answer("otter")
    times = [group.row.last_active for group in page.groups]
    assert times == sorted(times, reverse=True)


def test_longer_words_do_not_hide_the_word_itself(current_space: Space) -> None:
    for number in range(30):
        current_space.add(f"{number:03}-a", "await the answer, then deploy")
    current_space.add("099-a", "The aws account.")
    page = answer("aws deploy")
    assert ids(page)[0] == "099-a"
    assert ids(answer("redis")) == []


def test_star_finds_words_that_begin_so(current_space: Space) -> None:
    current_space.add("001-a", "Release v12alpha today.")
    assert ids(answer("v12*")) == ["001-a"]
    assert ids(answer("authenti*")) == []


def test_all_matching_conversations_are_returned(current_space: Space) -> None:
    for number in range(70):
        current_space.add(f"{number:03}-a", "The otter swims.")
    page = answer("otter", most=200)
    assert (len(page.groups), page.more) == (70, False)
    assert answer("otter", most=65).more


def test_word_of_deleted_conversation_is_never_suggested(current_space: Space) -> None:
    folder = current_space.add("001-a", "The hippopotamus swims.")
    current_space.add("002-b", "Another text.")
    assert ids(answer("hippopotamus")) == ["001-a"]
    shutil.rmtree(folder)
    assert answer("hipopotamus").corrections == {}
