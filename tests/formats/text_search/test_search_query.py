"""What a person types, as a question; and the piece of a text that answers it."""

import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.text_search.query_words import split_phrase
from cortext.formats.text_search.search_query import Term, find, folded, parse, snippet, spaced
from cortext.formats.text_search.text_folding import bare


def matches(question: str, text: str) -> bool:
    """Whether SQLite finds a text, as the index has it."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute(
            "CREATE VIRTUAL TABLE words USING fts5(text, content='', "
            "tokenize=\"unicode61 remove_diacritics 2 categories 'L* M* N* Co'\")"
        )
        db.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (spaced(text),))
        query = parse(question)
        if not query:
            return False
        select = "SELECT 1 FROM words WHERE words MATCH ?"
        return db.execute(select, (query.expression,)).fetchone() is not None
    finally:
        db.close()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("cache plan", "the plan for our cache"),
        ('"our cache"', "the plan for our cache"),
        ('"our cac', "the plan for our cache"),
        ("redis OR cache", "the plan for our cache"),
        ("plan NOT redis", "the plan for our cache"),
        ("(redis OR cache) AND plan", "the plan for our cache"),
        ("plan NOT (redis OR memcached)", "the plan for our cache"),
        ("((plan))", "the plan for our cache"),
        ("redis|cache plan", "the plan for our cache"),
        ("redis | cache", "the plan for our cache"),
        ("plan -redis", "the plan for our cache"),
        ("plan -", "the plan for our cache"),
        ("redis OR -redis OR plan", "the plan for our cache"),
        ("plan NOT NOT cache", "the plan for our cache"),
        ('"-name"', "find . -name"),
        ("--no-verify", "git commit --no-verify"),
        ("(f(x) OR y)", "then f(x)"),
        ("pl*", "the plan for our cache"),
        ("CAFÉ", "a cafe"),
        ("cafe", "un cafe\u0301 noir"),
        ("resume", "my re\u0301sume\u0301"),
        ("日本", "日本語の設計"),
        ("語の設", "日本語の設計"),
        ("한국", "한국어 설계"),
        ("がく", "か\u3099く"),
        ("ภาษา", "ภาษาไทย"),
        ("c++", "we write c++ here"),
        ("foo-bar", "the foo-bar is set"),
        ("it's", "it's done"),
        ("src/a/b.py", "see src/a/b.py:12"),
        ("snake_case", "a snake_case name"),
        ('say "hello', "say hello"),
        ('foo"bar', 'foo"bar'),
        ("x = f(y)[0];", "then x = f(y)[0];"),
        ("AND plan OR", "a plan"),
        ("İstanbul", "in İstanbul"),
        ("efficient", "an e\ufb03cient way"),
        ("e\ufb03cient", "an efficient way"),
        ("api v2", "\uff21\uff30\uff29 \uff36\uff12"),
        ("محمد", "مُحَمَّد كتب"),
        ("مُحَمَّد", "محمد كتب"),
        ("كتاب", "كتـــاب"),
        ("שלום", "שָׁלוֹם"),
        ("\u201cour cache\u201d", "the plan for our cache"),
        ("a\0b", "a b"),
    ],
)
def test_query_matches_text_that_contains_its_words(question: str, text: str) -> None:
    """What a person types finds the text that has it."""
    assert matches(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ('"cache our"', "the plan for our cache"),
        ('"our cac"', "the plan for our cache"),
        ("\u201ccache our\u201d", "the plan for our cache"),
        ("\u00abcache our\u00bb", "the plan for our cache"),
        ("foo-bar", "bar and foo"),
        ("plan NOT cache", "the plan for our cache"),
        ("NOT plan", "the plan for our cache"),
        ("redis OR NOT plan", "the plan for our cache"),
        ("(cache OR plan) AND redis", "the plan for our cache"),
        ("plan NOT (redis OR cache)", "the plan for our cache"),
        ("plan -cache", "the plan for our cache"),
        ('plan -"our cache"', "the plan for our cache"),
        ("plan -(redis OR cache)", "the plan for our cache"),
        ("redis|memcached plan", "the plan for our cache"),
        ("한", "하"),
        ("plan", "planned"),
        ("++", "we write c++ here"),
        ("", "anything"),
    ],
)
def test_query_does_not_match_text_without_its_words(question: str, text: str) -> None:
    """What is not there, or not so, is not found."""
    assert not matches(question, text)


def test_parse_drops_terms_that_only_exclude() -> None:
    """There is nothing to take it from; the rest is looked for, and it can be said."""
    assert [term.raw for term in parse("cache OR NOT (redis plan)").dropped] == ["redis", "plan"]
    assert [term.raw for term in parse("cache OR NOT redis").terms] == ["cache"]
    assert (bool(parse("-redis")), len(parse("-redis").dropped)) == (False, 1)
    assert not parse("cache NOT redis").dropped


def test_words_beside_other_scripts_are_found_and_marked() -> None:
    """A Latin word between characters that are words by themselves, as the index has it."""
    text = "日本語の設計とAPIの設計を決めた"
    for typed in ("設計とAPI", "APIの設計", "api"):
        assert matches(typed, text)
        assert [text[a:b].lower() for a, b in find(text, parse(typed).terms)] == [typed.lower()]
    assert not find("APIs", parse("API").terms)
    long = "前置き。" * 200 + "Redisを採用した" + "後。" * 200
    piece = snippet(long, parse("redis").terms)
    assert [piece.text[a:b] for a, b in piece.spans] == ["Redis"]


@given(st.text(max_size=200) | st.text(alphabet="\"*^(){}:-+ANDORT .'\0", max_size=60))
def test_any_typed_text_parses_without_error(text: str) -> None:
    """Nothing that is typed is an error, for the parser, for SQLite and for the piece shown."""
    matches(text, "a text")
    piece = snippet(text, parse(text).terms)
    assert all(0 <= start < end <= len(piece.text) for start, end in piece.spans)


def test_query_of_one_megabyte_is_cut_without_error() -> None:
    """A megabyte of anything is cut, not refused."""
    for text in ("a-" * 500_000, "日" * 1_000_000, '"' * 1_000_000, "OR " * 300_000):
        assert not matches(text, "a text")


def test_signs_inside_words_must_match_and_sentence_signs_are_ignored() -> None:
    """Signs inside a word are part of what is meant; those that end a sentence are not."""
    assert parse("c++").is_in("We write C++ here")
    assert not parse("c++").is_in("we write c here")
    assert not parse(".env file").is_in("the env file")
    assert parse("what is this?").signs == ()
    for typed in ("don't", "don\u2019t"):
        assert all(parse(typed).is_in(text) for text in ("I don't", "I don\u2019t"))
    assert parse("foo-bar").is_in("a foo\u2011bar")
    assert parse("مُحَمَّد").is_in("محمد")
    assert parse("plain words").signs == ()


@given(st.text(max_size=80))
def test_folded_text_keeps_character_positions(text: str) -> None:
    """A folded text has each character where it was."""
    assert len(folded(text)) == len(text)


def test_find_marks_words_whatever_their_accents() -> None:
    """The words are marked where they stand, whatever their accents are made of."""
    text = "My Re\u0301sume\u0301, and a resume"
    spans = find(text, parse("résumé").terms)
    assert [text[start:end] for start, end in spans] == ["Re\u0301sume\u0301", "resume"]
    for text, typed, marked in (
        ("the e\ufb03cient way", "efficient", ["e\ufb03cient"]),
        ("the e\ufb03cient way", "eff*", ["e\ufb03"]),
        ("\uff21\uff30\uff29の設計", "api", ["\uff21\uff30\uff29"]),
        ("قال مُحَمَّدٌ ذلك", "محمد", ["مُحَمَّدٌ"]),
        ("ο νόμος, ΝΌΜΟΣ", "Νόμος", ["νόμος", "ΝΌΜΟΣ"]),
    ):
        assert matches(typed, text)
        assert [text[start:end] for start, end in find(text, parse(typed).terms)] == marked


MIXED = st.text(alphabet="日本か。한 xé\u0301\ufb03\uff21مَّـ\u05b8-\n", max_size=40)


@given(MIXED, MIXED)
def test_find_marks_word_exactly_between_any_scripts(before: str, after: str) -> None:
    """A word is marked to the letter, whatever stands around it."""
    text = f"{before} api {after}"
    at = len(before) + 1
    assert (at, at + 3) in find(text, parse("api").terms)
    text = f"{before}設計{after}"
    assert [text[start:end] for start, end in find(text, parse("設計").terms)] == ["設計"]


def test_snippet_is_short_and_one_line() -> None:
    """Of a long text the piece around the word is shown, on one line."""
    text = "before\n" * 500 + "the needle\tis here\n" + "after\n" * 500
    piece = snippet(text, parse("needle").terms)
    (span,) = piece.spans
    assert piece.text[slice(*span)] == "needle"
    assert len(piece.text) < 300
    assert "\n" not in piece.text
    assert (piece.text[0], piece.text[-1]) == ("…", "…")


@pytest.mark.parametrize(
    ("typed", "shown"), [(".net", ".NET 8"), ("c++", "C++ now"), ("c", "a c ")]
)
def test_snippet_shows_match_with_typed_signs(typed: str, shown: str) -> None:
    """And not the first place that has only the word."""
    more = "and more " * 60
    text = f"a c compiler and a net, foo.network, abc++, {more}, then .NET 8, {more}, C++ now"
    found = snippet(text, parse(typed).terms)
    assert shown in found.text
    assert {found.text[start:end].lower() for start, end in found.spans} == {typed.strip(".+")}


def test_snippet_marks_start_of_phrase_longer_than_snippet() -> None:
    """What is longer than a piece is marked to the end of it."""
    phrase = " ".join(f"word{n}" for n in range(60))
    found = snippet(f"{'x ' * 400}{phrase} tail", parse(f'"{phrase}"').terms)
    ((start, end),) = found.spans
    assert phrase.startswith(found.text[start:end])
    assert end - start > 100
    assert not snippet(phrase, parse('"word1 word3"').terms).spans
    assert not snippet(phrase, []).spans


def test_snippet_shows_passage_with_most_and_rarest_words() -> None:
    """Of a long text the piece with the most different words, rather with those that are rare."""
    text = "We looked at it again. " * 40 + "Then kubernetes came, and we " + "went on. " * 50
    piece = snippet(text, parse("we kubernetes").terms)
    assert [piece.text[a:b] for a, b in piece.spans] == ["We", "We", "kubernetes", "we"]
    apart = "we meet. " * 40 + "x " * 400 + "kubernetes " + "x " * 400 + "we meet"
    assert "kubernetes" in snippet(apart, parse("we kubernetes").terms).text


def test_snippet_of_huge_text_shows_rare_word() -> None:
    """The rare word is shown however often the other one stands before it."""
    text = "we talk é " * 50_000 + "kubernetes"
    assert "kubernetes" in snippet(text, parse("we kubernetes").terms).text


@pytest.mark.parametrize("filler", ["some output ✓ ok\n", "日本語の設計。", "cafe\u0301 x "])
def test_find_marks_phrase_once_anywhere_in_long_text(filler: str) -> None:
    """In a text of many pieces a word is found wherever it stands, once, and a phrase across the
    end of a piece."""
    text = filler * (200_000 // len(filler))
    for at in (0, 32_760, 32_768, 65_533, 99_000, len(text)):
        at += -at % len(filler) if at else 0
        whole = f"{text[:at]} Red Pandas {text[at:]}"
        spans = find(whole, parse('"red pandas"').terms)
        assert [whole[start:end] for start, end in spans] == ["Red Pandas"]
        assert "Red Pandas" in snippet(whole, parse('"red pandas"').terms).text


def test_snippet_folds_only_start_of_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a piece at the beginning of a long text the rest of it is not looked at."""
    looked: list[int] = []

    def counted(text: str) -> str:
        looked.append(len(text))
        return folded(text)

    monkeypatch.setattr("cortext.formats.text_search.search_query.folded", counted)
    assert snippet("needle ✓ " + "日本語 output ✓ " * 150_000, parse("needle").terms).spans
    assert sum(looked) < 100_000


