"""What a request told the model: its messages as (role, text), whichever API it speaks."""

import json
from typing import Any

USER, ASSISTANT, CALL, RESULT = "user", "assistant", "call", "result"


def spoken(body: dict[str, Any]) -> list[tuple[str, str]]:
    """In order: user and assistant texts, tool calls (name and input) and tool results."""
    if "contents" in body:
        return [said for content in body["contents"] for said in _gemini(content)]
    if "input" in body:
        return [said for item in body["input"] for said in _responses(item)]
    return [said for message in body.get("messages", ()) for said in _message(message)]


def of_role(role: str, body: dict[str, Any]) -> list[str]:
    return [text for who, text in spoken(body) if who == role]


def _message(message: dict[str, Any]) -> list[tuple[str, str]]:
    """Anthropic Messages and OpenAI chat completions."""
    role, content = message["role"], message.get("content") or []
    if role == "tool":
        return [(RESULT, _text(content))]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    found: list[tuple[str, str]] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                found.append((role, block["text"]))
            case "tool_use":
                found.append((CALL, _call(block["name"], block["input"])))
            case "tool_result":
                found.append((RESULT, _text(block.get("content") or "")))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        found.append((CALL, _call(function["name"], json.loads(function["arguments"]))))
    return found


def _responses(item: dict[str, Any]) -> list[tuple[str, str]]:
    match item.get("type", "message"):
        case "message":
            return [(item["role"], _text(item["content"]))]
        case "function_call":
            return [(CALL, _call(item["name"], json.loads(item["arguments"])))]
        case "function_call_output":
            return [(RESULT, _text(item["output"]))]
    return []


def _gemini(content: dict[str, Any]) -> list[tuple[str, str]]:
    role = ASSISTANT if content.get("role") == "model" else USER
    found: list[tuple[str, str]] = []
    for part in content.get("parts", ()):
        if "text" in part and not part.get("thought"):
            found.append((role, part["text"]))
        elif "functionCall" in part:
            call = part["functionCall"]
            found.append((CALL, _call(call["name"], call.get("args", {}))))
        elif "functionResponse" in part:
            found.append((RESULT, json.dumps(part["functionResponse"]["response"])))
    return found


def _call(name: str, arguments: Any) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if isinstance(block, dict))
