"""Lists: what is in them, in which order, and that a caller's text is never SQL."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from cortext import Session, SessionIndex, SessionStorage

Opener = Callable[[], SessionIndex]
START = datetime(2026, 1, 1, tzinfo=UTC)


def ids(index: SessionIndex, **query: object) -> list[str]:
    return [summary.id for summary in index.list(**query)]  # type: ignore[arg-type]


def numbered(storage: SessionStorage) -> None:
    """Five sessions, each number of which sorts in another order."""
    rows = [
        ("a", "delta", 3, 1, 2, 50),
        ("b", "Alpha", 1, 4, 0, 40),
        ("c", "charlie", 5, 2, 4, 30),
        ("d", "BRAVO", 2, 5, 3, 10),
        ("e", "alpha", 4, 3, 1, 20),
    ]
    for id, title, updated, created, messages, tokens in rows:
        session = Session(
            id, title=title, created_at=START + timedelta(days=created),
            total_prompt_tokens=tokens,
        )  # fmt: skip
        for _ in range(messages):
            session.add_message_from_dict("user", "x")
        session.updated_at = START + timedelta(days=30 + updated)
        storage.save(session)


@pytest.mark.parametrize(
    ("sort_by", "greatest_first", "default"),
    [
        ("updated_at", "ceadb", True),
        ("created_at", "dbeca", True),
        ("message_count", "cdaeb", True),
        ("total_tokens", "abced", True),
        ("title", "acdbe", False),
        ("id", "edcba", False),
    ],
)
def test_list_sorts_by_each_field_in_both_directions(
    storage: SessionStorage,
    open_index: Opener,
    sort_by: str,
    greatest_first: str,
    default: bool,
) -> None:
    """Times and numbers come greatest first, titles A to Z without case, unless told otherwise."""
    numbered(storage)
    index = open_index()
    descending = ids(index, sort_by=sort_by, descending=True)
    ascending = ids(index, sort_by=sort_by, descending=False)
    assert descending == list(greatest_first)
    # Equal ones ("Alpha", "alpha") come by id in both directions.
    expected = "bedca" if sort_by == "title" else greatest_first[::-1]
    assert ascending == list(expected)
    assert ids(index, sort_by=sort_by) == (descending if default else ascending)


def test_pages_list_sessions_of_same_time_exactly_once(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Pages of sessions that were updated at the same instant neither repeat nor miss one."""
    names = [f"s{number:02}" for number in range(23)]
    for id in names:
        storage.save(Session(id, created_at=START, updated_at=START))
    index = open_index()
    pages = [ids(index, limit=5, offset=offset) for offset in range(0, 25, 5)]
    assert [len(page) for page in pages] == [5, 5, 5, 5, 3]
    assert [id for page in pages for id in page] == names


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (0, 0, ""), (-1, 0, ""), (2, 0, "ce"), (2, -5, "ce"), (2, 4, "b"), (2, 5, ""),
        (2, 10**9, ""), (sys.maxsize, 0, "ceadb"), (10**30, 0, "ceadb"), (5, 10**30, ""),
    ],
)  # fmt: skip
def test_list_accepts_any_integer_as_limit_and_offset(
    storage: SessionStorage, open_index: Opener, limit: int, offset: int, expected: str
) -> None:
    """Any whole number is a limit and an offset; a negative one counts as 0."""
    numbered(storage)
    assert ids(open_index(), limit=limit, offset=offset) == list(expected)


@pytest.mark.parametrize(
    "sort_by", ["", "nope", "title; DROP TABLE sessions", "1", "summary", "updated_at DESC, id --"]
)
def test_unknown_sort_by_raises_value_error(
    storage: SessionStorage, open_index: Opener, sort_by: str
) -> None:
    """sort_by is one of a few names, and the error lists them."""
    numbered(storage)
    index = open_index()
    with pytest.raises(ValueError, match="updated_at"):
        index.list(sort_by=sort_by)
    assert index.count() == 5


