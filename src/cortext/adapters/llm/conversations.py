"""Conversations of the Python library `llm`, stored by cortext."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from cortext.adapters.llm.call_repair import mended
from cortext.adapters.llm.llm_log import LlmLog, Seen
from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import PathOrUrl, SessionLogRow, beside

with needs("llm"):
    from llm import AsyncConversation, AsyncResponse, Conversation, Response, ToolCall
    from llm.models import (
        AsyncChainResponse,
        AsyncModel,
        ChainResponse,
        Model,
        PauseChain,
        _BaseConversation,  # pyright: ignore[reportPrivateUsage]
    )
    from llm.parts import Message, ToolResultPart

__all__ = [
    "ConversationRow",
    "CortextAsyncConversation",
    "CortextConversation",
    "CortextLog",
    "History",
]

ConversationRow = SessionLogRow


class CortextLog:
    """A store of llm conversations. Several processes may write to one conversation at once.

    With `owner`, a conversation of another owner raises SessionOwnerError before anything is read
    or written.
    """

    def __init__(self, path_or_url: PathOrUrl = None, *, owner: str = "") -> None:
        self._log = LlmLog(path_or_url, owner)

    def conversation(self, id: str, model: Model, **fields: Any) -> CortextConversation:
        """Return the conversation with this id to continue, or a new conversation.

        `fields` are fields of llm's own `Conversation`, such as `tools`.
        """
        history = History(self._log, id)
        loaded = history.load()
        return CortextConversation(
            model=model, id=id, loaded_messages=loaded, history=history, **fields
        )

    async def async_conversation(
        self, id: str, model: AsyncModel, **fields: Any
    ) -> CortextAsyncConversation:
        """Return what `conversation` returns, for an async model."""
        history = History(self._log, id)
        loaded = await beside(history.load)
        return CortextAsyncConversation(
            model=model, id=id, loaded_messages=loaded, history=history, **fields
        )

    def keep(self, response: Response | AsyncResponse) -> None:
        """Store a finished response that belongs to no `CortextConversation`.

        All messages before it are stored too. They are durable when the call returns.
        """
        self._log.keep(response)

    def messages(self, id: str) -> list[Message]:
        """Return the messages of a conversation unchanged. The list is empty if there is none."""
        return _messages(self._log.read(id)[0])

    def conversations(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> list[ConversationRow]:
        """Return the conversations of one owner or of all, the most recently used first.

        At most `limit` are returned. Conversations that another framework began are included: llm
        can continue them.
        """
        return self._log.kept.rows(owner, limit)

    def close(self) -> None:
        """Close the open files. The store can be used again afterwards."""
        self._log.kept.close()


class History:
    """The stored messages of one conversation."""

    def __init__(self, log: LlmLog, name: str) -> None:
        self._log = log
        self._name = name
        self._seen: Seen | None = None
        self._waits = False

    def load(self) -> list[Message]:
        """Return the messages to continue from. A sentence replaces each result that is missing."""
        return self._load(waits=False)

    def load_open(self) -> list[Message]:
        """Return the messages, with the waiting calls at their end and without results for them.

        Raises ValueError if no call waits.
        """
        if self.waiting() is None:
            raise ValueError(f"no call waits in {self._name}")
        return self._load(waits=True)

    def mend(self) -> list[Message]:
        """Return the messages of this process to continue from, after a call was interrupted."""
        said, last = self._seen or Seen()
        messages = _messages(mended([cast("Any", message.to_dict()) for message in said]))
        self._seen = Seen(messages, last)
        return list(messages)

    def keep(self, response: Response | AsyncResponse) -> None:
        self._seen = self._log.keep(response, self._seen)
        if self._waits:
            self._log.set_pending(self._name, None)
            self._waits = False

    def wait(self, pause: PauseChain) -> None:
        """Store the call that waits for a decision, and the results of the calls made with it."""
        call = pause.tool_call
        if call is None:
            raise ValueError("no call waits: llm names it when a tool raises PauseChain")
        parts = [
            ToolResultPart(
                result.name,
                result.output,
                result.tool_call_id,
                attachments=list(result.attachments),
                exception=result.exception
                and f"{type(result.exception).__name__}: {result.exception}",
            )
            for result in pause.tool_results
        ]
        if parts and self._seen:
            chain = [*self._seen.messages, Message("tool", list(parts))]
            self._seen = self._log.keep_chain(self._name, chain, self._seen)
        given: dict[str, Any] = cast("Any", call).arguments
        about: dict[str, Any] = {"name": call.name, "arguments": given, "id": call.tool_call_id}
        self._log.set_pending(self._name, about)
        self._waits = True

    def waiting(self) -> ToolCall | None:
        """Return the call that waits for an approval, or None."""
        found = self._log.pending(self._name)
        self._waits = found is not None
        if found is None:
            return None
        return ToolCall(found["name"], found["arguments"], found["id"])

    def _load(self, *, waits: bool) -> list[Message]:
        self._waits = self._log.pending(self._name) is not None
        items, last = self._log.read(self._name)
        messages = _messages(mended(items, waits=waits))
        self._seen = Seen(messages, last)
        return list(messages)


@dataclass
class _KeptConversation(_BaseConversation):
    history: History | None = None

    @property
    def _history(self) -> History:
        if self.history is None:
            raise ValueError("a conversation of ours is made by a CortextLog")
        return self.history

    def _build_full_chain(self, *args: Any, **kwargs: Any) -> list[Any]:
        last = self.responses[-1] if self.responses else None
        given = kwargs.get("explicit_messages") or kwargs.get("tool_results")
        if last is not None and not given and cast("Any", last).tool_calls_or_raise():
            # A tool stopped the chain before, and no provider accepts a call without a result.
            self.loaded_messages: list[Any] | None = self._history.mend()
        return cast("Any", super())._build_full_chain(*args, **kwargs)


@dataclass
class CortextConversation(_KeptConversation, Conversation):
    """A conversation of llm that cortext stores.

    Each response is durable before llm runs its tool calls, and before its reader gets the end of
    it.
    """

    def wait(self, pause: PauseChain) -> None:
        """Store a chain that a tool stopped for a decision. Any process can continue it."""
        self._history.wait(pause)

    def waiting(self) -> ToolCall | None:
        """Return the call that waits for a decision, or None."""
        return self._history.waiting()

    def go_on(self, **options: Any) -> ChainResponse:
        """Run the waiting calls and continue with their results.

        `options` are the options of `chain`. Raises ValueError if no call waits: an interrupted
        call is not repeated automatically.
        """
        return cast("Any", self).chain(messages=self._history.load_open(), **options)

    def _record_response(self, response: Any) -> None:
        super()._record_response(response)
        response.done_callbacks.insert(0, self._history.keep)


@dataclass
class CortextAsyncConversation(_KeptConversation, AsyncConversation):
    """A `CortextConversation` for async models."""

    async def wait(self, pause: PauseChain) -> None:
        """Store a chain that a tool stopped for a decision. Any process can continue it."""
        await beside(self._history.wait, pause)

    async def waiting(self) -> ToolCall | None:
        """Return the call that waits for a decision, or None."""
        return await beside(self._history.waiting)

    async def go_on(self, **options: Any) -> AsyncChainResponse:
        """Run the waiting calls and continue with their results.

        `options` are the options of `chain`. Raises ValueError if no call waits: an interrupted
        call is not repeated automatically.
        """
        messages = await beside(self._history.load_open)
        return cast("Any", self).chain(messages=messages, **options)

    def _record_response(self, response: Any) -> None:
        super()._record_response(response)

        async def keep(done: AsyncResponse) -> None:
            await beside(self._history.keep, done)

        response.done_callbacks.insert(0, keep)


def _messages(items: list[dict[str, Any]]) -> list[Message]:
    return [Message.from_dict(item) for item in items]  # pyright: ignore[reportArgumentType]
