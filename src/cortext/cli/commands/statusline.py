"""The command `cortext statusline`: the costs in the status line of an AI tool.

The command must never make the status line of a tool fail or wait.
"""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import click

from cortext.catalog.usage_costs import CostSum
from cortext.cli.views.bar_chart import dollars, short
from cortext.errors import CortextError
from cortext.features.errors_log import write_error
from cortext.features.usage.session_status import SessionStatus, read_status
from cortext.features.usage.status_line_costs import (
    StatusLineCosts,
    load_status_line_costs,
    start_usage_refresh,
)

_MAX_PAYLOAD = 1 << 20
_NOTHING = "no usage is recorded yet"


@click.command("statusline")
def command() -> None:
    """Print the costs for the status line of Claude Code, which calls this command.

    The line has the cost of the session, of today, and of the current block of five hours, and the
    size of the context. Claude Code passes JSON on standard input. `cortext setup --statusline`
    installs the status line.

    Whatever Claude Code passes, the exit code is 0, so that the line stays visible. Errors go to a
    log that `cortext doctor` shows.
    """
    if sys.stdin.isatty():
        raise CortextError(
            "`cortext statusline` needs the JSON of an AI tool on standard input",
            hint="install the status line with `cortext setup --statusline`",
        )
    try:
        status = read_status(_read_payload())
        click.echo(_compose(load_status_line_costs(status), status))
        start_usage_refresh(status)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the status line must not fail
        write_error("statusline", error)


def _read_payload() -> dict[str, Any]:
    """Return the JSON object on standard input; {} if it is not a JSON object."""
    try:
        decoded: Any = json.loads(sys.stdin.buffer.read(_MAX_PAYLOAD))
        if not isinstance(decoded, dict):
            raise ValueError("the tool did not pass a JSON object")
    except (ValueError, RecursionError) as error:
        write_error("statusline", error)
        return {}
    return cast("dict[str, Any]", decoded)


def _compose(costs: StatusLineCosts, status: SessionStatus) -> str:
    left = f", {costs.minutes_left // 60} h {costs.minutes_left % 60:02} min left"
    parts = [
        _cost_part("session", costs.session),
        _cost_part("today", costs.today),
        _cost_part("block", costs.block, left),
        _context_part(status),
    ]
    return " | ".join(part for part in parts if part) or _NOTHING


def _cost_part(name: str, cost: CostSum | None, more: str = "") -> str:
    return f"{name} {dollars(cost.usd, is_part=cost.unpriced > 0)}{more}" if cost else ""


def _context_part(status: SessionStatus) -> str:
    tokens, percent = status.context_tokens, status.context_percent
    parts = [short(tokens)] if tokens is not None else []
    if percent is not None:
        parts.append(f"({percent:.0f}%)" if parts else f"{percent:.0f}%")
    return f"context {' '.join(parts)}" if parts else ""
