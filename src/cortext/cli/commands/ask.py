"""`cortext ask`."""

from __future__ import annotations

import sys

import click

from cortext.cli.options import complete_id
from cortext.cli.reopening import pick_tool, tool_option
from cortext.cli.text import clean


@click.command("ask")
@click.argument("query", shell_complete=complete_id)
@click.argument("text")
@tool_option
@click.option("--all", "everywhere", is_flag=True, help="Look in all your workspaces first.")
def command(query: str, text: str, tool: str | None, everywhere: bool) -> None:
    """Ask an old conversation a question.

    QUERY says which, TEXT is the question, - reads it from stdin. One turn is had on a copy of the
    conversation, with the tool's own tools off; the answer is printed, nothing else changes.
    """
    from cortext import paths
    from cortext.app.ask import ask
    from cortext.cli.choose import choose
    from cortext.config import Config

    question = sys.stdin.read() if text == "-" else text
    row = choose(query, everywhere=everywhere, forgiving=True)
    chosen = pick_tool(row, tool)
    budget = int(Config.load(paths.workspace_root())["resume.budget"])
    answer = ask(row, question, chosen, budget=budget)
    for note in answer.notes:
        click.echo(f"note: {clean(note, lines=False)}", err=True)
    click.echo(clean(answer.text.rstrip("\n")))
