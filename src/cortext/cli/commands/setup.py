"""`cortext setup`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cortext.cli.confirm import agree, yes_option
from cortext.cli.terminal_text import clean
from cortext.cli.views.list_view import short
from cortext.errors import CortextError
from cortext.features.setup.tool_setup import (
    FileChange,
    SetupPlan,
    carry_out,
    found_tools,
    plan_setup,
    plugin_of,
)
from cortext.model.secrets.detector import mask_text
from cortext.tools.registry import find_tool, is_tool, tool_names
from cortext.tools.registry import tools as tools_there
from cortext.workspace.init_workspace import difference

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def parse_tool_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Return the tool names of a comma-separated list.

    Return None if the option is not given; then setup uses the tools that it finds.
    """
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    unknown = [name for name in names if not is_tool(name)]
    if unknown or not names:
        wrong = f"there is no tool {unknown[0]!r}" if unknown else "this names no tool"
        raise click.BadParameter(f"{wrong}; tools are {', '.join(tool_names())}")
    return names


def complete_tools(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the lists of tools that can continue the typed list, for shell completion."""
    from click.shell_completion import CompletionItem

    given, comma, begun = incomplete.rpartition(",")
    left = [
        tool for tool in tool_names() if tool not in given.split(",") and tool.startswith(begun)
    ]
    return [CompletionItem(f"{given}{comma}{tool}") for tool in left]


@click.command("setup")
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="Only these, with commas: claude,opencode,gemini,codex.  [default: those found here]",
)
@click.option("--plugin", is_flag=True, help="Also a plug-in for OpenCode, which has no hooks.")
@click.option("--dry-run", is_flag=True, help="Only show what would change, all of it.")
@yes_option
def command(tools: tuple[str, ...] | None, plugin: bool, dry_run: bool, yes: bool) -> None:
    """Connect cortext to your AI tools: hooks that keep what is said, slash commands,
    and the MCP server that lets an agent search.

    Once per person. The files that would be made or changed are shown, and you are asked. By
    default: the tools that are found on this machine. `cortext uninstall` takes all of it out
    again, `cortext doctor` says whether it works. What cannot be read is left as it is and named,
    all the rest is done, and the exit code is 1.
    """
    names = tools or found_tools()
    if not names:
        raise CortextError(
            "no AI tool was found", hint="--tools claude,opencode,gemini,codex names some"
        )
    if plugin and not any(map(plugin_of, names)):
        with_plugin = next(tool for tool in tools_there() if tool.plugin)
        raise CortextError(
            f"the plug-in is for {with_plugin.display_name}",
            hint=f"add {with_plugin.name} to --tools",
        )
    plan = plan_setup(names, plugin=plugin)
    show(plan, whole=dry_run)
    if plan.changes and not dry_run:
        agree(f"do this to {count(plan)}?", yes)
        plan = carry_out(plan, anyway=yes)
        if plan.changes:
            done = f"{', '.join(plan.tools)}: {count(plan)} written"
            click.echo(f"{done}; `cortext uninstall` undoes it")
    if not plan.changes:
        whole = [name for name in names if name not in plan.left]
        click.echo(f"nothing to do: {', '.join(whole)} {_have(whole)}" if whole else "nothing done")
    if not dry_run:
        _say_consent(plan.tools)
    if plan.failed and not dry_run:
        lacking = list(dict.fromkeys(plan.failed))
        raise CortextError(
            f"not all of it is in {', '.join(lacking)}",
            hint="put right what the notes name, then run "
            f"`cortext setup --tools {','.join(lacking)}`",
        )


def show(plan: SetupPlan, *, whole: bool) -> None:
    """Print the planned changes: the names of the files, and the differences in existing files.

    With `whole`, print the differences of all files, and print to stdout instead of stderr.
    """
    for change in plan.changes:
        click.echo(f"{_verb(change)} {short(change.path)}", err=not whole)
    for change in plan.changes:
        if whole or (change.old is not None and change.new is not None):
            names = (change.path if data is not None else "/dev/null" for data in change[2:4])
            text = difference(change.old or b"", change.new or b"", *names)
            click.echo(f"\n{clean(_told(text))}".rstrip("\n"), err=not whole)
    for note in plan.notes:
        click.echo(f"note: {clean(note, lines=False)}", err=True)


def _told(difference: str) -> str:
    """Return a difference with keys and passwords of other programs redacted.

    Each line is redacted separately, so that a secret in one line never hides the changes in
    another.
    """
    return "".join(mask_text(line)[0] for line in difference.splitlines(keepends=True))


def count(plan: SetupPlan) -> str:
    number = len(plan.changes)
    return "1 file" if number == 1 else f"{number} files"


def _verb(change: FileChange) -> str:
    if change.old is None:
        return "make  "
    return "remove" if change.new is None else "change"


def _have(names: Sequence[str]) -> str:
    return "has all of it" if len(names) == 1 else "have all of it"


def _say_consent(names: Sequence[str]) -> None:
    """Print the settings that only the user may change to give a tool its permission.

    Tools that need no permission, or already have it, are skipped.
    """
    for tool in map(find_tool, names):
        consent = tool.load("consent")(tool) if tool.consent else None
        if consent:
            click.echo(
                f"{consent.why}, put this into {short(consent.path)}:\n\n{consent.content}",
                err=True,
            )
