"""`cortext ask`."""

from __future__ import annotations

import sys

import click

from cortext import paths
from cortext.cli.common_options import complete_id, json_option, print_json
from cortext.cli.launch_tool import pick_tool
from cortext.cli.list_options import tool_option
from cortext.cli.select_conversation import choose
from cortext.cli.terminal_text import clean
from cortext.config import Config
from cortext.features.resume.ask import ask, require_question
from cortext.tools.headless import headless_of, read_report


@click.command("ask")
@click.argument("query", shell_complete=complete_id)
@click.argument("text")
@tool_option
@click.option("--all", "everywhere", is_flag=True, help="Look in all your workspaces first.")
@json_option
def command(query: str, text: str, tool: str | None, everywhere: bool, as_json: bool) -> None:
    """Ask an old conversation a question.

    QUERY says which, TEXT is the question, - reads it from stdin. One turn is had on a copy of the
    conversation, with the tool's own tools off; the answer is printed, nothing else changes. With
    --json also the id of the copy, which is not kept, and the tokens, where the tool says them.
    """
    question = sys.stdin.read() if text == "-" else text
    require_question(question)
    row = choose(query, everywhere=everywhere, forgiving=True)
    chosen = pick_tool(row, tool)
    budget = int(Config.load(paths.workspace_root())["resume.budget"])
    words = headless_of(chosen).report_words if as_json else ()
    answer = ask(row, question, chosen, budget=budget, extra=words)
    for note in answer.notes:
        click.echo(f"note: {clean(note, lines=False)}", err=True)
    if as_json:
        report = read_report(chosen, answer.text)
        print_json(
            {
                "answer": report.text.rstrip("\n"),
                "tool": chosen,
                "conversation_id": row.key,
                "session_id": report.session or None,
                "usage": report.usage._asdict() if report.usage else None,
            }
        )
        return
    click.echo(clean(answer.text.rstrip("\n")))
