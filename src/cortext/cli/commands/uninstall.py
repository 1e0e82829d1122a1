"""The command `cortext uninstall`: remove everything that setup added to your AI tools."""

from __future__ import annotations

import click

from cortext.cli.commands.setup import count, show
from cortext.cli.confirmation import agree, yes_option
from cortext.cli.tool_names_option import complete_tools, parse_tool_names
from cortext.features.setup.tool_setup import carry_out, plan_uninstall
from cortext.tools.registry import tool_names


@click.command("uninstall")
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="Change only these: claude,opencode,gemini,codex.  [default: all]",
)
@click.option("--dry-run", is_flag=True, help="Show all changes, but make none.")
@yes_option
def command(tools: tuple[str, ...] | None, dry_run: bool, yes: bool) -> None:
    """Remove everything that `cortext setup` added to your AI tools.

    Your conversations, the archive and the files of workspaces do not change.
    """
    plan = plan_uninstall(tools or tool_names())
    show(plan, whole=dry_run)
    if plan.changes and not dry_run:
        agree(f"Make these changes to {count(plan)}?", yes)
    if (plan.changes or plan.gone) and not dry_run:
        plan = carry_out(plan, anyway=yes)
    if not plan.changes:
        click.echo("Nothing to remove: cortext is not set up in your tools.")
    elif not dry_run:
        click.echo(f"Removed cortext from your tools: {count(plan)} changed.")
