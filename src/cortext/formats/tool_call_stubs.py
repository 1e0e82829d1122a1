"""Stubs: short descriptions of past tool calls, with the command that shows the full record.

The first line of a stub names the tool. Every other line begins with two spaces. Only the ends of
results are read, so a large result costs no more than a small one.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, NamedTuple, cast

from cortext.formats.tool_inputs import (
    COMMANDS,
    CONTENT,
    NEW,
    OLD,
    PATHS,
    FileEdit,
    changes,
    command_of,
    cut,
    first_of,
    one_line,
    patch_of,
    text_of,
)
from cortext.model import json_codec
from cortext.model.message import SessionMessage, ToolInvocation

LONGEST_COMMAND = 1000
LONGEST_ARGUMENTS = 200
NO_RESULT = "no result was recorded"
_LAST_LINES = 3
_FILES = 5  # files of a patch to name
_TAIL = 4000  # characters of a result to search for its last lines
_ENDS = 400  # characters at each end of a result to search for an exit code
_WHOLE = 65_536  # the largest result to decode as JSON, in characters

_NAMES = {
    "edit": """apply_patch create_file create_text_file edit edit_file edit_notebook_file fs_write
        insert_edit_into_file multiedit multi_edit notebookedit notebook_edit patch replace
        replace_in_file replace_string_in_file search_replace str_replace str_replace_editor
        str_replace_based_edit_tool update_file write write_file write_to_file""",
    "shell": """bash exec exec_command execute_bash execute_command local_shell local_shell_call
        powershell run_command run_in_terminal run_shell_command run_terminal_cmd sh shell
        shell_command terminal zsh""",
    "read": """cat codebase_search directory_tree fetch file_search find find_files fs_read glob
        google_web_search grep grep_search list list_dir list_directory list_files ls notebookread
        open_file read read_file read_many_files read_text_file search search_file_content
        search_files view view_file view_image webfetch web_fetch websearch web_search""",
}
KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_ARGUMENTS = ("arguments", "input", "args", "parameters", "action")
_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "callID")
_SOUGHT = ("pattern", "query", "regex", "url", "q", "prompt")
_OUTPUTS = ("output", "aggregated_output", "stdout", "stderr", "content", "text", "result")
_CODES = ("exit_code", "exitCode", "exit", "returncode", "return_code")
_EXIT = r"(?:Process |Command )?exit(?:ed with)?[ _](?:code|status)"
_CODE = re.compile(
    rf"^[^\w\n]{{0,3}}(?:Error: )?{_EXIT}\W{{1,4}}?(-?\d{{1,10}})", re.IGNORECASE | re.MULTILINE
)
# Lines that tools add to the output of a program.
_FRAME = re.compile(
    rf"\W{{0,3}}(?:(?:Error: )?{_EXIT}\b|Background PIDs:|Chunk ID:|Original token count:|Output:$"
    r"|Process Group PGID:|Signal: |Total output lines:|Wall time\b"
    r"|(?:Error|Stderr|Stdout): \((?:none|empty)\)$)",
    re.IGNORECASE,
)
_FAILURES = ("error", "failed", "<tool_use_error>", "apply_patch verification failed")


class ToolCall(NamedTuple):
    """A tool call in one form, although each AI tool records its calls differently."""

    name: str
    arguments: dict[str, Any]
    id: str = ""


class ToolResult(NamedTuple):
    """The result of a tool call: any value, and whether the call failed."""

    value: Any
    failed: bool = False
    error: str = ""


def read_call(data: dict[str, Any]) -> ToolCall:
    """Convert an entry of a message's `tool_calls`, as any AI tool records it, to a `ToolCall`."""
    inner = data.get("function")
    inner = cast("dict[str, Any]", inner) if isinstance(inner, dict) else data
    name = first_of({**data, **inner}, ("name", "tool_name", "toolName", "tool", "type"))
    return ToolCall(one_line(name) or "tool", _arguments(first_of(inner, _ARGUMENTS)), id_of(data))


def id_of(data: dict[str, Any]) -> str:
    """Return the call id of an entry of a message's `tool_calls`; "" if it has none."""
    return text_of(first_of(data, _IDS))


def own_result(data: dict[str, Any]) -> ToolResult | None:
    """Return the result inside an entry of a message's `tool_calls`; None if it has none.

    Most AI tools store the result in a separate message instead.
    """
    value = first_of(data, ("result", "output"))
    return None if value is None else ToolResult(value, data.get("status") == "error")


def read_invocation(invocation: ToolInvocation) -> tuple[ToolCall, ToolResult]:
    result = ToolResult(invocation.result, not invocation.success, invocation.error or "")
    return ToolCall(invocation.tool_name, invocation.arguments, invocation.id), result


def read_result(message: SessionMessage) -> ToolResult:
    """Return the tool result that a message with the role "tool" contains."""
    data = message.structured_data
    known = {**message.extra, **(cast("dict[str, Any]", data) if isinstance(data, dict) else {})}
    codes = {key: known[key] for key in _CODES if key in known}
    value = {"output": message.content, **codes} if codes else message.content
    return ToolResult(value, known.get("is_error") is True or known.get("isError") is True)


def kind_of(call: ToolCall) -> str:
    """Return what a tool call does: `edit`, `shell`, `read` or `other`.

    The name of the tool decides, or its arguments if the name is unknown.
    """
    given, name = call.arguments, call.name.lower()
    if patch_of(given):
        return "edit"
    kind = KINDS.get(name) or KINDS.get(re.split(r"__|[./:]", name)[-1]) or _kind_by_shape(given)
    if kind == "edit" and given.get("command") == "view":
        kind = "read"
    needed = {"edit": PATHS, "shell": COMMANDS, "read": (*_SOUGHT, *PATHS)}.get(kind, ())
    return kind if first_of(given, needed) else "other"


