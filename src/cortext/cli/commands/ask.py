"""The command `cortext ask`: ask a question about an old conversation."""

from __future__ import annotations

import sys

import click

from cortext import paths
from cortext.cli.common_options import json_option, print_json
from cortext.cli.conversation_choice import choose
from cortext.cli.conversation_completion import complete_id
from cortext.cli.list_options import tool_option
from cortext.cli.terminal_text import clean
from cortext.cli.tool_reopening import pick_tool
from cortext.config import Config
from cortext.features.resume.conversation_question import ask, require_question
from cortext.tools.headless_runs import headless_of, read_report


@click.command("ask")
@click.argument("query", shell_complete=complete_id)
@click.argument("text", metavar="QUESTION", required=False)
@tool_option
@click.option(
    "--all",
    "everywhere",
    is_flag=True,
    help="Look in all workspaces at once.  [default: in the current one first]",
)
@json_option
def command(
    query: str, text: str | None, tool: str | None, everywhere: bool, as_json: bool
) -> None:
    """Ask a question about an old conversation, and print the answer of an AI tool.

    QUERY names the conversation. QUESTION is the text; - reads it from standard input. The AI tool
    answers in a copy of the conversation. It cannot run commands or change files. The conversation
    does not change, and the copy is deleted.

    With --json, the output also has the id of the copy, and the number of tokens if the tool
    reports it.
    """
    if text is None:
        raise click.UsageError(
            'Give the conversation and the question: `cortext ask QUERY "QUESTION"`.'
        )
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
