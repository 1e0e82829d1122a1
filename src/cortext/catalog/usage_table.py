"""The catalog tables with the tokens and the cost of each answer of an AI tool.

The same answer may be in several transcripts, because a resumed, forked or compacted session
repeats earlier answers. The tables have one record of the answer for each file. A query counts the
answer once, for the session that was stored first.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

import msgspec

from cortext.catalog.rebuildable_database import bounded, plain
from cortext.model.answer_usage import TokenUsage, UsageFile, UsageRecord

SCHEMA = """
CREATE TABLE usage_sessions (id INTEGER PRIMARY KEY, tool TEXT, session TEXT, fingerprint TEXT,
    UNIQUE (tool, session));
CREATE TABLE usage_files (id INTEGER PRIMARY KEY, session INTEGER, path BLOB, state TEXT,
    UNIQUE (session, path));
CREATE TABLE usage_answers (key BLOB, file INTEGER, time INTEGER, model TEXT, input INTEGER,
    output INTEGER, cache_read INTEGER, cache_write INTEGER, cache_write_1h INTEGER,
    reasoning INTEGER, cost REAL, is_recorded INTEGER, PRIMARY KEY (key, file)) WITHOUT ROWID;
CREATE INDEX usage_answers_of ON usage_answers (file);
CREATE TABLE usage_facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID
"""
_PRICES = "prices"
EPOCH = "epoch"
"""The name of a fact: a random text that identifies this catalog."""
QUARTER = 900_000_000
"""A quarter of an hour in microseconds. Every time zone differs from UTC by whole quarters."""
_INSERT = """
INSERT INTO usage_answers VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key, file) DO UPDATE SET
  time = min(time, excluded.time), input = max(input, excluded.input),
  output = max(output, excluded.output), cache_read = max(cache_read, excluded.cache_read),
  cache_write = max(cache_write, excluded.cache_write),
  cache_write_1h = max(cache_write_1h, excluded.cache_write_1h),
  reasoning = max(reasoning, excluded.reasoning),
  cost = CASE is_recorded WHEN excluded.is_recorded
    THEN coalesce(max(cost, excluded.cost), cost, excluded.cost)
    WHEN 1 THEN cost ELSE excluded.cost END,
  is_recorded = max(is_recorded, excluded.is_recorded)
"""
_KINDS = "input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning"
# Unlike sum(), total() never overflows.
_SUMS = ", ".join(f"CAST(total({kind}) AS INTEGER)" for kind in _KINDS)
_ONCE = f"""
SELECT min(f.session) AS session, coalesce(min(nullif(time, 0)), 0) AS time, max(model) AS model,
  {", ".join(f"max({kind}) AS {kind}" for kind in _KINDS)},
  coalesce(max(CASE WHEN is_recorded THEN cost END), max(cost)) AS cost,
  max(is_recorded) AS is_recorded
FROM usage_answers a JOIN usage_files f ON f.id = a.file GROUP BY key"""  # noqa: S608  our names
_TOTALS = f"""
SELECT s.tool, s.session, a.model, a.time / {QUARTER}, count(*), {_SUMS}, total(a.cost),
  total(CASE WHEN a.is_recorded THEN a.cost END), sum(a.cost IS NULL)
