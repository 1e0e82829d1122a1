"""The page that compares our stores with those of others: it is what the code makes of the figures
that stand beside it. Nothing is measured here."""

import copy
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bench import peer_chart, peer_page, peer_table, peer_words
from bench.forks import in_child, in_children
from bench.peer_bounds import FULL, QUICK
from bench.peer_places import cut_files
from bench.peer_rows import exchanges, missing, rows, told, verdicts
from bench.peers import PEERS

pytestmark = pytest.mark.long


@pytest.fixture
def found() -> dict[str, Any]:
    return copy.deepcopy(peer_page.figures())


def test_peer_page_matches_figures(found: dict[str, Any]) -> None:
    """Its tables, verdicts and notes are those of the committed JSON."""
    text = peer_page.PAGE.read_text(encoding="utf-8")
    assert peer_page.page(text, found) == text


def test_readme_quotes_figures_of_peer_run(found: dict[str, Any]) -> None:
    text = (peer_page.ROOT / "README.md").read_text(encoding="utf-8")
    row = {row.key: row for row in rows(found)}
    quoted = [
        ("append at long", "log"),
        ("append at long", "openai-agents"),
        ("last", "log"),
        ("last", "openai-agents"),
        ("load", "in-openai-agents"),
        ("load", "openai-agents"),
    ]
    figures = [f"{told(row[key], found['contestants'][store])} ms" for key, store in quoted]
    for store in ("in-langgraph", "langgraph"):
        _, present, _ = found["contestants"][store]["cells"]["writers"]
        figures.append(f"{present:,}")
    figures.append(found["when"])
    assert [figure for figure in figures if figure not in text] == []


def test_peer_page_contains_every_generated_part() -> None:
    """Without its marker, a part would be left out silently."""
    text = peer_page.PAGE.read_text(encoding="utf-8")
    assert sorted(peer_page.made_in(text)) == sorted(peer_page.PARTS)


def test_peer_chart_matches_figures(found: dict[str, Any]) -> None:
    """It is that of the committed JSON, without a script, and small."""
    picture = peer_page.CHART.read_text(encoding="utf-8")
    assert picture == peer_chart.svg(found)
    assert "<script" not in picture
    assert "prefers-color-scheme: dark" in picture
    assert len(picture) < 60_000


def test_peer_figures_contain_every_contestant(found: dict[str, Any]) -> None:
    """One that is left out would flatter us. A trial may lack some of ours, and names them."""
    there = list(found["contestants"])
    assert there == [key for key in PEERS if key in there]
    left_out = [key for key in PEERS if key not in there]
    assert not left_out or found["quick"]
    assert all(PEERS[key].ours for key in left_out)
    text = peer_page.PAGE.read_text(encoding="utf-8")
    assert [name for name in missing(found) if name not in text.partition("## The run")[0]] == []


def test_peer_page_labels_only_trial_runs(found: dict[str, Any]) -> None:
    """With the sizes that were used; the text says those, too."""
    text = peer_page.PAGE.read_text(encoding="utf-8")
    found["quick"], found["bounds"] = True, QUICK._asdict()
    trial = peer_page.page(text, found)
    assert "figures of a trial" in trial.partition("## The run")[0]
    assert "conversations of 1,000 and 5,000 messages" in trial.partition("## The run")[0]
    assert "up to 100 times" in trial
    found["quick"], found["bounds"] = False, FULL._asdict()
    whole = peer_page.page(text, found)
    assert "figures of a trial" not in whole
    assert "conversations of 1,000 and" not in whole
    assert "up to 2,000 times" in whole
    assert peer_words.warning(found) == ""


def test_every_adapter_is_compared_with_replaced_store(found: dict[str, Any]) -> None:
    """Who it replaces keeps its messages in the same place, and is somebody else's."""
    for make in PEERS.values():
        if make.replaces:
            assert (make.ours, PEERS[make.replaces].ours) == (True, False)
            assert make.place == PEERS[make.replaces].place
    assert next(exchanges(found)).key == "in-openai-agents"


def test_peer_page_explains_every_row_where_adapter_loses(found: dict[str, Any]) -> None:
    """Each row in which what it replaces is ahead has a reason in bench/peer_reasons.py."""
    unexplained = [
        f"{each.key}: {verdict.row.key}"
        for each in exchanges(found)
        for verdict in each.verdicts
        if not verdict.holds and not peer_table.exchanged(each.key, verdict)
    ]
    assert unexplained == []


