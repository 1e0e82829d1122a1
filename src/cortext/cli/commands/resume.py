"""`cortext resume`."""

from __future__ import annotations

from typing import Any

import click

from cortext.app.resume import Briefing, activate, ago, brief, candidates
from cortext.cli.options import json_option, print_json
from cortext.cli.text import clean
from cortext.errors import AmbiguousIdError, SessionNotFoundError
from cortext.index.resolve import nearest, resolve
from cortext.lifecycle.workspace import Workspace
from cortext.model import wire
from cortext.model.session import Session


@click.command("resume", context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="Show what can be resumed.")
@click.option("--context", is_flag=True, help="Print the briefing for an agent; changes nothing.")
@click.option("--reopen", is_flag=True, help="Also one that was completed.")
@json_option
def command(
    query: tuple[str, ...], listing: bool, context: bool, reopen: bool, as_json: bool
) -> None:
    """Find a conversation by its id, the beginning of it, or words of its title and summary,
    make it active, and print what an agent needs to go on with it."""
    workspace = Workspace.find()
    if listing or not query:
        _list(workspace, as_json)
        return
    key = _choose(workspace, " ".join(query))
    briefing = brief(workspace, key)
    if not context:
        activate(workspace, key, reopen=reopen)
    if as_json:
        print_json(briefing._asdict())
        return
    _print(briefing)
    if not context:
        click.echo("\nGive this to your agent, or type /workspace.resume in it.", err=True)


def _choose(workspace: Workspace, query: str) -> str:
    known = candidates(workspace)
    found = resolve(query, known)
    if len(found) == 1:
        return found[0].key
    if found:
        raise AmbiguousIdError(query, [candidate.key for candidate in found])
    for candidate in nearest(query, known):
        title = clean(candidate.title, lines=False)
        click.echo(f"did you mean {candidate.key}: {title}?", err=True)
    raise SessionNotFoundError(query)


def _print(briefing: Briefing) -> None:
    for warning in briefing.warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    if briefing.command:
        click.echo(clean(briefing.command))
    click.echo(f"The markdown of this conversation: {clean(briefing.document, lines=False)}\n")
    click.echo(briefing.context)
    click.echo(briefing.history)


def _list(workspace: Workspace, as_json: bool) -> None:
    heads = workspace.heads()
    if as_json:
        print_json([_row(key, head) for key, head in heads])
        return
    if not heads:
        click.echo("no resumable conversations", err=True)
        click.echo('hint: begin one with `cortext new brainstorm "your topic"`', err=True)
        return
    for number, (key, head) in enumerate(heads, 1):
        title = clean(head.title, lines=False)
        click.echo(f"{number}. [{clean(head.kind, lines=False) or 'chat'}] {title}")
        click.echo(f"   {key} | Last active: {ago(head.updated_at)} | Status: {head.status}")
        click.echo(f"   Summary: {clean(head.summary, lines=False) or 'none yet'}")


def _row(key: str, head: Session) -> dict[str, Any]:
    return {
        "id": key,
        "type": head.kind,
        "title": head.title,
        "status": head.status,
        "last_active": wire.iso(head.updated_at),
        "summary": head.summary,
    }
