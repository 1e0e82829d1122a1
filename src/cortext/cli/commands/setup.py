"""`cortext setup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cortext.cli.confirm import agree, yes_option
from cortext.cli.text import clean

if TYPE_CHECKING:
    from cortext.app.setup import Plan

POLICY = """\
[[rule]]
toolName = "run_shell_command"
commandPrefix = "cortext slash"
decision = "allow"
priority = 200
"""


def tool_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Names of tools, with commas; None for those that are found here."""
    from cortext.bridges.places import TOOLS

    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if name not in TOOLS]
    if unknown or not names:
        raise click.BadParameter(f"there is no tool {unknown[:1]}; tools are {', '.join(TOOLS)}")
    return names


@click.command("setup")
@click.option("--tools", metavar="NAMES", callback=tool_names, help="Which, with commas.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@yes_option
def command(tools: tuple[str, ...] | None, dry_run: bool, yes: bool) -> None:
    """Connect cortext to your AI tools: hooks that keep what is said, and slash commands.

    Once per person. What would change is shown, and you are asked. By default: the tools that
    are found on this machine. `cortext uninstall` takes all of it out again.
    """
    from cortext.app.setup import carry_out, found_tools, plan_setup

    names = tools or found_tools()
    if not names:
        click.echo("no AI tool was found; --tools claude,opencode,gemini,codex names some")
        return
    plan = plan_setup(names)
    show(plan)
    if not plan.changes:
        click.echo(f"nothing to do: {', '.join(names)} have all of it")
    elif not dry_run:
        agree(f"change {count(plan)}?", yes)
        carry_out(plan)
        click.echo(f"{', '.join(names)}: {count(plan)} changed; `cortext uninstall` undoes it")
    if not dry_run:
        _say_consent(names)


def show(plan: Plan) -> None:
    """What would change, as a difference, and what there is to know."""
    from cortext.lifecycle.install import difference

    for change in plan.changes:
        names = (change.path if data is not None else "/dev/null" for data in change[2:4])
        text = difference(change.old or b"", change.new or b"", *names)
        click.echo(clean(text).rstrip("\n"), err=True)
    for note in plan.notes:
        click.echo(f"note: {clean(note, lines=False)}", err=True)


def count(plan: Plan) -> str:
    number = len(plan.changes)
    return "1 file" if number == 1 else f"{number} files"


def _say_consent(names: tuple[str, ...] | list[str]) -> None:
    """What only the person can allow."""
    from cortext.bridges.places import own_home
    from cortext.cli.lists import short

    if "gemini" in names:
        place = short(f"{own_home('gemini')}/policies/cortext.toml")
        click.echo(
            "Gemini CLI asks each time before our commands run; without a terminal it refuses "
            f"them. To allow `cortext slash` and nothing else, put this into {place}:\n\n{POLICY}",
            err=True,
        )
