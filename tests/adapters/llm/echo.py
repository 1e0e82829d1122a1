"""A plug-in of llm with a model that needs no network.

It repeats what it is told; `recall` has it give all that it was sent, as JSON; `call NAME {...}`
has it call tools, several with `;` between them.
"""

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import llm


def _answer(prompt: Any, response: Any) -> Iterator[str]:
    last = prompt.messages[-1]
    text = "\n".join(getattr(part, "text", "") for part in last.parts)
    if text.startswith("call "):
        for number, one in enumerate(text.split(";")):
            _, name, arguments = one.strip().split(" ", 2)
            id = f"c{len(prompt.messages)}-{number}"
            response.add_tool_call(llm.ToolCall(name, json.loads(arguments), id))
    elif last.role == "tool":
        yield "got " + ", ".join(part.output for part in last.parts)
    elif text == "recall":
        yield json.dumps([message.to_dict() for message in prompt.messages])
    else:
        response.set_usage(input=3, output=2)
        yield "echo: "
        yield text


class Echo(llm.Model):
    model_id = "echo"
    supports_tools = True
    attachment_types = frozenset({"image/png", "text/plain"})

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any = None
    ) -> Iterator[str]:
        yield from _answer(prompt, response)


class Mute(Echo):
    """One that remembers nothing."""

    model_id = "mute"
    supports_conversation = False


class AsyncEcho(llm.AsyncModel):
    model_id = "echo"
    supports_tools = True

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any = None
    ) -> AsyncGenerator[str]:
        for chunk in _answer(prompt, response):
            yield chunk


@llm.hookimpl
def register_models(register: Any) -> None:
    register(Echo(), AsyncEcho())
    register(Mute())


@llm.hookimpl
def register_tools(register: Any) -> None:
    def look_up(key: str) -> str:
        """Look something up."""
        return f"found {key}"

    register(look_up)