FROM ({_ONCE}) a JOIN usage_sessions s ON s.id = a.session
WHERE a.time >= ? AND a.time < ? GROUP BY 1, 2, 3, 4"""  # noqa: S608  our names

CostOf = Callable[[str, TokenUsage, int], float | None]
"""A function that computes the cost of an answer from its model, its tokens and its time."""


class CatalogReplacedError(Exception):
    """The catalog was replaced during a refresh of token usage, so all usage must be read again."""


class KnownSession(msgspec.Struct, frozen=True):
    """A session whose token usage is stored.

    `fingerprint` is the fingerprint that the transcript had when the usage was read. `states` has
    the state of each file of the session, by path (see `UsageFile`).
    """

    fingerprint: str
    states: dict[str, str]


class UsageSum(msgspec.Struct, frozen=True):
    """The usage of one session with one model in one quarter of an hour.

    `time` is the start of the quarter, in microseconds since 1970. `answers` is the number of
    answers. `usd` is the known cost, and `recorded_usd` is the part of `usd` that the tool itself
    recorded. `unpriced` is the number of answers whose cost is unknown.
    """

    tool: str
    session: str
    model: str
    time: int
    answers: int
    tokens: TokenUsage
    usd: float
    recorded_usd: float
    unpriced: int


def load_known(db: sqlite3.Connection) -> dict[tuple[str, str], KnownSession]:
    """Return the sessions whose usage is stored, by tool and session id."""
    found: dict[tuple[str, str], KnownSession] = {}
    query = """SELECT tool, s.session, fingerprint, path, state
        FROM usage_sessions s LEFT JOIN usage_files f ON f.session = s.id"""
    for tool, session, fingerprint, path, state in db.execute(query):
        known = found.setdefault((tool, session), KnownSession(fingerprint, {}))
        if path is not None:
            known.states[os.fsdecode(path)] = state
    return found


def store_session(
    db: sqlite3.Connection,
    tool: str,
    session: str,
    fingerprint: str,
    files: Sequence[UsageFile],
    cost_of: CostOf,
    epoch: str,
) -> None:
    """Store the usage of a session, and delete the usage of its files that are not in `files`.

    `cost_of` computes the cost of an answer if the tool recorded none. Raises CatalogReplacedError
    if the epoch of the catalog is not `epoch` (see `start_epoch`).
    """
    check_epoch(db, epoch)
    db.execute("INSERT OR IGNORE INTO usage_sessions VALUES (NULL, ?, ?, '')", (tool, session))
    query = "SELECT id FROM usage_sessions WHERE tool = ? AND session = ?"
    (id,) = db.execute(query, (tool, session)).fetchone()
    db.execute("UPDATE usage_sessions SET fingerprint = ? WHERE id = ?", (fingerprint, id))
    current = {os.fsencode(file.path) for file in files}
    query = "SELECT id, path FROM usage_files WHERE session = ?"
    for file_id, path in db.execute(query, (id,)).fetchall():
        if path not in current:
            _drop_file(db, file_id)
    for file in files:
        _store_file(db, tool, id, file, cost_of)


def start_epoch(db: sqlite3.Connection, new: str) -> None:
    """Store `new` as the epoch of the catalog, unless the catalog already has an epoch.

    The epoch is a random text. If the catalog is deleted and created again, the new catalog has no
    epoch until the next call, which stores a different epoch.
    """
    if not load_fact(db, EPOCH):
        store_fact(db, EPOCH, new)


def check_epoch(db: sqlite3.Connection, epoch: str) -> None:
    """Raise CatalogReplacedError if the epoch of the catalog is not `epoch`."""
    if load_fact(db, EPOCH) != epoch:
        raise CatalogReplacedError


def drop_sessions(db: sqlite3.Connection, sessions: Iterable[tuple[str, str]]) -> None:
    """Delete the usage of sessions whose transcripts do not exist any more."""
    for key in sessions:
        query = """SELECT f.id FROM usage_files f JOIN usage_sessions s ON s.id = f.session
            WHERE s.tool = ? AND s.session = ?"""
        for (file_id,) in db.execute(query, key).fetchall():
            _drop_file(db, file_id)
        db.execute("DELETE FROM usage_sessions WHERE tool = ? AND session = ?", key)


def use_prices(db: sqlite3.Connection, version: str, cost_of: CostOf) -> None:
    """Compute the costs of all answers again if the prices have another version than before.

    `cost_of` computes the cost of an answer with the new prices. Costs that a tool recorded do not
    change.
    """
    if load_fact(db, _PRICES) == version:
        return
    query = f"SELECT key, file, model, time, {', '.join(_KINDS)} FROM usage_answers WHERE NOT is_recorded"  # noqa: S608, E501  our names
    costs = [
        (cost_of(model, TokenUsage(*kinds), time), key, file)
        for key, file, model, time, *kinds in db.execute(query)
    ]
    db.executemany("UPDATE usage_answers SET cost = ? WHERE key = ? AND file = ?", costs)
    store_fact(db, _PRICES, version)


def load_fact(db: sqlite3.Connection, name: str) -> str:
    """Return the fact `name` about all usage; "" if it is not stored."""
    row = db.execute("SELECT value FROM usage_facts WHERE name = ?", (name,)).fetchone()
    return row[0] if row else ""


def store_fact(db: sqlite3.Connection, name: str, value: str) -> None:
    """Store a fact about all usage: a text with a name, such as the version of the prices."""
    db.execute("INSERT OR REPLACE INTO usage_facts VALUES (?, ?)", (name, value))


def load_sums(db: sqlite3.Connection, since: int, until: int) -> Iterator[UsageSum]:
    """Yield sums of the usage from `since` until `until`. Each answer counts once.

    Both times are in microseconds since 1970.
    """
    for tool, session, model, quarter, answers, *kinds, usd, recorded, unpriced in db.execute(
        _TOTALS, (since, until)
    ):
        tokens = TokenUsage(*kinds)
        time = quarter * QUARTER
        yield UsageSum(tool, session, model, time, answers, tokens, usd, recorded, unpriced)


def _store_file(
    db: sqlite3.Connection, tool: str, session: int, file: UsageFile, cost_of: CostOf
) -> None:
    key = (session, os.fsencode(file.path))
    row = db.execute("SELECT id FROM usage_files WHERE session = ? AND path = ?", key).fetchone()
    if row is not None and not file.keep:
        _drop_file(db, row[0])
    db.execute("INSERT OR IGNORE INTO usage_files VALUES (NULL, ?, ?, '')", key)
    row = db.execute("SELECT id FROM usage_files WHERE session = ? AND path = ?", key).fetchone()
    db.execute("UPDATE usage_files SET state = ? WHERE id = ?", (file.state, row[0]))
    answers = [_answer(tool, row[0], record, cost_of) for record in file.records]
    db.executemany(_INSERT, answers)


def _drop_file(db: sqlite3.Connection, file: int) -> None:
    db.execute("DELETE FROM usage_answers WHERE file = ?", (file,))
    db.execute("DELETE FROM usage_files WHERE id = ?", (file,))


def _answer(tool: str, file: int, record: UsageRecord, cost_of: CostOf) -> tuple[object, ...]:
    name = f"{tool}:{record.key}".encode("utf-8", "surrogatepass")
    cost = record.recorded_usd
    if cost is None:
        cost = cost_of(record.model, record.tokens, record.time)
    used = record.tokens
    kinds = (
        used.input,
        used.output,
        used.cache_read,
        used.cache_write,
        used.cache_write_1h,
        used.reasoning,
    )
    return (
        blake2b(name, digest_size=16).digest(),
        file,
        bounded(record.time),
        plain(record.model),
        *map(bounded, kinds),
        cost,
        record.recorded_usd is not None,
    )
