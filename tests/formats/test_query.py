"""What a person types, as a question; and the piece of a text that answers it."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.query import find, folded, parse, snippet, spaced


def matches(question: str, text: str) -> bool:
    """Whether SQLite finds a text, as the index has it."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute(
            "CREATE VIRTUAL TABLE words USING fts5(text, content='', "
            'tokenize="unicode61 remove_diacritics 2")'
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
        ("redis OR cache", "the plan for our cache"),
        ("plan NOT redis", "the plan for our cache"),
        ("NOT plan", "the plan for our cache"),
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
        ("a\0b", "a b"),
    ],
)
def test_found(question: str, text: str) -> None:
    """What a person types finds the text that has it."""
    assert matches(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ('"cache our"', "the plan for our cache"),
        ("foo-bar", "bar and foo"),
        ("plan NOT cache", "the plan for our cache"),
        ("한", "하"),
        ("plan", "planned"),
        ("++", "we write c++ here"),
        ("", "anything"),
    ],
)
def test_not_found(question: str, text: str) -> None:
    """What is not there, or not so, is not found."""
    assert not matches(question, text)


@given(st.text(max_size=200) | st.text(alphabet="\"*^(){}:-+ANDORT .'\0", max_size=60))
def test_anything_can_be_typed(text: str) -> None:
    """Nothing that is typed is an error, for the parser, for SQLite and for the piece shown."""
    matches(text, "a text")
    piece = snippet(text, parse(text).terms)
    assert all(0 <= start < end <= len(piece.text) for start, end in piece.spans)


def test_very_much_can_be_typed() -> None:
    """A megabyte of anything is cut, not refused."""
    for text in ("a-" * 500_000, "日" * 1_000_000, '"' * 1_000_000, "OR " * 300_000):
        assert not matches(text, "a text")


def test_signs_are_told_from_words() -> None:
    """Signs inside a word are part of what is meant; those that end a sentence are not."""
    assert parse("c++").is_in("We write C++ here")
    assert not parse("c++").is_in("we write c here")
    assert not parse(".env file").is_in("the env file")
    assert parse("what is this?").signs == ()
    assert parse("plain words").signs == ()


@given(st.text(max_size=80))
def test_folding_keeps_places(text: str) -> None:
    """A folded text has each character where it was."""
    assert len(folded(text)) == len(text)


def test_places() -> None:
    """The words are marked where they stand, whatever their accents are made of."""
    text = "My Re\u0301sume\u0301, and a resume"
    spans = find(text, parse("résumé").terms)
    assert [text[start:end] for start, end in spans] == ["Re\u0301sume", "resume"]


def test_snippet_is_short_and_one_line() -> None:
    """Of a long text the piece around the word is shown, on one line."""
    text = "before\n" * 500 + "the needle\tis here\n" + "after\n" * 500
    piece = snippet(text, parse("needle").terms)
    (span,) = piece.spans
    assert piece.text[slice(*span)] == "needle"
    assert len(piece.text) < 300
    assert "\n" not in piece.text
    assert (piece.text[0], piece.text[-1]) == ("…", "…")
