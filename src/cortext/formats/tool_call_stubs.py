"""Stubs: short descriptions of past tool calls, with the command that shows the whole message.

The first line of a stub names the tool. Every other line begins with two spaces. Only the beginning
and the end of a result are read, so a large result takes no more time than a small one.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, cast

import msgspec

from cortext.formats.tool_call_arguments import (
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
_SEARCH_KEYS = ("pattern", "query", "regex", "url", "q", "prompt")
_OUTPUTS = ("output", "aggregated_output", "stdout", "stderr", "content", "text", "result")
_CODES = ("exit_code", "exitCode", "exit", "returncode", "return_code")
_EXIT = r"(?:Process |Command )?exit(?:ed with)?[ _](?:code|status)"
_CODE = re.compile(
    rf"^[^\w\n]{{0,3}}(?:Error: )?{_EXIT}\W{{1,4}}?(-?\d{{1,10}})", re.IGNORECASE | re.MULTILINE
)
# Lines that tools add to the output of a program.
_TOOL_LINE = re.compile(
    rf"\W{{0,3}}(?:(?:Error: )?{_EXIT}\b|Background PIDs:|Chunk ID:|Original token count:|Output:$"
    r"|Process Group PGID:|Signal: |Total output lines:|Wall time\b"
    r"|(?:Error|Stderr|Stdout): \((?:none|empty)\)$)",
    re.IGNORECASE,
)
_FAILURES = ("error", "failed", "<tool_use_error>", "apply_patch verification failed")


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call, in a form that is the same for all AI tools."""

    name: str
    arguments: dict[str, Any]
    id: str = ""


class ToolResult(msgspec.Struct, frozen=True):
    """The result of a tool call.

    `value` is the output, as text or as any JSON value. `error` is the error message, or "".
    """

    value: Any
    failed: bool = False
    error: str = ""


def read_call(data: dict[str, Any]) -> ToolCall:
    """Convert an entry of a message's `tool_calls` to a `ToolCall`.

    Every AI tool names the keys of such an entry differently.
    """
    inner = data.get("function")
    inner = cast("dict[str, Any]", inner) if isinstance(inner, dict) else data
    name = first_of({**data, **inner}, ("name", "tool_name", "toolName", "tool", "type"))
    return ToolCall(one_line(name) or "tool", _arguments(first_of(inner, _ARGUMENTS)), id_of(data))


def id_of(data: dict[str, Any]) -> str:
    """Return the id of a tool call, or "". `data` is an entry of a message's `tool_calls`."""
    return text_of(first_of(data, _IDS))


def own_result(data: dict[str, Any]) -> ToolResult | None:
    """Return the result of a tool call if the call itself contains the result, otherwise None.

    `data` is an entry of a message's `tool_calls`. Most AI tools store the result in a separate
    message instead.
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
    """Return the kind of a tool call: "edit", "shell", "read" or "other".

    The name of the tool decides. If the name is unknown, the arguments of the call decide.
    """
    given, name = call.arguments, call.name.lower()
    if patch_of(given):
        return "edit"
    kind = KINDS.get(name) or KINDS.get(re.split(r"__|[./:]", name)[-1]) or _kind_by_shape(given)
    if kind == "edit" and given.get("command") == "view":
        kind = "read"
    needed = {"edit": PATHS, "shell": COMMANDS, "read": (*_SEARCH_KEYS, *PATHS)}.get(kind, ())
    return kind if first_of(given, needed) else "other"


def stub(call: ToolCall, result: ToolResult | None, where: str) -> str:
    """Return a stub: a short description of a tool call and its result.

    `result` is None if no result was recorded. `where` is the command that shows the whole message.
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


def describe_result_without_call(name: str, result: ToolResult, where: str) -> str:
    """Return a short description of a tool result whose call was not recorded.

    `where` is the command that shows the whole message.
    """
    shell = KINDS.get(name.lower()) == "shell"
    return _lay_out(
        name, "a result without its call", where, _shell_result(result) if shell else []
    )


def _arguments(given: Any) -> dict[str, Any]:
    value = _decode_json(given, len(given)) if isinstance(given, str) else given
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"input": value} if value else {}  # some tools accept plain text


def _kind_by_shape(given: dict[str, Any]) -> str:
    has_path = first_of(given, PATHS) is not None
    if first_of(given, COMMANDS) is not None:
        return "shell"
    if has_path and first_of(given, (*OLD, *NEW, *CONTENT, "edits")) is not None:
        return "edit"
    return "read" if has_path or first_of(given, _SEARCH_KEYS[:-1]) is not None else "other"


