"""The catalog tables with the tokens and the cost of each answer of an AI tool.

The same answer may be in several transcripts, because a resumed, forked or compacted session
repeats earlier answers. `usage_answers` has one record of the answer for each file. `usage_sums`
counts the answer once, for the session that wrote it: the session whose transcript does not call
the answer a copy, then the session with the earliest time of the answer, then the session that was
stored first.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec

from cortext.catalog.rebuildable_database import bounded, plain
from cortext.catalog.usage_costs import KINDS, QUARTER
from cortext.model.answer_usage import TokenUsage, UsageFile, UsageRecord

SCHEMA = """
CREATE TABLE usage_sessions (id INTEGER PRIMARY KEY, tool TEXT, session TEXT, fingerprint TEXT,
    parent TEXT, UNIQUE (tool, session));
CREATE TABLE usage_files (id INTEGER PRIMARY KEY, session INTEGER, path BLOB, state TEXT,
    UNIQUE (session, path));
CREATE TABLE usage_answers (key BLOB, file INTEGER, time INTEGER, model TEXT, input INTEGER,
    output INTEGER, cache_read INTEGER, cache_write INTEGER, cache_write_1h INTEGER,
    reasoning INTEGER, cost REAL, is_recorded INTEGER, is_copy INTEGER,
    PRIMARY KEY (key, file)) WITHOUT ROWID;
CREATE INDEX usage_answers_of ON usage_answers (file);
CREATE TABLE usage_sums (session INTEGER, model TEXT, quarter INTEGER, answers INTEGER,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, cache_write_1h INTEGER,
    reasoning INTEGER, usd REAL, recorded_usd REAL, unpriced INTEGER,
    PRIMARY KEY (session, model, quarter)) WITHOUT ROWID;
CREATE INDEX usage_sums_at ON usage_sums (quarter);
CREATE TABLE usage_facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID
"""
_PRICES = "prices"
EPOCH = "epoch"
"""The name of a fact: a random text that identifies this catalog."""
_INSERT = """
INSERT INTO usage_answers VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key, file) DO UPDATE SET
  time = min(time, excluded.time), input = max(input, excluded.input),
  output = max(output, excluded.output), cache_read = max(cache_read, excluded.cache_read),
  cache_write = max(cache_write, excluded.cache_write),
  cache_write_1h = max(cache_write_1h, excluded.cache_write_1h),
  reasoning = max(reasoning, excluded.reasoning),
  cost = CASE is_recorded WHEN excluded.is_recorded
    THEN coalesce(max(cost, excluded.cost), cost, excluded.cost)
    WHEN 1 THEN cost ELSE excluded.cost END,
  is_recorded = max(is_recorded, excluded.is_recorded), is_copy = min(is_copy, excluded.is_copy)
"""
# Unlike sum(), total() never overflows.
_TOTALS = ", ".join(f"CAST(total({kind}) AS INTEGER)" for kind in KINDS)
# The answers that a session has in its files, each with its copies in other files.
_COPIES = """
SELECT c.*, f.session, row_number() OVER (
  PARTITION BY c.key ORDER BY c.is_copy, c.time = 0, c.time, f.session, f.id) AS rank
FROM usage_answers c JOIN usage_files f ON f.id = c.file WHERE c.key IN (
  SELECT a.key FROM usage_answers a JOIN usage_files g ON g.id = a.file WHERE g.session = :session)
"""
# Each answer once, with the session that wrote it.
_ANSWERS = f"""
SELECT max(CASE WHEN rank = 1 THEN session END) AS session,
  coalesce(min(nullif(time, 0)), 0) AS time, max(model) AS model,
  {", ".join(f"max({kind}) AS {kind}" for kind in KINDS)},
  coalesce(max(CASE WHEN is_recorded THEN cost END), max(cost)) AS cost,
  max(is_recorded) AS is_recorded
FROM ({_COPIES}) GROUP BY key"""  # noqa: S608  our names
_STORE_SUMS = f"""
INSERT INTO usage_sums SELECT session, model, time / {QUARTER}, count(*), {_TOTALS}, total(cost),
  total(CASE WHEN is_recorded THEN cost END), sum(cost IS NULL)
