"""Import conversations from the SQLite log of the command-line tool `llm`.

The current release of llm logs threads, and earlier releases logged responses. A message of a
thread gets the same id as from our plug-in for llm, so a message that the plug-in stored is not
imported twice.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from cortext.features.transfer.import_file import ImportedFile
from cortext.formats.llm_messages import KEY, records_of
from cortext.model.derived_ids import id_of
from cortext.model.ids import derived_id
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title

if TYPE_CHECKING:
    from sqlite3 import Connection, Row

THREADS = frozenset(("threads", "turns", "messages", "parts", "attachments", "fragments"))
RESPONSES = frozenset(("conversations", "responses"))
Json = dict[str, Any]


def is_of_llm(tables: set[str]) -> bool:
    return tables >= THREADS or tables >= RESPONSES


def read_llm(db: Connection, path: str, tables: set[str]) -> Iterator[ImportedFile]:
    """Yield the conversations in a database of llm, each with warnings for the user.

    `path` is the path of the database for messages, and `tables` are the names of its tables.
    """
    from sqlite3 import Row

    db.row_factory = Row
    done: set[str] = set()
    if tables >= THREADS:
        for thread in db.execute("SELECT id, name FROM threads ORDER BY id").fetchall():
            read = _read(db, path, thread, _of_thread)
            if read.session.messages or read.warnings:
                done.add(thread["id"])
                yield read
    if tables >= RESPONSES:
        for row in db.execute("SELECT id, name FROM conversations ORDER BY id").fetchall():
            # A conversation that the current release continued has all messages in its thread.
            if row["id"] not in done:
                yield _read(db, path, row, _Responses(tables).of)


def _read(
    db: Connection,
    path: str,
    row: Row,
    messages: Callable[[Connection, str, Session, list[str]], Iterator[SessionMessage]],
) -> ImportedFile:
    name, warnings = str(row["id"]), list[str]()
    session = Session(id_of(name), metadata={"framework": KEY, "session_id": name})
    session.messages = list(messages(db, name, session, warnings))
    if session.messages:
        times = [message.timestamp for message in session.messages]
        session.created_at, session.updated_at = min(times), max(times)
    session.title = generate_title(session, WHOLE)
    return ImportedFile(
        session, [f"{path}, conversation {name}: {warning}" for warning in warnings]
    )


def _of_thread(
    db: Connection, name: str, session: Session, warnings: list[str]
) -> Iterator[SessionMessage]:
    """Yield all messages of a thread in the order of its turns.

    Turns repeat the messages before them; each message is yielded once.
    """
    query = "SELECT * FROM turns WHERE thread_id = ? ORDER BY id"
    known: set[str] = set()
    for turn in db.execute(query, (name,)).fetchall():
        session.model = session.model or str(turn["model"] or "")
        new = _since(db, turn["tip_message_hash"], known)
        for row in reversed(new):
            known.add(row["hash"])
            fields = _fields(turn, is_last=row is new[0] and row["role"] == "assistant")
            try:
                yield from records_of(_item(db, row), row["hash"], **fields)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                warnings.append(f"message {row['hash']} is left out: {error}")


def _since(db: Connection, tip: str | None, known: set[str]) -> list[Row]:
    """Return the messages from `tip` back through its parents, up to a message in `known`."""
    rows: list[Row] = []
    query = "SELECT hash, parent_hash, role, provider_metadata FROM messages WHERE hash = ?"
    while tip is not None and tip not in known:
        row = db.execute(query, (tip,)).fetchone()
        if row is None:
            break
        rows.append(row)
        tip = row["parent_hash"]
    return rows


def _fields(turn: Row, *, is_last: bool) -> Json:
    fields: Json = {}
    if turn["datetime_utc"]:
        fields["timestamp"] = parse_time(turn["datetime_utc"])
    tokens = turn["output_tokens"] if "output_tokens" in turn.keys() else None  # noqa: SIM118
    if is_last and isinstance(tokens, int):
        fields["tokens"] = tokens
    return fields


def _item(db: Connection, row: Row) -> Json:
    query = "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position"
    parts = [_part(db, part) for part in db.execute(query, (row["hash"],)).fetchall()]
    item: Json = {"role": row["role"], "parts": parts}
    if row["provider_metadata"]:
        item["provider_metadata"] = json.loads(row["provider_metadata"])
    return item


def _part(db: Connection, row: Row) -> Json:
    """Return a part of a message as llm's JSON has it, with its fragments and attachments."""
    stored = cast("Json", json.loads(row["payload"])) if row["payload"] else {}
    part: Json = {"type": row["type"]}
    if row["text"] is not None:
        part["text"] = row["text"]
    if "text_ref" in stored:
        part["text"] = "".join(_piece(db, piece) for piece in stored.pop("text_ref"))
    part |= stored
    if row["type"] == "attachment" and "attachment" in stored:
        part["attachment"] = _attachment(db, stored["attachment"]["id"])
    if row["type"] == "tool_result" and stored.get("attachments"):
        part["attachments"] = [_attachment(db, each["id"]) for each in stored["attachments"]]
    return part


