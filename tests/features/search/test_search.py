"""Finding what was said: the newest first, narrowed, and whatever is typed."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortext import Session, SessionMessage, paths
from cortext.catalog import rebuildable_database
from cortext.catalog.rebuildable_database import micros
from cortext.features.listing.conversation_list import ListFilter
from cortext.features.search.search import Search, SearchHit, TextFilter
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.formats.log import encode
from tests.catalog.spaces import NOW, Space


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")


def ready() -> Search:
    search = Search()
    assert search.refresh().left == 0
    return search


def texts(hits: list[SearchHit]) -> list[str]:
    return [hit.snippet.text for hit in hits]


def test_search_returns_newest_messages_first(current_space: Space) -> None:
    """The newest texts come first, wherever they stand, and only as many as are wanted."""
    a = current_space.add("001-a", "needle 1")
    b = current_space.add("002-b", "needle 2")
    current_space.append(a, "needle 3")
    current_space.append(b, "needle 4")
    assert texts(ready().find("needle")) == ["needle 4", "needle 3", "needle 2", "needle 1"]
    assert texts(ready().find("needle", most=2)) == ["needle 4", "needle 3"]


def test_search_returns_newest_messages_of_interleaved_conversations(current_space: Space) -> None:
    """Of conversations that went on side by side the newest texts come, and not those of one; old
    ones that come into the index later stay behind them."""
    folders = [current_space.add(f"00{n}-a") for n in range(1, 4)]
    for n in range(150):
        for folder in folders:
            current_space.append(
                folder, f"deploy {folder.name[:3]} {n}", at=NOW + timedelta(hours=n)
            )
    expected = {f"deploy 00{k} {n}" for n in (149, 148) for k in (1, 2, 3)}
    assert {*texts(ready().find("deploy", most=6))} == expected
    for n in range(60):
        old = current_space.add(f"{n + 100}-old", day="2025-01-05")
        current_space.append(old, "deploy of old", "deploy of old", at=NOW - timedelta(days=300))
    assert {*texts(ready().find("deploy", most=6))} == expected


@pytest.mark.parametrize(("query", "exact"), [("plan", 240), ("c++", 81)])
def test_search_returns_each_message_once(current_space: Space, query: str, exact: int) -> None:
    folders = [current_space.add(f"00{n}-a") for n in range(1, 4)]
    for n in range(80):
        for folder in folders:
            text = f"plan c number {n}" if n % 3 else f"plan c++ number {n}"
            current_space.append(folder, text, at=NOW + timedelta(minutes=n))
    whole = ready().find(query, most=1000)
    assert (len(whole), sum(hit.exact for hit in whole)) == (240, exact)


def test_search_ranks_messages_with_typed_punctuation_first(current_space: Space) -> None:
    """What has the signs that were typed comes before what has only the words, which is told."""
    current_space.add("001-a", "we use c++ for this", "an .env file", "the c language", "env file")
    search = ready()
    assert texts(search.find("c++")) == ["we use c++ for this", "the c language"]
    assert [hit.exact for hit in search.find("c++")] == [True, False]
    assert texts(search.find(".env file")) == ["an .env file", "env file"]
    assert [hit.exact for hit in search.find("c language")] == [True]


def test_search_finds_exact_punctuation_behind_many_newer_messages(current_space: Space) -> None:
    """What has the signs is found behind any number of newer texts that have only the words."""
    current_space.add("001-a", "we use c++ and foo_bar for this")
    current_space.add("002-b", *[f"plan c number {n}, foo-bar" for n in range(1500)])
    for query in ("c++", "foo_bar"):
        hits = ready().find(query, most=5)
        assert texts(hits)[0] == "we use c++ and foo_bar for this"
        assert [hit.exact for hit in hits] == [True] + [False] * 4
        (first, *_) = Finder().answer(SearchRequest(query)).groups
        assert first.row.id == "001-a"


def test_search_filters_by_time_tag_type_role_and_folder(current_space: Space) -> None:
    """By role, time, folder, type and tag."""
    current_space.add("001-a", "needle early", tags=["x"])
    folder = current_space.add("002-b", conversation_type="other")
    current_space.append(folder, "needle late", at=NOW + timedelta(days=1))
    search = ready()
    day = micros(NOW + timedelta(hours=12))
    assert texts(search.find("needle", narrow=TextFilter(since=day))) == ["needle late"]
    assert texts(search.find("needle", narrow=TextFilter(until=day))) == ["needle early"]
    assert texts(search.find("needle", ListFilter(tags=["x"]))) == ["needle early"]
    assert texts(search.find("needle", ListFilter(kind="other"))) == ["needle late"]
    assert not search.find("needle", narrow=TextFilter(role="assistant"))
    assert len(search.find("needle", narrow=TextFilter(folder=str(current_space.root)))) == 2
    assert not search.find("needle", narrow=TextFilter(folder=str(current_space.root / "no")))


def test_search_finds_filtered_message_among_thousands_of_newer_messages(
    current_space: Space,
) -> None:
    """What only an old conversation has is found among thousands of newer texts with the word."""
    current_space.add("001-a", "needle of old", conversation_type="other")
    current_space.add("002-b", *[f"needle {n}" for n in range(3000)])
    assert texts(ready().find("needle", ListFilter(kind="other"))) == ["needle of old"]


def test_search_finds_spawn_messages_after_head_is_rewritten(
    data_home: Path, current_space: Space
) -> None:
    """Turns of `aur spawn` are found, also after its head was written anew, longer."""
    folder = data_home / "aurora/spawn/sessions"
    folder.mkdir(parents=True)
    said = [SessionMessage("user", f"needle {n}", timestamp=NOW) for n in range(5)]
    session = Session("qa-1", "named", agent="qa", status="completed", messages=said)
    (folder / "qa-1.jsonl").write_bytes(encode(session))
    assert len(ready().find("needle")) == 5
    session.title = "a title that makes the first line much longer than it was"
    session.messages.append(SessionMessage("assistant", "needle 5", timestamp=NOW))
    (folder / "qa-1.jsonl").write_bytes(encode(session))
    search = ready()
    assert sorted(texts(search.find("needle"))) == [f"needle {n}" for n in range(6)]
    assert [hit.role for hit in search.find("longer")] == ["title"]
    assert current_space.root


def test_search_finds_random_message_by_phrase_of_three_words(current_space: Space) -> None:
    """For 1,000 random messages, three of their words in order find that message."""
    rng = random.Random(5)
    vocabulary = [f"w{n}" for n in range(400)] + ["日本", "c++", "naïve", "it's", "a_b", "x/y.py"]
    said: dict[str, list[str]] = {}
    for number in range(1, 11):
        rows = [" ".join(rng.choices(vocabulary, k=25)) for _ in range(200)]
        said[f"{number:03}-a"] = rows
        current_space.add(f"{number:03}-a", *rows)
    search = ready()
    for _ in range(1000):
        id = rng.choice([*said])
        number = rng.randrange(200)
        start = rng.randrange(22)
        phrase = " ".join(said[id][number].split()[start : start + 3])
        found = {(hit.row.id, hit.number) for hit in search.find(f'"{phrase}"', most=1000)}
        assert (id, number + 1) in found


@pytest.fixture(scope="module")
def anything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    """A search over one small workspace, for every example."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("anything")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("AURORA_HOME", str(folder / "aurora"))
        space = Space(folder / "space")
        space.add("001-a", "we use c++ and it's fine", "日本語の設計", "foo-bar", "a\tb\nc")
        patch.chdir(space.root)
        yield ready()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(max_size=300) | st.text(alphabet="\"*^(){}:-+ANDORTE .'\0c", max_size=60))