def test_tag_filter_requires_every_tag_to_match_exactly(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Several tags narrow a list down; a tag matches whole and with its case."""
    tags = {"a": ["python"], "b": ["python", "api"], "c": ["api", "python", "web"], "d": []}
    for id, names in tags.items():
        storage.save(Session(id, tags=names))
    index = open_index()
    assert ids(index, tags=["python"], sort_by="id") == ["a", "b", "c"]
    assert ids(index, tags=["python", "api"], sort_by="id") == ["b", "c"]
    assert ids(index, tags=["python", "web", "api"]) == ["c"]
    assert ids(index, tags=["python", "cobol"]) == []
    assert ids(index, tags=["pyth"]) == []
    assert ids(index, tags=["Python"]) == []
    assert ids(index, tags=[], sort_by="id") == ["a", "b", "c", "d"]


def test_tag_filter_uses_current_tags_after_update(
    storage: SessionStorage, open_index: Opener
) -> None:
    """A session is found by the tags that it has now, not by those that it had."""
    index = open_index()
    index.add(Session("a", tags=["old", "kept", "kept"]))
    index.update(Session("a", tags=["kept", "new"]))
    assert [ids(index, tags=[tag]) for tag in ("old", "kept", "new")] == [[], ["a"], ["a"]]
    index.remove("a")
    index.add(Session("a"))
    assert ids(index, tags=["kept"]) == []


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("REFACTOR", "a"), ("the api", "a"), ("100%", "b"), ("%", "b"), ("_", "c"), ("e_c", "c"),
        ("'", "d"), ("it's", "d"), ("\\", "e"), ("c:\\t", "e"), ('"', "f"), ("straße", "g"),
        ("STRASSE", "g"), ("é", "h"), ("É", "h"), ("*", ""), ("?", ""), ("[a-z]", ""),
        ("' OR 1=1 --", ""), ("a') OR 1=1--", ""), ("nothing like it", ""), ("\0", ""),
        ("\ud800", ""), ("", "abcdefgh"),
    ],
)  # fmt: skip
def test_title_search_treats_patterns_and_sql_as_plain_text(
    storage: SessionStorage, open_index: Opener, search: str, expected: str
) -> None:
    """Search finds text within titles without case; nothing in it is a pattern or SQL."""
    titles = {
        "a": "Refactor the API", "b": "now 100% done", "c": "snake_case", "d": "it's here",
        "e": "C:\\temp", "f": 'say "hi"', "g": "Große Straße", "h": "caf\u00c9",
    }  # fmt: skip
    for id, title in titles.items():
        storage.save(Session(id, title=title))
    assert "".join(ids(open_index(), search=search, sort_by="id")) == expected


@pytest.mark.parametrize(
    "text", ["a') OR 1=1--", "' OR '1'='1", '"; DROP TABLE sessions; --', "%", "?", "\ud800", "\0"]
)
@pytest.mark.parametrize("where", ["tags", "search", "working_dir", "owner"])
def test_sql_in_filter_text_matches_no_session(
    storage: SessionStorage, open_index: Opener, where: str, text: str
) -> None:
    """Text that looks like SQL is only text, in every place that takes some."""
    numbered(storage)
    index = open_index()
    assert ids(index, **{where: [text] if where == "tags" else text}) == []
    assert index.count() == 5


@pytest.mark.parametrize("text", ["a') OR 1=1--", "\ud800 half", "\U0001f600", "a\0b", "[red]x[/]"])
def test_hostile_text_is_stored_unchanged_and_found(
    storage: SessionStorage, open_index: Opener, text: str
) -> None:
    """Titles, tags, folders and owners of any characters are kept and found."""
    session = Session("a", title=text, tags=[text], working_dir=text, owner=text)
    storage.save(session)
    storage.save(Session("b"))
    index = open_index()
    for query in ({"tags": [text]}, {"search": text}, {"working_dir": text}, {"owner": text}):
        assert ids(index, **query) == ["a"]
    index.close()
    summary = open_index().get("a")
    assert summary is not None
    assert (summary.title, summary.tags, summary.working_dir, summary.owner) == (
        text, [text], text, text,
    )  # fmt: skip


def test_owner_and_working_dir_filters_match_exactly(
    storage: SessionStorage, open_index: Opener
) -> None:
    """owner and working_dir match whole; "" finds those that have none; filters combine."""
    storage.save(Session("a", owner="ann", working_dir="/w", title="one", tags=["t"]))
    storage.save(Session("b", owner="ann", working_dir="/w/sub"))
    storage.save(Session("c", owner="Ann", working_dir="/w", title="one"))
    storage.save(Session("d"))
    index = open_index()
    assert ids(index, owner="ann", sort_by="id") == ["a", "b"]
    assert ids(index, working_dir="/w", sort_by="id") == ["a", "c"]
    assert ids(index, owner="") == ["d"]
    assert ids(index, working_dir="") == ["d"]
    assert ids(index, owner="ann", working_dir="/w", search="ONE", tags=["t"]) == ["a"]
    assert ids(index, owner="ann", working_dir="/w/sub", tags=["t"]) == []


def test_naive_and_aware_times_sort_together(storage: SessionStorage, open_index: Opener) -> None:
    """A time without a zone is UTC, in a file as in memory, and sorts among the others."""
    naive = datetime(2026, 1, 2)
    east = datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=5)))
    storage.save(Session("naive", created_at=naive, updated_at=naive))
    storage.save(Session("aware", created_at=START, updated_at=START + timedelta(days=3)))
    storage.save(Session("east", created_at=east, updated_at=east))
    assigned = Session("assigned")
    assigned.updated_at = assigned.created_at = datetime(2026, 1, 3)
    storage.save(assigned)
    path = storage.storage_dir / "file.json"
    path.write_text(
        '{"id":"file","created_at":"2026-01-01T12:00:00","updated_at":"2026-01-01T12:00:00+00:00"}',
        encoding="utf-8",
    )
    index = open_index()
    index.add(assigned)
    for sort_by in ("updated_at", "created_at"):
        expected = ["assigned", "naive", "east", "file", "aware"]
        if sort_by == "updated_at":
            expected = ["aware", *expected[:4]]
        assert ids(index, sort_by=sort_by) == expected
    assert all(summary.updated_at.tzinfo is not None for summary in index.list())


def test_list_includes_session_with_huge_token_count(
    storage: SessionStorage, open_index: Opener
) -> None:
    """A count that no database integer holds is listed all the same."""
    storage.save(Session("huge", total_prompt_tokens=10**30))
    storage.save(Session("plain", total_prompt_tokens=5))
    index = open_index()
    assert ids(index, sort_by="total_tokens") == ["huge", "plain"]
    summary = index.get("huge")
    assert summary is not None
    assert summary.total_tokens == 10**30


def test_get_and_remove_reject_invalid_ids(storage: SessionStorage, open_index: Opener) -> None:
    """An id that could not name a file is an error here as everywhere, and no SQL."""
    numbered(storage)
    index = open_index()
    for id in ("../a", "a/b", "", ".", "a' OR '1'='1", "x" * 300, "\0"):
        for verb in (index.get, index.remove):
            with pytest.raises(ValueError, match="not a valid id"):
                verb(id)
    assert index.count() == 5


def test_get_recent_returns_last_updated_sessions(
    storage: SessionStorage, open_index: Opener
) -> None:
    numbered(storage)
    index = open_index()
    assert [row.id for row in index.get_recent(2)] == ["c", "e"]
    assert [row.id for row in index.get_recent()] == ["c", "e", "a", "d", "b"]
    assert index.get_recent(0) == []
    for number in range(8):
        index.add(Session(f"s{number}"))
    assert len(index.get_recent()) == 10


def test_get_by_working_dir_returns_all_sessions_of_folder(
    storage: SessionStorage, open_index: Opener
) -> None:
    """Also more than the default limit of a list; the folder is a path or text."""
    index = open_index()
    for number in range(60):
        when = START + timedelta(minutes=number)
        index.add(Session(f"s{number:02}", created_at=when, updated_at=when, working_dir="/w"))
    index.add(Session("other", working_dir="/w/sub"))
    expected = [f"s{number:02}" for number in reversed(range(60))]
    assert [row.id for row in index.get_by_working_dir("/w")] == expected
    assert [row.id for row in index.get_by_working_dir(Path("/w/sub"))] == ["other"]
    assert index.get_by_working_dir("/nowhere") == []


def test_index_supports_len_and_in(storage: SessionStorage, open_index: Opener) -> None:
    index = open_index()
    assert len(index) == 0
    numbered(storage)
    index = open_index()
    assert len(index) == index.count() == 5
    assert "a" in index
    assert "z" not in index
    index.remove("a")
    assert "a" not in index


@pytest.mark.parametrize("id", ["../x", "", "a/b", "\0", 5, None])
def test_in_returns_false_for_invalid_id(open_index: Opener, id: object) -> None:
    assert id not in open_index()