def _piece(db: Connection, piece: Json) -> str:
    if "literal" in piece:
        return piece["literal"]
    query = "SELECT content FROM fragments WHERE id = ?"
    row = db.execute(query, (piece["fragment"],)).fetchone()
    return str(row["content"]) if row else ""


def _attachment(db: Connection, id: str) -> Json:
    row = db.execute("SELECT * FROM attachments WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise LookupError(f"its attachment {id} is not there")
    found: Json = {name: row[name] for name in ("type", "url", "path") if row[name]}
    if row["content"]:
        found["content"] = b64encode(row["content"]).decode("ascii")
    return found


class _Responses:
    """A reader for the log of earlier releases of llm, which has a row for each response."""

    def __init__(self, tables: set[str]) -> None:
        self._tables = tables

    def of(
        self, db: Connection, name: str, session: Session, warnings: list[str]
    ) -> Iterator[SessionMessage]:
        query = "SELECT * FROM responses WHERE conversation_id = ? ORDER BY id"
        system = None
        for row in db.execute(query, (name,)).fetchall():
            session.model = session.model or str(row["model"] or "")
            try:
                items = list(self._items(db, row, system))
                system = row["system"] or system
                for number, item in enumerate(items):
                    id = derived_id(KEY, name, str(row["id"]), str(number))
                    is_last = item["role"] == "assistant"
                    yield from records_of(item, id, **_fields(row, is_last=is_last))
            except (ValueError, LookupError, TypeError) as error:
                warnings.append(f"response {row['id']} is left out: {error}")

    def _items(self, db: Connection, row: Row, system: str | None) -> Iterator[Json]:
        if row["system"] and row["system"] != system:
            yield {"role": "system", "parts": [{"type": "text", "text": row["system"]}]}
        results = [_tool(each, "output") for each in self._rows(db, "tool_results", row["id"])]
        if results:
            yield {"role": "tool", "parts": [{"type": "tool_result", **each} for each in results]}
        asked = self._asked(db, row)
        if asked:
            yield {"role": "user", "parts": asked}
        parts: list[Json] = []
        if row["response"]:
            parts.append({"type": "text", "text": row["response"]})
        for each in self._rows(db, "tool_calls", row["id"]):
            call = _tool(each, "arguments")
            call["arguments"] = json.loads(call["arguments"] or "{}")
            parts.append({"type": "tool_call", **call})
        if parts:
            yield {"role": "assistant", "parts": parts}

    def _asked(self, db: Connection, row: Row) -> list[Json]:
        texts: list[str] = []
        if "prompt_fragments" in self._tables:
            query = (
                "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id"
                ' WHERE p.response_id = ? ORDER BY p."order"'
            )
            texts += [str(found["content"]) for found in db.execute(query, (row["id"],))]
        text = "\n".join([*texts, *([row["prompt"]] if row["prompt"] else [])])
        asked: list[Json] = [{"type": "text", "text": text}] if text else []
        if "prompt_attachments" in self._tables:
            query = 'SELECT * FROM prompt_attachments WHERE response_id = ? ORDER BY "order"'
            for each in db.execute(query, (row["id"],)).fetchall():
                found = _attachment(db, each["attachment_id"])
                asked.append({"type": "attachment", "attachment": found})
        return asked

    def _rows(self, db: Connection, table: str, response: str) -> list[Row]:
        if table not in self._tables:
            return []  # a release without tools
        query = f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id"  # noqa: S608  our names
        return db.execute(query, (response,)).fetchall()


def _tool(row: Row, given: str) -> Json:
    found: Json = {"name": row["name"], given: row[given]}
    if row["tool_call_id"]:
        found["tool_call_id"] = row["tool_call_id"]
    return found
