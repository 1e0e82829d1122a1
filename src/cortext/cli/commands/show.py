"""`cortext show`."""

from __future__ import annotations

from typing import Any, cast

import click

from cortext.app.sessions import show_session
from cortext.cli.options import json_option, print_json, store_option
from cortext.cli.text import clean, local
from cortext.model.message import SessionMessage
from cortext.model.session import Session


@click.command("show")
@click.argument("id")
@store_option
@click.option("-n", "last", type=click.IntRange(min=1), help="Only the last N messages.")
@json_option
def command(id: str, store: str, last: int | None, as_json: bool) -> None:
    """Show one session: its id, or the beginning of it."""
    found = show_session(store, id)
    session = found.session
    if last is not None:
        session.messages = session.messages[-last:]
    if as_json:
        print_json(session.to_dict())
    else:
        _print(session)
    for damage in found.damages:
        where = damage.path if damage.line is None else f"{damage.path}, line {damage.line}"
        click.echo(f"warning: {where}: {clean(damage.detail, lines=False)}", err=True)
    if any(damage.fatal for damage in found.damages):
        raise click.exceptions.Exit(5)


def _print(session: Session) -> None:
    click.echo(clean(session.title, lines=False) or "(no title)")
    facts = [session.id, local(session.updated_at), session.status, session.model]
    facts += [f"#{tag}" for tag in session.tags]
    if session.total_tokens:
        facts.append(f"{session.total_tokens} tokens")
    if session.tool_history:
        facts.append(f"{len(session.tool_history)} tool calls")
    click.echo(clean("  ".join(fact for fact in facts if fact)))
    for message in session.messages:
        click.echo(f"\n{message.role}  {local(message.timestamp)}")
        for line in _lines(message):
            click.echo(clean(line))


def _lines(message: SessionMessage) -> list[str]:
    lines = [message.content] if message.content else []
    return lines + [f"[calls {_name(call)}]" for call in message.tool_calls or ()]


def _name(call: dict[str, Any]) -> str:
    """The tool's name, in either of the two places where it is usual."""
    inner = call.get("function")
    found: Any = call.get("name")
    if isinstance(inner, dict):
        found = found or cast("dict[str, Any]", inner).get("name")
    return str(found or "a tool")
