"""`cortext uninstall`."""

from __future__ import annotations

import click

from cortext.cli.commands.setup import complete_tools, count, parse_tool_names, show
from cortext.cli.confirm import agree, yes_option
from cortext.features.setup.tool_setup import carry_out, plan_uninstall
from cortext.tools.registry import tool_names


@click.command("uninstall")
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="Only these, with commas: claude,opencode,gemini,codex.  [default: all four]",
)
@click.option("--dry-run", is_flag=True, help="Only show what would change, all of it.")
@yes_option
def command(tools: tuple[str, ...] | None, dry_run: bool, yes: bool) -> None:
    """Take out of your AI tools what setup put in, and nothing else.

    Your conversations, the archive and the files of workspaces stay as they are.
    """
    plan = plan_uninstall(tools or tool_names())
    show(plan, whole=dry_run)
    if plan.changes and not dry_run:
        agree(f"do this to {count(plan)}?", yes)
    if (plan.changes or plan.gone) and not dry_run:
        plan = carry_out(plan, anyway=yes)
    if not plan.changes:
        click.echo("nothing of cortext is in your tools")
    elif not dry_run:
        click.echo(f"{count(plan)} changed back")