def stub(call: ToolCall, result: ToolResult | None, where: str) -> str:
    """Return a short description of a tool call and its result.

    `where` is the command that shows the whole message.
    """
    kind = kind_of(call)
    what, lines = _describe(kind, call.arguments)
    if result is None:
        lines.append(NO_RESULT)
    else:
        lines += _outcome(kind, result)
    return _lay_out(call.name, what, where, lines)


def deed(call: ToolCall) -> str:
    """Return a short description of a tool call without its result."""
    what, lines = _describe(kind_of(call), call.arguments)
    return _lay_out(call.name, what, "", lines)


def lone_result(name: str, result: ToolResult, where: str) -> str:
    """Return a short description of a tool result whose call was not recorded.

    `where` is the command that shows the whole message.
    """
    shell = KINDS.get(name.lower()) == "shell"
    return _lay_out(name, "a result without its call", where, _ending(result) if shell else [])


def _arguments(given: Any) -> dict[str, Any]:
    value = _decoded(given, len(given)) if isinstance(given, str) else given
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"input": value} if value else {}  # some tools accept plain text


def _kind_by_shape(given: dict[str, Any]) -> str:
    has_path = first_of(given, PATHS) is not None
    if first_of(given, COMMANDS) is not None:
        return "shell"
    if has_path and first_of(given, (*OLD, *NEW, *CONTENT, "edits")) is not None:
        return "edit"
    return "read" if has_path or first_of(given, _SOUGHT[:-1]) is not None else "other"


def _describe(kind: str, given: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the text after the tool's name on the first line of a stub, and the lines below.

    `given` has the arguments of the call.
    """
    if kind == "edit":
        found = changes(given)
        more = f" and {len(found) - _FILES} more files" if len(found) > _FILES else ""
        first = next((change.first for change in found if change.first), "")
        return ", ".join(map(_counted, found[:_FILES])) + more, [first] if first else []
    if kind == "shell":
        return "", [f"$ {cut(command_of(given), LONGEST_COMMAND)}"]
    if kind == "read":
        sought, path = one_line(first_of(given, _SOUGHT)), one_line(first_of(given, PATHS))
        return f"{sought} in {path}" if sought and path else sought or path, []
    short = {
        key[:LONGEST_ARGUMENTS]: value[:LONGEST_ARGUMENTS] if isinstance(value, str) else value
        for key, value in given.items()
    }
    text = json_codec.encode(short).decode("utf-8") if short else ""
    return one_line(text, LONGEST_ARGUMENTS), []


def _counted(change: FileEdit) -> str:
    return f"{change.path} +{change.added} −{'?' if change.removed is None else change.removed}"


def _lay_out(name: str, what: str, where: str, lines: list[str]) -> str:
    first = " · ".join(part for part in (one_line(name), what, where) if part)
    return "\n  ".join([first, *(line.replace("\n", "\n    ") for line in lines)])


def _outcome(kind: str, result: ToolResult) -> list[str]:
    """Return the lines of a stub that describe the result, such as the exit code or a failure."""
    if kind == "shell":
        return _ending(result)
    failure = _failure(kind, result)
    if kind == "other" and not failure:
        return _last_lines(_tail(_decoded(result.value)))
    return failure


def _ending(result: ToolResult) -> list[str]:
    """Return the exit code of a shell command and the last lines of its output."""
    value = _decoded(result.value)
    tail = _tail(value)
    begins = value[:_ENDS] if isinstance(value, str) else tail[:_ENDS]
    code = _code(value)
    if code is None and (found := _CODE.search(begins) or _CODE.search(tail[-_ENDS:])):
        code = int(found[1])
    ended = f"exit code {code}" if code is not None else "exit code not recorded"
    if result.failed and not code:
        ended += f", failed: {one_line(result.error)}" if result.error else ", failed"
    return [ended, *_last_lines(tail)]


def _last_lines(tail: str) -> list[str]:
    lines = (line for line in reversed(tail.split("\n")) if line.strip() and not _FRAME.match(line))
    return [f"> {one_line(line)}" for line in islice(lines, _LAST_LINES)][::-1]


def _failure(kind: str, result: ToolResult) -> list[str]:
    value = _decoded(result.value) if kind == "edit" or result.failed else None
    begins = value[:_ENDS] if isinstance(value, str) else _tail(value)[:_ENDS]
    looks = kind == "edit" and begins.lstrip().lower().startswith(_FAILURES)
    if not (result.failed or result.error or looks):
        return []
    return [f"failed: {one_line(result.error or begins)}".rstrip(": ")]


def _decoded(value: Any, longest: int = _WHOLE) -> Any:
    """Parse a string that contains a JSON object. Any other value is returned unchanged."""
    if isinstance(value, str) and len(value) <= longest and value[:1] == "{":
        try:
            return json_codec.decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return value  # the text only begins with a brace
    return value


def _code(value: Any, depth: int = 2) -> int | None:
    if not isinstance(value, dict) or not depth:
        return None
    known = cast("dict[str, Any]", value)
    found = first_of(known, _CODES)
    return found if type(found) is int else _code(known.get("metadata"), depth - 1)


def _tail(value: Any, depth: int = 4) -> str:
    """Return the last characters of a tool's output, which may be text, a list or a dict."""
    if isinstance(value, str):
        return value[-_TAIL:]
    if isinstance(value, list) and depth:
        return "\n".join(_tail(item, depth - 1) for item in cast("list[Any]", value)[-3:])
    if isinstance(value, dict) and depth:
        known = cast("dict[str, Any]", value)
        return "\n".join(filter(None, (_tail(known.get(key), depth - 1) for key in _OUTPUTS)))
    return ""
