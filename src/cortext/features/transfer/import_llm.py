"""Import conversations from the SQLite log of the command-line tool `llm`.

The current release of llm logs threads, and earlier releases logged single responses. Our plug-in
for llm also stores the messages of threads. An import gives a message the same id as the plug-in
does, so no message is stored twice.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from cortext.features.transfer.import_exported_file import ImportedFile
from cortext.formats.llm_package_messages import KEY, records_of
from cortext.model.framework_key_ids import id_of
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

    The warnings name the database by its `path`. `tables` are the names of its tables.
    """
    from sqlite3 import Row

    db.row_factory = Row
    done: set[str] = set()
    if tables >= THREADS:
        for thread in db.execute("SELECT id, name FROM threads ORDER BY id").fetchall():
            read = _read_conversation(db, path, thread, _read_thread)
            if read.session.messages or read.warnings:
                done.add(thread["id"])
                yield read
    if tables >= RESPONSES:
        for row in db.execute("SELECT id, name FROM conversations ORDER BY id").fetchall():
            # A conversation that the current release continued has all messages in its thread.
            if row["id"] not in done:
                yield _read_conversation(db, path, row, _Responses(tables).messages)


def _read_conversation(
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


def _read_thread(
    db: Connection, name: str, session: Session, warnings: list[str]
) -> Iterator[SessionMessage]:
    """Yield all messages of a thread in the order of its turns.

    In the database, each turn repeats the messages of the turns before it. Each message is yielded
    only once.
    """
    query = "SELECT * FROM turns WHERE thread_id = ? ORDER BY id"
    known: set[str] = set()
    for turn in db.execute(query, (name,)).fetchall():
        session.model = session.model or str(turn["model"] or "")
        new = _read_back(db, turn["tip_message_hash"], known)
        for row in reversed(new):
            known.add(row["hash"])
            fields = _time_and_tokens(turn, is_last=row is new[0] and row["role"] == "assistant")
            try:
                yield from records_of(_message_item(db, row), row["hash"], **fields)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                warnings.append(f"message {row['hash']} was not imported: {error}")


def _read_back(db: Connection, tip: str | None, known: set[str]) -> list[Row]:
    """Return the message with the id `tip` and the messages before it, the newest first.

    Stop before a message whose id is in `known`, because the caller has already read it.
    """
    rows: list[Row] = []
    query = "SELECT hash, parent_hash, role, provider_metadata FROM messages WHERE hash = ?"
    while tip is not None and tip not in known:
        row = db.execute(query, (tip,)).fetchone()
        if row is None:
            break
        rows.append(row)
        tip = row["parent_hash"]
    return rows


def _time_and_tokens(turn: Row, *, is_last: bool) -> Json:
    fields: Json = {}
    if turn["datetime_utc"]:
        fields["timestamp"] = parse_time(turn["datetime_utc"])
    tokens = turn["output_tokens"] if "output_tokens" in turn.keys() else None  # noqa: SIM118
    if is_last and isinstance(tokens, int):
        fields["tokens"] = tokens
    return fields


def _message_item(db: Connection, row: Row) -> Json:
    query = "SELECT type, text, payload FROM parts WHERE message_hash = ? ORDER BY position"
    parts = [_part(db, part) for part in db.execute(query, (row["hash"],)).fetchall()]
    item: Json = {"role": row["role"], "parts": parts}
    if row["provider_metadata"]:
        item["provider_metadata"] = json.loads(row["provider_metadata"])
    return item


def _part(db: Connection, row: Row) -> Json:
    """Return a part of a message in llm's JSON format, with its fragments and attachments."""
    stored = cast("Json", json.loads(row["payload"])) if row["payload"] else {}
    part: Json = {"type": row["type"]}
    if row["text"] is not None:
        part["text"] = row["text"]
    if "text_ref" in stored:
        part["text"] = "".join(_fragment_text(db, piece) for piece in stored.pop("text_ref"))
    part |= stored
    if row["type"] == "attachment" and "attachment" in stored:
        part["attachment"] = _attachment(db, stored["attachment"]["id"])
    if row["type"] == "tool_result" and stored.get("attachments"):
        part["attachments"] = [_attachment(db, each["id"]) for each in stored["attachments"]]
    return part


def _fragment_text(db: Connection, piece: Json) -> str:
    if "literal" in piece:
        return piece["literal"]
    query = "SELECT content FROM fragments WHERE id = ?"
    row = db.execute(query, (piece["fragment"],)).fetchone()
    return str(row["content"]) if row else ""


def _attachment(db: Connection, id: str) -> Json:
    row = db.execute("SELECT * FROM attachments WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise LookupError(f"its attachment {id} is missing")
    found: Json = {name: row[name] for name in ("type", "url", "path") if row[name]}
    if row["content"]:
        found["content"] = b64encode(row["content"]).decode("ascii")
    return found


class _Responses:
    """Reads the log of earlier releases of llm, which has a row for each response of a model."""

    def __init__(self, tables: set[str]) -> None:
        self._tables = tables

    def messages(
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
                    yield from records_of(item, id, **_time_and_tokens(row, is_last=is_last))
            except (ValueError, LookupError, TypeError) as error:
                warnings.append(f"response {row['id']} was not imported: {error}")

    def _items(self, db: Connection, row: Row, system: str | None) -> Iterator[Json]:
        if row["system"] and row["system"] != system:
            yield {"role": "system", "parts": [{"type": "text", "text": row["system"]}]}
        results = [
            _tool_fields(each, "output")
            for each in self._rows_of_response(db, "tool_results", row["id"])
        ]
        if results:
            yield {"role": "tool", "parts": [{"type": "tool_result", **each} for each in results]}
        request = self._request_parts(db, row)
        if request:
            yield {"role": "user", "parts": request}
        parts: list[Json] = []
        if row["response"]:
            parts.append({"type": "text", "text": row["response"]})
        for each in self._rows_of_response(db, "tool_calls", row["id"]):
            call = _tool_fields(each, "arguments")
            call["arguments"] = json.loads(call["arguments"] or "{}")
            parts.append({"type": "tool_call", **call})
        if parts:
            yield {"role": "assistant", "parts": parts}

    def _request_parts(self, db: Connection, row: Row) -> list[Json]:
        texts: list[str] = []
        if "prompt_fragments" in self._tables:
            query = (
                "SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id"
                ' WHERE p.response_id = ? ORDER BY p."order"'
            )
            texts += [str(found["content"]) for found in db.execute(query, (row["id"],))]
        text = "\n".join([*texts, *([row["prompt"]] if row["prompt"] else [])])
        parts: list[Json] = [{"type": "text", "text": text}] if text else []
        if "prompt_attachments" in self._tables:
            query = 'SELECT * FROM prompt_attachments WHERE response_id = ? ORDER BY "order"'
            for each in db.execute(query, (row["id"],)).fetchall():
                found = _attachment(db, each["attachment_id"])
                parts.append({"type": "attachment", "attachment": found})
        return parts

    def _rows_of_response(self, db: Connection, table: str, response: str) -> list[Row]:
        if table not in self._tables:
            return []  # a release without tools
        query = f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id"  # noqa: S608  our table names
        return db.execute(query, (response,)).fetchall()


def _tool_fields(row: Row, field: str) -> Json:
    fields: Json = {"name": row["name"], field: row[field]}
    if row["tool_call_id"]:
        fields["tool_call_id"] = row["tool_call_id"]
    return fields
