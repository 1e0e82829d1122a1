"""`cortext hook`, where it comes by way of the parser of options."""

from __future__ import annotations

import click


@click.command("hook")
@click.argument("tool")
@click.argument("event")
@click.argument("payload", required=False)
def command(tool: str, event: str, payload: str | None) -> None:
    """Called by the hooks of AI tools: keeps what was said. JSON comes on standard input, or as
    PAYLOAD. Nothing fails the tool; errors go to a log that `cortext doctor` shows.
    """
    from cortext.cli.hooks import run

    run([tool, event, *([payload] if payload else [])])