@pytest.mark.parametrize(
    ("text", "typed", "marked"),
    [
        ("का नियम, की योजना", "की", ["की"]),
        ("कीमत और की", "की", ["की"]),
        ("கு கி", "கி", ["கி"]),
        ("كَتَبَ الدرس", "كَتَبَ", ["كَتَبَ"]),
        ("ёлка и елка", "елка", ["ёлка", "елка"]),
    ],
)
def test_find_treats_vowel_sign_as_part_of_word(text: str, typed: str, marked: list[str]) -> None:
    """A vowel sign belongs to its word, in the question and where it is marked."""
    query = parse(typed)
    assert [term.tokens for term in query.terms] == [(bare(folded(typed)),)]
    assert [text[start:end] for start, end in find(text, query.terms)] == marked


def test_parse_reports_that_very_long_query_is_cut() -> None:
    """Only its first words count, and that is said."""
    assert parse(" ".join(f"w{n}" for n in range(40))).cut is False
    assert parse(" ".join(f"w{n}" for n in range(41))).cut is True
    assert parse("w" * 2001).cut is True


@given(
    st.text("aBc_ .é\n", max_size=40),
    st.text("ab", min_size=1, max_size=3),
    st.booleans(),
)
def test_find_of_plain_word_matches_its_pattern(text: str, word: str, is_prefix: bool) -> None:
    """It is looked for without one."""
    term = Term((word,), is_prefix)
    spans = [found.span() for found in re.finditer(term.pattern, folded(text))]
    assert find(text, [term]) == spans


def test_find_marks_first_of_overlapping_terms() -> None:
    """A phrase and a word of it are one place."""
    query = parse('"rest api" api rest')
    assert find("a REST API, and api", query.terms) == [(2, 10), (16, 19)]


def test_phrase_is_split_into_words_unless_its_script_has_no_spaces() -> None:
    def words(phrase: str) -> list[tuple[str, ...]]:
        (term,) = parse(f'"{phrase}"').terms
        return [part.tokens for part in split_phrase(term)]

    assert words("красная лиса") == [("красная",), ("лиса",)]
    assert words("red fox") == [("red",), ("fox",)]
    assert len(words("红狐狸")) == 1
