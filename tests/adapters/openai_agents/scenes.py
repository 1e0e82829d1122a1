"""Agents whose model follows a script, for the tests and the processes that they start."""

import json
import os
import signal
from typing import Any

from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call


def speaker(*steps: Any, **fields: Any) -> tuple[Agent[Any], ScriptedModel]:
    """An agent whose model says these things: text, or lists of output items."""
    model = ScriptedModel(
        [[assistant_message(step)] if isinstance(step, str) else step for step in steps]
    )
    return Agent(name="Clerk", model=model, **fields), model


def call(name: str, call_id: str, **arguments: Any) -> Any:
    return function_call(name, arguments, call_id=call_id)


@function_tool
def look_up(key: str) -> str:
    """Look something up."""
    return f"found {key}"


@function_tool
def crash(key: str) -> str:
    """The power goes."""
    os.kill(os.getpid(), signal.SIGKILL)
    return key


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def dumped(items: Any) -> list[str]:
    return [json.dumps(item) for item in items]
