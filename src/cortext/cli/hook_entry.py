"""`cortext hook TOOL EVENT [JSON]`, without the parser of options: a tool waits for it.

It never fails the tool: whatever happens the exit code is 0, and nothing is printed but what the
tool wants to be told. Errors go to a log.
"""

from __future__ import annotations

import sys
from typing import Any, cast

_LARGEST = 64 << 20


def run(arguments: list[str]) -> None:
    """Handle one call of a hook."""
    try:
        told = _handle(arguments)
        if told:
            import json

            sys.stdout.write(json.dumps(told) + "\n")
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the tool must not notice
        from cortext.features.errors_log import write_error

        write_error(f"hook {' '.join(arguments[:2])}", error)


def _handle(arguments: list[str]) -> dict[str, Any]:
    import json

    from cortext.features.capture.hook_events import hook
    from cortext.tools.registry import is_tool

    tool, event, *given = arguments
    if not is_tool(tool):
        raise ValueError(f"there is no tool {tool}")
    data = given[-1].encode("utf-8", "surrogateescape") if given else _stdin()
    payload: Any = json.loads(data if data.strip() else b"{}")
    if not isinstance(payload, dict):
        raise ValueError("the tool gave something else than a JSON object")
    return hook(tool, event, cast("dict[str, Any]", payload))


def _stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        return b""
    return sys.stdin.buffer.read(_LARGEST)
