"""Graphs with a chat model that says what it is told to, and refuses what real ones refuse."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from pydantic import Field

from cortext.adapters.langgraph import CortextSaver, MessagesState


class Model(BaseChatModel):
    """Says its lines one after the other, then how many messages it was shown."""

    lines: list[Any] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any
    ) -> ChatResult:
        refuse_open_calls(messages)
        self.seen.append(list(messages))
        line = self.lines.pop(0) if self.lines else f"I was shown {len(messages)}"
        said = AIMessage(line) if isinstance(line, str) else line
        return ChatResult(generations=[ChatGeneration(message=said)])


def refuse_open_calls(messages: Sequence[BaseMessage]) -> None:
    """As the providers of models do: each call is followed by exactly one result."""
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_calls, f"no call for {message!r}"
            open_calls.discard(message.tool_call_id)
        else:
            assert not open_calls, f"no result for {open_calls}"
        if isinstance(message, AIMessage):
            open_calls.update(call["id"] for call in message.tool_calls)
    assert not open_calls, f"no result for {open_calls}"


def call(name: str, id: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "id": id, "args": arguments}])


@tool
def look_up(key: str) -> str:
    """Find something."""
    return f"{key} is 42"


@tool
def crash(key: str) -> str:
    """Take the process down, once."""
    if os.environ.get("CRASH"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{key} is mended"


@tool
def pay(amount: int) -> str:
    """Pay, if a person agrees."""
    return f"paid {amount}" if interrupt({"pay": amount}) == "yes" else "refused"


def agent(saver: CortextSaver, model: Model, state: Any = MessagesState) -> Any:
    """A model with tools, in a loop."""
    builder: Any = StateGraph(state)
    builder.add_node("model", lambda given: {"messages": [model.invoke(given["messages"])]})
    builder.add_node("tools", ToolNode([look_up, crash, pay]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def on(thread: str, **given: Any) -> Any:
    return {"configurable": {"thread_id": thread, **given}}


def texts(messages: Sequence[Any]) -> list[str]:
    return [str(message.content) for message in messages]