def _describe(kind: str, given: dict[str, Any]) -> tuple[str, list[str]]:
    """Return two pieces of a stub: the text after the tool's name, and a list of lines below it.

    A stub is a short description of a tool call. `kind` is the kind of the call, as `kind_of`
    returns it. `given` has the arguments of the call.
    """
    if kind == "edit":
        edits = changes(given)
        more = f" and {len(edits) - _FILES} more files" if len(edits) > _FILES else ""
        first = next((change.first for change in edits if change.first), "")
        return ", ".join(map(_describe_edit, edits[:_FILES])) + more, [first] if first else []
    if kind == "shell":
        return "", [f"$ {cut(command_of(given), LONGEST_COMMAND)}"]
    if kind == "read":
        searched, path = one_line(first_of(given, _SEARCH_KEYS)), one_line(first_of(given, PATHS))
        return f"{searched} in {path}" if searched and path else searched or path, []
    short = {
        key[:LONGEST_ARGUMENTS]: value[:LONGEST_ARGUMENTS] if isinstance(value, str) else value
        for key, value in given.items()
    }
    text = json_codec.encode(short).decode("utf-8") if short else ""
    return one_line(text, LONGEST_ARGUMENTS), []


def _describe_edit(change: FileEdit) -> str:
    return f"{change.path} +{change.added} −{'?' if change.removed is None else change.removed}"


def _lay_out(name: str, what: str, where: str, lines: list[str]) -> str:
    first = " · ".join(part for part in (one_line(name), what, where) if part)
    return "\n  ".join([first, *(line.replace("\n", "\n    ") for line in lines)])


def _outcome(kind: str, result: ToolResult) -> list[str]:
    """Return lines that describe the result of a tool call, such as an exit code or a failure.

    `kind` is the kind of the call, as `kind_of` returns it.
    """
    if kind == "shell":
        return _shell_result(result)
    failure = _failure(kind, result)
    if kind == "other" and not failure:
        return _last_lines(_tail(_decode_json(result.value)))
    return failure


def _shell_result(result: ToolResult) -> list[str]:
    """Return lines about the result of a shell command: its exit code and its last output lines."""
    value = _decode_json(result.value)
    tail = _tail(value)
    beginning = value[:_ENDS] if isinstance(value, str) else tail[:_ENDS]
    code = _exit_code(value)
    if code is None and (match := _CODE.search(beginning) or _CODE.search(tail[-_ENDS:])):
        code = int(match[1])
    status = f"exit code {code}" if code is not None else "exit code not recorded"
    if result.failed and not code:
        status += f", failed: {one_line(result.error)}" if result.error else ", failed"
    return [status, *_last_lines(tail)]


def _last_lines(tail: str) -> list[str]:
    lines = (
        line for line in reversed(tail.split("\n")) if line.strip() and not _TOOL_LINE.match(line)
    )
    return [f"> {one_line(line)}" for line in islice(lines, _LAST_LINES)][::-1]


def _failure(kind: str, result: ToolResult) -> list[str]:
    value = _decode_json(result.value) if kind == "edit" or result.failed else None
    beginning = value[:_ENDS] if isinstance(value, str) else _tail(value)[:_ENDS]
    looks_failed = kind == "edit" and beginning.lstrip().lower().startswith(_FAILURES)
    if not (result.failed or result.error or looks_failed):
        return []
    return [f"failed: {one_line(result.error or beginning)}".rstrip(": ")]


def _decode_json(value: Any, longest: int = _WHOLE) -> Any:
    """Parse a string that contains a JSON object, and return the object.

    Any other value, and a string of more than `longest` characters, is returned as it is.
    """
    if isinstance(value, str) and len(value) <= longest and value[:1] == "{":
        try:
            return json_codec.decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return value  # the text only begins with a brace
    return value


def _exit_code(value: Any, depth: int = 2) -> int | None:
    if not isinstance(value, dict) or not depth:
        return None
    fields = cast("dict[str, Any]", value)
    code = first_of(fields, _CODES)
    return code if type(code) is int else _exit_code(fields.get("metadata"), depth - 1)


def _tail(value: Any, depth: int = 4) -> str:
    """Return the last characters of a tool's output, which may be text, a list or a dict.

    Values that are nested deeper than `depth` are ignored.
    """
    if isinstance(value, str):
        return value[-_TAIL:]
    if isinstance(value, list) and depth:
        return "\n".join(_tail(item, depth - 1) for item in cast("list[Any]", value)[-3:])
    if isinstance(value, dict) and depth:
        known = cast("dict[str, Any]", value)
        return "\n".join(filter(None, (_tail(known.get(key), depth - 1) for key in _OUTPUTS)))
    return ""
