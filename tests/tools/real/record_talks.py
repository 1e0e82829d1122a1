"""Has the conversations of `tests/model/conversations` in the real tools, five in each, and keeps
what our readers make of the transcripts.

    python -m tests.tools.real.record_talks [NUMBER...]

Writes `tests/model/recorded/NAME.json`: the messages as they were captured. A system prompt is the
tool's own; a turn without an answer gets a short one, since no model leaves a person waiting.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from cortext.tools.registry import open_bridge
from tests.tools.real.four_tools import FOUR
from tests.tools.real.launch import Tool
from tests.tools.real.record import READ, repository, say
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call, Reply

MODEL = Path(__file__).parents[2] / "model"
WRAPPED = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
COMMAND = re.compile(r"\A/[\w.-]+\s*")


def turns(name: str, tool: Tool) -> list[tuple[str, list[Reply]]]:
    """What is asked and answered, a real tool call where the conversation has one."""
    records = json.loads((MODEL / f"conversations/{name}.json").read_text(encoding="utf-8"))
    call = READ[tool.name]
    given = {key: value.format(project=tool.project) for key, value in call.input.items()}
    asked: list[tuple[str, list[Reply]]] = []
    for record in records:
        role, text = record["role"], record["content"]
        if role == "user" and not text.startswith("<system-reminder>"):
            wrapped = WRAPPED.search(text)
            asked.append(
                (wrapped[1] if wrapped else COMMAND.sub("", text) if text[0] == "/" else text, [])
            )
        elif role == "tool" and asked:
            asked[-1][1].append(Call(call.name, given))
        elif role == "assistant" and text and asked:
            asked[-1][1].append(text)
    return [(prompt, whole(replies)) for prompt, replies in asked if prompt]


def whole(replies: list[Reply]) -> list[Reply]:
    """One reply of the model for each request: calls, and in the end all that is said."""
    texts = [reply for reply in replies if isinstance(reply, str)]
    calls = [reply for reply in replies if isinstance(reply, Call)]
    return [*calls, "\n\n".join(texts) or "Noted."]


def record(name: str, tool: Tool, stub: Stub) -> list[dict[str, str]]:
    repository(tool.project)
    for number, (prompt, replies) in enumerate(turns(name, tool)):
        say(tool, stub, prompt, replies, tool.sessions()[-1] if number else "")
    (id,) = tool.sessions()
    bridge = open_bridge(tool.name, str(tool.store))
    source = next(source for source in bridge.sources() if source.id == id)
    messages = bridge.decode(source).session.messages
    return [
        {"role": message.role, "content": message.content.replace(str(tool.root), "/root-of-test")}
        for message in messages
    ]


if __name__ == "__main__":
    names = sorted(path.stem for path in (MODEL / "conversations").glob("[0-9]*.json"))
    for number, name in enumerate(names):
        if sys.argv[1:] and name[:2] not in sys.argv[1:]:
            continue
        tool_name = [*FOUR][number % 4]
        with tempfile.TemporaryDirectory(prefix="cortext-record-") as folder, Stub() as stub:
            found = record(name, FOUR[tool_name](Path(folder), stub.url), stub)
        target = MODEL / f"recorded/{name}.json"
        target.parent.mkdir(exist_ok=True)
        text = json.dumps({"tool": tool_name, "messages": found}, ensure_ascii=False, indent=1)
        target.write_text(text + "\n", encoding="utf-8")
        print(name, tool_name, len(found), flush=True)