FROM ({_ANSWERS}) WHERE session = :session GROUP BY 1, 2, 3"""  # noqa: S608  our names
_SHARING = """
SELECT DISTINCT g.session FROM usage_files f JOIN usage_answers a ON a.file = f.id
JOIN usage_answers c ON c.key = a.key JOIN usage_files g ON g.id = c.file WHERE f.session = ?"""
_SUMS = f"""
SELECT s.tool, s.session, model, quarter, answers, {", ".join(KINDS)}, usd, recorded_usd, unpriced
FROM usage_sums u JOIN usage_sessions s ON s.id = u.session
WHERE quarter >= ? AND quarter < ?"""  # noqa: S608  our names

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
    db.execute("INSERT OR IGNORE INTO usage_sessions VALUES (NULL, ?, ?, '', '')", (tool, session))
    query = "SELECT id FROM usage_sessions WHERE tool = ? AND session = ?"
    (id,) = db.execute(query, (tool, session)).fetchone()
    sharing = _sessions_sharing_answers(db, id)
    parent = next((plain(file.parent) for file in files if file.parent), "")
    query = "UPDATE usage_sessions SET fingerprint = ?, parent = ? WHERE id = ?"
    db.execute(query, (fingerprint, parent, id))
    current = {os.fsencode(file.path) for file in files}
    query = "SELECT id, path FROM usage_files WHERE session = ?"
    for file_id, path in db.execute(query, (id,)).fetchall():
        if path not in current:
            _drop_file(db, file_id)
    for file in files:
        _store_file(db, tool, id, file, cost_of)
    for other in sharing | _sessions_sharing_answers(db, id):
        _store_sums(db, other)


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
        query = "SELECT id FROM usage_sessions WHERE tool = ? AND session = ?"
        for (id,) in db.execute(query, key).fetchall():
            sharing = _sessions_sharing_answers(db, id)
            query = "SELECT id FROM usage_files WHERE session = ?"
            for (file_id,) in db.execute(query, (id,)).fetchall():
                _drop_file(db, file_id)
            db.execute("DELETE FROM usage_sessions WHERE id = ?", (id,))
            for other in sharing:
                _store_sums(db, other)


def use_prices(db: sqlite3.Connection, version: str, cost_of: CostOf) -> None:
    """Compute the costs of all answers again if the prices have another version than before.

    `cost_of` computes the cost of an answer with the new prices. Costs that a tool recorded do not
    change.
    """
    if load_fact(db, _PRICES) == version:
        return
    query = f"SELECT key, file, model, time, {', '.join(KINDS)} FROM usage_answers WHERE NOT is_recorded"  # noqa: S608, E501  our names
    costs = [
        (cost_of(model, TokenUsage(*kinds), time), key, file)
        for key, file, model, time, *kinds in db.execute(query)
    ]
    db.executemany("UPDATE usage_answers SET cost = ? WHERE key = ? AND file = ?", costs)
    for (session,) in db.execute("SELECT id FROM usage_sessions").fetchall():
        _store_sums(db, session)
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

    Both times are in microseconds since 1970. The quarters of an hour that contain them are counted
    completely. The usage of a sub-agent with a transcript of its own counts for the session that
    started it.
    """
    query = "SELECT tool, session, parent FROM usage_sessions"
    parents = {(tool, session): parent for tool, session, parent in db.execute(query)}
    quarters = since // QUARTER, -(-until // QUARTER)
    for tool, id, model, quarter, answers, *kinds, usd, recorded, unpriced in db.execute(
        _SUMS, quarters
    ):
        session, tokens = _find_starter(parents, tool, id), TokenUsage(*kinds)
        time = quarter * QUARTER
        yield UsageSum(tool, session, model, time, answers, tokens, usd, recorded, unpriced)


def _find_starter(parents: Mapping[tuple[str, str], str], tool: str, session: str) -> str:
    """Return the session that started a sub-agent, directly or through other sub-agents.

    `parents` has the parent of each known session; "" if the session is no sub-agent. A session
    whose parent is unknown is returned unchanged.
    """
    seen = {session}
    while (parent := parents[tool, session]) not in seen and (tool, parent) in parents:
        seen.add(parent)
        session = parent
    return session


def _sessions_sharing_answers(db: sqlite3.Connection, session: int) -> set[int]:
    """Return the sessions that have answers of a session in their files, and the session itself."""
    return {session, *(other for (other,) in db.execute(_SHARING, (session,)))}


def _store_sums(db: sqlite3.Connection, session: int) -> None:
    """Compute the sums of a session again, from the answers in its files that it wrote itself."""
    db.execute("DELETE FROM usage_sums WHERE session = ?", (session,))
    db.execute(_STORE_SUMS, {"session": session})


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
        record.is_copy,
    )
