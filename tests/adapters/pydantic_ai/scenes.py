"""Agents whose model follows a script, for the tests and the processes that they start."""

import os
import signal
from collections.abc import Iterator
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


class Script:
    """A model that says these things, and remembers what it was sent."""

    def __init__(self, *steps: Any) -> None:
        self._steps: Iterator[Any] = iter(steps)
        self.seen: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(list(messages))
        step = next(self._steps)
        return ModelResponse([TextPart(step) if isinstance(step, str) else step])


def speaker(*steps: Any) -> tuple[Agent[None, Any], Script]:
    script = Script(*steps)
    output: Any = [str, DeferredToolRequests]
    agent: Agent[None, Any] = Agent(FunctionModel(script), output_type=output)
    agent.tool_plain(look_up)
    agent.tool_plain(crash)
    agent.tool_plain(requires_approval=True)(pay)
    return agent, script


def call(name: str, id: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(name, arguments, id)


def look_up(key: str) -> str:
    """Look something up."""
    return f"found {key}"


def crash(key: str) -> str:
    """The power goes."""
    os.kill(os.getpid(), signal.SIGKILL)
    return key


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"