def test_adapter_is_judged_without_other_cortext_stores(found: dict[str, Any]) -> None:
    """That another store of ours is faster does not help it."""
    found["contestants"]["in-openai-agents"]["cells"]["last"] = 1e6
    lost = [
        verdict.row.key
        for each in exchanges(found)
        for verdict in each.verdicts
        if each.key == "in-openai-agents" and not verdict.holds
    ]
    assert "last" in lost
    assert "- **last 20" in peer_table.replaced(found)


def test_every_empty_peer_cell_has_reason_or_error(found: dict[str, Any]) -> None:
    """A figure that is missing has a reason or an error beside it."""
    silent = [
        (key, row.key)
        for key, one in found["contestants"].items()
        for row in rows(found)
        if row.key not in one["cells"] and row.key not in one["why"] and not one["errors"]
    ]
    assert silent == []


def test_peer_page_explains_every_row_where_cortext_is_behind(found: dict[str, Any]) -> None:
    """Each row in which another is ahead has its reason in bench/peer_reasons.py."""
    unexplained = [
        f"{verdict.row.key}, {verdict.place}"
        for verdict in verdicts(found)
        if not verdict.holds and not peer_table.reason(verdict)
    ]
    assert unexplained == []


def test_slower_cortext_row_is_reported_as_behind(found: dict[str, Any]) -> None:
    """With ten times the time in one row, the page says so there."""
    for one in found["contestants"].values():
        if one["ours"] and "last" in one["cells"]:
            one["cells"]["last"] = 1e6
    told = [verdict for verdict in verdicts(found) if verdict.row.key == "last"]
    assert told
    assert not any(verdict.holds for verdict in told)
    assert "**last 20" in peer_table.behind(found)


def test_lost_messages_are_reported_as_behind(found: dict[str, Any]) -> None:
    """A store of ours that lost what it acknowledged would not be level with one that did not."""
    for one in found["contestants"].values():
        if one["ours"]:
            one["cells"]["writers"] = [1600, 1599, 0]
        elif "writers" in one["cells"]:
            one["cells"]["writers"] = [1600, 1600, 0]
    told = [verdict for verdict in verdicts(found) if verdict.row.key == "writers"]
    assert [verdict.holds for verdict in told] == [False] * len(told)


def test_append_verdict_ignores_stores_that_do_not_sync(found: dict[str, Any]) -> None:
    """However fast it is."""
    for one in found["contestants"].values():
        if not one["syncs"]:
            one["cells"]["append"] = 1e-9
            one["floors"]["append"] = 1e-9
    told = [verdict for verdict in verdicts(found) if verdict.row.key == "append"]
    assert told
    assert all(verdict.theirs["syncs"] for verdict in told)


def _rows(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT count(*) FROM said").fetchone()[0]
    finally:
        db.close()


@pytest.mark.parametrize("before", [0, 3000])
def test_cut_files_removes_last_commit_of_database(tmp_path: Path, before: int) -> None:
    """Also where SQLite writes its log from the start again, and old pages stand at its end."""
    (tmp_path / "it").mkdir()
    db = sqlite3.connect(tmp_path / "it" / "a.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=OFF")
    db.execute("CREATE TABLE said (text)")
    for _ in range(before + 5):
        db.execute("INSERT INTO said VALUES (?)", ("x" * 500,))
    shutil.copytree(tmp_path / "it", tmp_path / "cut", copy_function=shutil.copyfile)
    db.close()
    os.utime(tmp_path / "cut" / "a.db", (1, 1))
    assert cut_files(str(tmp_path / "cut")) == "a.db-wal"
    assert _rows(tmp_path / "cut" / "a.db") == before + 4


def test_in_child_reports_result_error_or_timeout() -> None:
    """One that found something tells that, and one that is too slow is ended."""

    def fail() -> None:
        raise ValueError("no\nsuch thing")

    def wait() -> None:
        os.read(os.pipe()[0], 1)

    assert in_child(lambda: {"a": 1}, 20).found == {"a": 1}
    assert in_child(fail, 20).error == "ValueError: no such thing"
    assert [each.error for each in in_children([lambda: 1, wait], 1)][1].startswith("it took too")


def test_append_verdict_is_undecided_when_time_and_floor_disagree(found: dict[str, Any]) -> None:
    """A disk that was slower for one of two decides nothing."""
    for one in found["contestants"].values():
        if "append" in one["cells"]:
            ours = one["ours"]
            one["cells"]["append"], one["floors"]["append"] = (1, 3) if ours else (2, 2)
    told = [verdict for verdict in verdicts(found) if verdict.row.key == "append"]
    assert told
    assert not any(verdict.decided or verdict.holds for verdict in told)
    assert "**not decided**" in peer_table.ahead(found)
