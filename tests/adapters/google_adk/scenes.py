"""Agents whose model follows a script, for the tests and the processes that they start."""

import os
import signal
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

APP, USER = "shop", "ada"


class Script(BaseLlm):
    """A model that says these things, and remembers what it was sent."""

    model: str = "script"
    steps: list[Any]
    seen: list[list[types.Content]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.seen.append(list(llm_request.contents))
        step = self.steps.pop(0)
        part = types.Part(text=step) if isinstance(step, str) else step
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def speaker(service: Any, *steps: Any) -> tuple[Runner, Script]:
    """A runner whose model says these things: text, or calls."""
    script = Script(steps=list(steps), seen=[])
    tools = [
        FunctionTool(look_up),
        FunctionTool(crash),
        FunctionTool(pay, require_confirmation=True),
        LongRunningFunctionTool(ask_the_boss),
    ]
    agent = LlmAgent(name="clerk", model=script, tools=tools)
    return Runner(app_name=APP, agent=agent, session_service=service), script


def call(name: str, **arguments: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def answer(id: str | None, name: str | None, response: dict[str, Any]) -> types.Content:
    given = types.FunctionResponse(id=id, name=name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


async def run(runner: Runner, session: str, message: str | types.Content) -> list[Event]:
    if isinstance(message, str):
        message = types.Content(role="user", parts=[types.Part(text=message)])
    events = runner.run_async(user_id=USER, session_id=session, new_message=message)
    return [event async for event in events]


def last_text(events: list[Event]) -> str | None:
    content = events[-1].content
    return content.parts[0].text if content and content.parts else None


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


def ask_the_boss(question: str) -> dict[str, str]:
    """Ask the boss, who takes a while."""
    return {"status": "pending", "question": question}
