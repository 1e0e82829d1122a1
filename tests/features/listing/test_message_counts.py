"""The numbers of messages and tokens of AI tools' sessions, from what the real tools wrote."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.features.listing import message_counts, session_of_row
from cortext.features.listing.conversation_list import ConversationList, ListFilter
from cortext.features.listing.message_counts import add_counts
from cortext.features.listing.session_of_row import read
from tests.homes import Homes, lay_out, said


@pytest.fixture
def four_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    homes = lay_out(tmp_path)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    return homes


@pytest.fixture
def count_catalog(four_homes: Homes) -> Iterator[Catalog]:
    with Catalog(":memory:") as catalog:
        yield catalog


def _rows(catalog: Catalog) -> list[ConversationRow]:
    return catalog.tool_sessions().rows


def test_counts_are_those_of_the_whole_session(count_catalog: Catalog) -> None:
    counted = add_counts(count_catalog, _rows(count_catalog))
    assert counted.left == 0
    for row in counted.rows:
        session, _ = read(row)
        assert (row.messages, row.tokens) == (len(session.messages), session.total_tokens)
        assert row.messages > 0


def test_known_session_is_not_read_again(
    count_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = add_counts(count_catalog, _rows(count_catalog)).rows
    monkeypatch.setattr(message_counts, "count_session", None)
    assert add_counts(count_catalog, _rows(count_catalog)).rows == first


def test_session_that_grew_is_counted_again(count_catalog: Catalog, four_homes: Homes) -> None:
    id, _ = said("claude")
    before = _count_of(id, add_counts(count_catalog, _rows(count_catalog)).rows)
    _repeat_last_line(four_homes.transcript("claude"))
    after = _count_of(id, add_counts(count_catalog, _rows(count_catalog)).rows)
    assert after == before + 1


def test_row_keeps_outdated_count_if_there_is_no_time(
    count_catalog: Catalog, four_homes: Homes
) -> None:
    id, _ = said("claude")
    before = _count_of(id, add_counts(count_catalog, _rows(count_catalog)).rows)
    _repeat_last_line(four_homes.transcript("claude"))
    counted = add_counts(count_catalog, _rows(count_catalog), patience=0)
    assert (counted.left, _count_of(id, counted.rows)) == (1, before)


def test_large_session_that_grew_is_left_to_the_background(
    count_catalog: Catalog, four_homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_counts(count_catalog, _rows(count_catalog))
    _repeat_last_line(four_homes.transcript("claude"))
    monkeypatch.setattr(message_counts, "_LARGE_FILE", 10)
    assert add_counts(count_catalog, _rows(count_catalog), patience=60).left == 1
    assert add_counts(count_catalog, _rows(count_catalog)).left == 0


def test_large_session_that_is_new_is_left_to_the_background(
    count_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for row in _rows(count_catalog) if row.tool == "claude"]
    monkeypatch.setattr(message_counts, "_LARGE_FILE", 10)
    assert add_counts(count_catalog, rows, patience=60).left == len(rows)
    assert add_counts(count_catalog, rows).left == 0


def test_sessions_in_a_large_shared_file_are_counted_at_once(
    count_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = next(row for row in _rows(count_catalog) if row.tool == "opencode")
    monkeypatch.setattr(message_counts, "_LARGE_FILE", 10)
    assert add_counts(count_catalog, [row, row], patience=60).rows[0].messages > 0


def test_transcript_with_invalid_value_does_not_stop_the_list(
    count_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(row: ConversationRow, longest: int) -> None:
        raise ValueError("an invalid value")

    monkeypatch.setattr(session_of_row, "read", fail)
    counted = add_counts(count_catalog, _rows(count_catalog))
    assert {row.messages for row in counted.rows} == {0}


def test_deleted_session_leaves_no_count(count_catalog: Catalog, four_homes: Homes) -> None:
    add_counts(count_catalog, _rows(count_catalog))
    id, _ = said("claude")
    os.unlink(four_homes.transcript("claude"))
    count_catalog.tool_sessions()
    assert ("claude", id) not in count_catalog.session_counts()


@pytest.mark.parametrize(
    ("order", "field"), [("message_count", "messages"), ("total_tokens", "tokens")]
)
def test_list_sorted_by_a_number_is_correct_for_every_row(
    four_homes: Homes, tmp_path: Path, order: str, field: str
) -> None:
    """No list ran before, so nothing is counted yet."""
    rows = ConversationList(str(tmp_path), everywhere=True).list(ListFilter(order=order)).rows
    numbers = [getattr(row, field) for row in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert all(row.messages for row in rows)


def _count_of(id: str, rows: list[ConversationRow]) -> int:
    return next(row.messages for row in rows if row.key == id)


def _repeat_last_line(path: Path) -> None:
    """Let the person say one more thing."""
    lines = path.read_text(encoding="utf-8").splitlines()
    said_lines = [line for line in map(json.loads, lines) if line.get("type") == "assistant"]
    new = {
        **said_lines[-1],
        "type": "user",
        "uuid": "00000000-0000-4000-8000-000000000001",
        "parentUuid": said_lines[-1]["uuid"],
        "message": {"role": "user", "content": "one more thing"},
    }
    path.write_text("\n".join([*lines, json.dumps(new), ""]), encoding="utf-8")
