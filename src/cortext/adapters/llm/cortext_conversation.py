"""The public classes for conversations of the Python library `llm`, stored with cortext."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from cortext.adapters.llm.call_repair import repair_items
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

    `path_or_url` is the path or URL of the cortext store; None means the default folder. If `owner`
    is given, using a conversation of another owner raises SessionOwnerError, before anything is
    read or written.
    """

    def __init__(self, path_or_url: PathOrUrl = None, *, owner: str = "") -> None:
        self._log = LlmLog(path_or_url, owner)

    def conversation(self, id: str, model: Model, **fields: Any) -> CortextConversation:
        """Open the stored conversation with this id, or begin a new conversation with this id.

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
        """Open a conversation as `conversation` does, for an async model."""
        history = History(self._log, id)
        loaded = await beside(history.load)
        return CortextAsyncConversation(
            model=model, id=id, loaded_messages=loaded, history=history, **fields
        )

    def keep(self, response: Response | AsyncResponse) -> None:
        """Store a finished response, together with the earlier messages of its conversation.

        Use this method for a conversation that is not a `CortextConversation`. All messages are
        durable when the call returns.
        """
        self._log.keep(response)

    def messages(self, id: str) -> list[Message]:
        """Return the messages of a conversation exactly as they are stored.

        Missing tool results get no substitutes. The list is empty if there is no conversation with
        this id.
        """
        return _to_messages(self._log.read(id)[0])

    def conversations(
        self, *, owner: str | None = None, limit: int | None = None
    ) -> list[ConversationRow]:
        """Return at most `limit` conversations as rows for a list, the most recently used first.

        With `owner`, return only the conversations of this owner. Conversations that another
        framework began are included, because llm can continue them.
        """
        return self._log.kept.rows(owner, limit)

    def close(self) -> None:
        """Close the open files. The store can be used again afterwards."""
        self._log.kept.close()


class History:
    """The stored messages of one conversation, and its tool call that waits for the user."""

    def __init__(self, log: LlmLog, name: str) -> None:
        self._log = log
        self._name = name
        self._seen: Seen | None = None
        self._is_waiting = False

    def load(self) -> list[Message]:
        """Return the stored messages in a form that a model accepts.

        Each tool call without a result gets a substitute result.
        """
        return self._load(waits=False)

    def load_open(self) -> list[Message]:
        """Return the stored messages in a form that makes llm run the waiting tool calls.

        Therefore the calls of the last message get no substitute results. Raises ValueError if no
        call waits.
        """
        if self.waiting() is None:
            raise ValueError(f"no tool call is waiting in {self._name}")
        return self._load(waits=True)

    def repair(self) -> list[Message]:
        """Return the messages that this process knows, with substitutes for missing tool results.

        Call this method after a tool has stopped a chain (llm's loop of responses and tool calls).
        Nothing is read from the store.
        """
        known, last = self._seen or Seen()
        messages = _to_messages(repair_items([cast("Any", message.to_dict()) for message in known]))
        self._seen = Seen(messages, last)
        return list(messages)

    mend = repair
    """The old name of `repair`, from version 0.1.0."""

    def keep(self, response: Response | AsyncResponse) -> None:
        self._seen = self._log.keep(response, self._seen)
        if self._is_waiting:
            self._log.set_pending(self._name, None)
            self._is_waiting = False

    def wait(self, pause: PauseChain) -> None:
        """Record that a tool call waits for a decision of the user.

        `pause` is the exception with which the tool stopped the chain (llm's loop of responses and
        tool calls). The results of the other calls of the same response are stored too.
        """
        call = pause.tool_call
        if call is None:
            raise ValueError(
                "no tool call is waiting; llm reports one when a tool raises PauseChain"
            )
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
        call_data: dict[str, Any] = {"name": call.name, "arguments": given, "id": call.tool_call_id}
        self._log.set_pending(self._name, call_data)
        self._is_waiting = True

    def waiting(self) -> ToolCall | None:
        """Return the tool call that waits for a decision of the user, or None if no call waits."""
        found = self._log.pending(self._name)
        self._is_waiting = found is not None
        if found is None:
            return None
        return ToolCall(found["name"], found["arguments"], found["id"])

    def _load(self, *, waits: bool) -> list[Message]:
        self._is_waiting = self._log.pending(self._name) is not None
        items, last = self._log.read(self._name)
        messages = _to_messages(repair_items(items, waits=waits))
        self._seen = Seen(messages, last)
        return list(messages)


@dataclass
class _StoredConversation(_BaseConversation):
    history: History | None = None

    @property
    def _history(self) -> History:
        if self.history is None:
            raise ValueError("use CortextLog to create this conversation")
        return self.history

    def _build_full_chain(self, *args: Any, **kwargs: Any) -> list[Any]:
        last = self.responses[-1] if self.responses else None
        given = kwargs.get("explicit_messages") or kwargs.get("tool_results")
        if last is not None and not given and cast("Any", last).tool_calls_or_raise():
            # A tool stopped the chain, so its call has no result. Providers refuse such a history.
            self.loaded_messages: list[Any] | None = self._history.repair()
        return cast("Any", super())._build_full_chain(*args, **kwargs)


@dataclass
class CortextConversation(_StoredConversation, Conversation):
    """A conversation of llm that cortext stores.

    A response is stored durably before llm runs the tool calls in it, and before the caller has
    finished reading the response.
    """

    def wait(self, pause: PauseChain) -> None:
        """Record that a tool call waits for a decision of the user.

        `pause` is the exception with which the tool stopped the chain (llm's loop of responses and
        tool calls). Any process can then continue the chain with `go_on`.
        """
        self._history.wait(pause)

    def waiting(self) -> ToolCall | None:
        """Return the tool call that waits for a decision of the user, or None if no call waits."""
        return self._history.waiting()

    def go_on(self, **options: Any) -> ChainResponse:
        """Run the waiting tool calls, and continue the chain with their results.

        `options` are the options of llm's method `chain`. Raises ValueError if no call waits. An
        interrupted call does not wait, so it is never repeated automatically.
        """
        return cast("Any", self).chain(messages=self._history.load_open(), **options)

    def _record_response(self, response: Any) -> None:
        super()._record_response(response)
        response.done_callbacks.insert(0, self._history.keep)


@dataclass
class CortextAsyncConversation(_StoredConversation, AsyncConversation):
    """A `CortextConversation` for async models."""

    async def wait(self, pause: PauseChain) -> None:
        """Record that a tool call waits for a decision of the user.

        `pause` is the exception with which the tool stopped the chain (llm's loop of responses and
        tool calls). Any process can then continue the chain with `go_on`.
        """
        await beside(self._history.wait, pause)

    async def waiting(self) -> ToolCall | None:
        """Return the tool call that waits for a decision of the user, or None if no call waits."""
        return await beside(self._history.waiting)

    async def go_on(self, **options: Any) -> AsyncChainResponse:
        """Run the waiting tool calls, and continue the chain with their results.

        `options` are the options of llm's method `chain`. Raises ValueError if no call waits. An
        interrupted call does not wait, so it is never repeated automatically.
        """
        messages = await beside(self._history.load_open)
        return cast("Any", self).chain(messages=messages, **options)

    def _record_response(self, response: Any) -> None:
        super()._record_response(response)

        async def keep(done: AsyncResponse) -> None:
            await beside(self._history.keep, done)

        response.done_callbacks.insert(0, keep)


def _to_messages(items: list[dict[str, Any]]) -> list[Message]:
    return [Message.from_dict(item) for item in items]  # pyright: ignore[reportArgumentType]