def test_search_accepts_any_text_and_marks_spans_inside_snippet(
    anything: Search, text: str
) -> None:
    """No text is an error; what is found is marked inside its piece."""
    for hit in anything.find(text):
        assert all(0 <= a < b <= len(hit.snippet.text) for a, b in hit.snippet.spans)


def test_search_finds_message_appended_after_last_refresh(current_space: Space) -> None:
    """A turn that was appended is found by a search that was made before it, once it looks."""
    folder = current_space.add("001-a", "first")
    ready()
    current_space.append(folder, "needle")
    (hit,) = ready().find("needle")
    assert (hit.number, hit.role, hit.row.id) == (2, "user", "001-a")


def test_search_imports_neither_rich_nor_rapidfuzz(current_space: Space) -> None:
    """A search that finds nothing new loads neither rich nor rapidfuzz."""
    current_space.add("001-a", "needle")
    ready()
    current_space.age()
    ready()
    program = (
        "import sys\nsys.argv = ['cortext', 'search', 'needle']\n"
        "from cortext.cli.main import main\nmain()\n"
        "print([name for name in ('rich', 'rapidfuzz') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "needle" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_search_follows_message_lines_edited_by_hand(current_space: Space) -> None:
    """In a conversation that rests, where nothing else tells of it: what stands there is found."""
    old = NOW - timedelta(days=90)
    folder = current_space.add("001-a", status="paused", last_active=old.isoformat())
    current_space.append(folder, "zero", "one needle", "two cranes", at=old)
    current_space.age()
    ready()
    path = folder / ".session/messages.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    (hit,) = ready().find("cranes")
    assert (hit.number, hit.snippet.text) == (2, "two cranes")
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
    (group,) = Finder().answer(SearchRequest("needle")).groups
    assert [(hit.number, hit.snippet.text) for hit in group.hits] == [(2, "one needle")]
    assert not ready().find("zero")


def test_search_shows_edited_line_while_index_is_locked(
    current_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search answers as well as it can while nothing can be written to the index."""
    monkeypatch.setattr(rebuildable_database, "_BUSY_MS", 10)
    old = NOW - timedelta(days=90)
    folder = current_space.add("001-a", status="paused", last_active=old.isoformat())
    current_space.append(folder, "one needle", "two cranes", at=old)
    current_space.age()
    search = ready()
    path = folder / ".session/messages.jsonl"
    path.write_bytes(path.read_bytes().replace(b"needle", b"cranes"))
    with closing(sqlite3.connect(paths.words(), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert texts(search.find("needle")) == ["one cranes"]
    assert not ready().find("needle")


def test_search_returns_empty_snippet_for_deleted_message_file(current_space: Space) -> None:
    """A text that was deleted after it was indexed is a hit without a piece, and no error."""
    folder = current_space.add("001-a", "needle")
    search = ready()
    (folder / ".session/messages.jsonl").unlink()
    assert texts(search.find("needle")) == [""]
