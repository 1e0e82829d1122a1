"""Storage for the messages of `llm`: one cortext session for each llm conversation.

The id of a stored message is llm's own hash of the message and of all messages before it. Therefore
every process recognizes messages that are stored already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import PathOrUrl, SessionLog, id_of, log
from cortext.errors import SessionNotFoundError
from cortext.formats.llm_package_messages import KEY, items_of, records_of
from cortext.model.ids import derived_id
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.log import LogStore

with needs("llm"):
    from llm.logs import message_hash
    from llm.parts import Message

if TYPE_CHECKING:
    from llm.models import (
        _BaseResponse as Response,  # pyright: ignore[reportPrivateUsage]
    )

_FIRST_TAIL = 32
"""The number of records at the end of a session in which stored messages are searched first."""


class Seen(NamedTuple):
    """The messages of a conversation that are already stored, oldest first.

    `tip` is the id of the last stored message, or None if no message is stored.
    """

    messages: Sequence[Message] = ()
    tip: str | None = None


class LlmLog:
    """The stored conversations of `llm`. The methods block while they wait for the disk.

    In all methods, `name` is llm's id of a conversation. If `owner` is given, the methods raise
    SessionOwnerError for a conversation of another owner.
    """

    def __init__(self, path_or_url: PathOrUrl, owner: str = "") -> None:
        self.kept: SessionLog = SessionLog(path_or_url, KEY)
        self.owner = owner

    def keep(
        self, response: Response, seen: Seen | None = None, head: Mapping[str, Any] | None = None
    ) -> Seen:
        """Store the new messages of a finished response, and return all messages stored so far.

        The messages are durable when the call returns. `seen` is the result of the last call for
        this conversation, or None. If the conversation has no session yet, the session is created
        with the fields in `head`, such as the title.
        """
        conversation = response.conversation
        name = conversation.id if conversation is not None else response.id
        answer = response._messages_now()  # pyright: ignore[reportPrivateUsage]
        chain = [*response.prompt.messages, *answer]
        fields = {"model": response.model.model_id, **(head or {})}
        return self.keep_chain(name, chain, seen, fields, response.output_tokens)

    def keep_chain(
        self,
        name: str,
        chain: Sequence[Message],
        seen: Seen | None = None,
        head: Mapping[str, Any] | None = None,
        tokens: int | None = None,
    ) -> Seen:
        """Store the new messages of a conversation durably, and return all messages stored so far.

        `chain` holds all messages of the conversation, oldest first. `seen` is the result of the
        last call for this conversation, or None. The messages in `seen` are not looked up in the
        store again. If the conversation has no session yet, the session is created with the fields
        in `head`. `tokens` is the token count of the last message.
        """
        id = self._id(name)
        if seen is not None and list(chain[: len(seen.messages)]) == list(seen.messages):
            begin = len(seen.messages)
            hashes = _hashes(chain[begin:], seen.tip)
            tip = hashes[-1] if hashes else seen.tip
        else:
            hashes = _hashes(chain)
            tip = hashes[-1] if hashes else None
            begin = self._count_stored(id, hashes)
            hashes = hashes[begin:]
        records: list[SessionMessage] = []
        for message, hash in zip(chain[begin:], hashes, strict=True):
            is_last = message is chain[-1] and message.role == "assistant"
            fields = {"tokens": tokens} if is_last and tokens is not None else {}
            records += records_of(message.to_dict(), hash, **fields)
        if records:

            def make() -> Session:
                return self._new_session(name, records, head or {})

            self.kept.append(id, records, make, owner=self.owner)
        return Seen(chain, tip)

    def read(self, name: str) -> tuple[list[dict[str, Any]], str | None]:
        """Return the stored messages of a conversation as dicts, and the id of its last record.

        Missing tool results get no substitutes. Returns an empty list and None if there is no
        conversation.
        """
        try:
            session, damages = self.kept.store.read(self._id(name))
        except SessionNotFoundError:
            return [], None
        for damage in damages:
            log.warning("%s, line %s: %s", damage.path, damage.line, damage.detail)
        items = items_of(session.messages)
        if not isinstance(self.kept.store, LogStore):
            items = json_copy(items, "messages")  # only a log store creates new objects
        return items, session.messages[-1].id if session.messages else None

    def pending(self, name: str) -> dict[str, Any] | None:
        """Return the tool call that waits for a decision of the user, or None if no call waits.

        `name` is llm's id of the conversation. The call is a dict with `name`, `arguments` and
        `id`.
        """
        try:
            head = self.kept.head(self._id(name))
        except SessionNotFoundError:
            return None
        pending: Any = head.pending
        if not isinstance(pending, dict):
            return None
        found = cast("dict[str, Any]", pending)
        call = found.get("tool_call")
        return cast("dict[str, Any]", call) if found.get("framework") == KEY and call else None

    def set_pending(self, name: str, call: dict[str, Any] | None) -> None:
        pending = None if call is None else {"framework": KEY, "tool_call": call}
        self.kept.amend(self._id(name), pending=pending)

    def _id(self, name: str) -> str:
        id = id_of(name)
        self.kept.check_owner(id, self.owner, name)
        return id

    def _count_stored(self, id: str, hashes: Sequence[str]) -> int:
        """Return how many of the first messages of a conversation are stored already.

        `id` is the id of the session. `hashes` are the ids of all messages of the conversation,
        oldest first.
        """
        count = _FIRST_TAIL
        while True:
            records = self.kept.tail(id, count)
            stored = {record.id for record in records}
            for number in range(len(hashes), 0, -1):
                if hashes[number - 1] in stored:
                    return number
            if len(records) < count:
                return 0
            count *= 4

    def _new_session(
        self, name: str, records: Sequence[SessionMessage], head: Mapping[str, Any]
    ) -> Session:
        session = self.kept.new_session(
            id_of(name), owner=self.owner, metadata={"session_id": name}, **head
        )
        has_prompt = any(record.role == "user" and record.content.strip() for record in records)
        if has_prompt and not session.title:
            session.title = generate_title(Session(messages=list(records)), WHOLE)
        return session


def _hashes(messages: Sequence[Message], parent: str | None = None) -> list[str]:
    hashes: list[str] = []
    for message in messages:
        try:
            parent = message_hash(message, parent)
        except Exception:  # noqa: BLE001  llm may fetch the URL of an attachment
            # llm cannot hash text with a lone surrogate, or an attachment that it cannot download.
            parent = derived_id(KEY, parent or "", json.dumps(message.to_dict()))
        hashes.append(parent)
    return hashes
