"""The command `cortext setup`: connect cortext to your AI tools."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cortext.cli.confirmation import agree, yes_option
from cortext.cli.terminal_text import clean
from cortext.cli.tool_names_option import complete_tools, parse_tool_names
from cortext.cli.views.list_view import short
from cortext.errors import CortextError
from cortext.features.setup.tool_setup import (
    FileChange,
    SetupPlan,
    carry_out,
    find_connectable_tools,
    plan_setup,
)
from cortext.model.secrets.detector import mask_text
from cortext.model.secrets.settings_redaction import mask_settings
from cortext.tools.registry import find_tool
from cortext.tools.registry import tools as tools_there
from cortext.workspace.init_workspace import difference


@click.command("setup")
@click.option(
    "--tools",
    metavar="NAMES",
    callback=parse_tool_names,
    shell_complete=complete_tools,
    help="Set up only these: claude,opencode,gemini,codex.  [default: every tool found here]",
)
@click.option("--plugin", is_flag=True, help="Also install a plug-in for OpenCode.")
@click.option(
    "--recall/--no-recall",
    default=None,
    help="--recall: at the start of a session, tell Claude Code the last decisions and open "
    "questions of its folder. --no-recall: turn this off.  [default: no change]",
)
@click.option(
    "--statusline/--no-statusline",
    "status_line",
    default=None,
    help="Show the cost of the session, of today and of the current block in the status line of "
    "Claude Code, or stop doing so.  [default: no change]",
)
@click.option("--dry-run", is_flag=True, help="Show all changes, but make none.")
@yes_option
def command(
    tools: tuple[str, ...] | None,
    plugin: bool,
    recall: bool | None,
    status_line: bool | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Connect cortext to your AI tools.

    Setup installs hooks that save your conversations, slash commands, and the MCP server that lets
    an agent search. OpenCode has no hooks; --plugin installs a plug-in instead. Run setup once per
    user. It shows the files that it will create or change, and asks before it writes.

    If a file cannot be read, setup names it, leaves it unchanged, continues with the other files,
    and exits with code 1. `cortext doctor` checks the result. `cortext uninstall` removes it.
    """
    names = tools or find_connectable_tools()
    if not names:
        raise CortextError(
            "no AI tool was found", hint="name the tools: --tools claude,opencode,gemini,codex"
        )
    if plugin:
        _require_capable("--plugin", "plugin", names)
    if recall:
        _require_capable("--recall", "recall", names)
    if status_line:
        _require_capable("--statusline", "has_status_line", names)
    plan = plan_setup(names, plugin=plugin, recall=recall, status_line=status_line)
    show(plan, whole=dry_run)
    if plan.changes and not dry_run:
        agree(f"Make these changes to {count(plan)}?", yes)
        plan = carry_out(plan, anyway=yes)
        if plan.changes:
            click.echo(f"Set up {', '.join(plan.tools)}: {count(plan)} written.")
            click.echo("To undo this: `cortext uninstall`")
    if not plan.changes:
        complete = [name for name in names if name not in plan.left]
        click.echo(
            f"Nothing to do: {', '.join(complete)} {_is_or_are(complete)} already set up."
            if complete
            else "Nothing was changed."
        )
    if not dry_run:
        _print_consent(plan.tools)
    if plan.failed and not dry_run:
        incomplete = list(dict.fromkeys(plan.failed))
        raise CortextError(
            f"setup is incomplete for {', '.join(incomplete)}",
            hint="fix the problems in the notes above, then run "
            f"`cortext setup --tools {','.join(incomplete)}`",
        )


def _require_capable(option: str, capability: str, names: Sequence[str]) -> None:
    """Raise CortextError if none of the named tools has the capability that an option needs."""
    capable = [tool for tool in tools_there() if getattr(tool, capability)]
    if not any(tool.name in names for tool in capable):
        raise CortextError(
            f"{option} works only with {capable[0].display_name}",
            hint=f"add {capable[0].name} to --tools",
        )


def show(plan: SetupPlan, *, whole: bool) -> None:
    """Print the planned changes.

    Print the path of each file, and the differences in existing files, to stderr. With `whole`,
    also print the contents of created and deleted files, and print everything to stdout.
    """
    for change in plan.changes:
        click.echo(f"{_verb(change)} {short(change.path)}", err=not whole)
    for change in plan.changes:
        if whole or (change.old is not None and change.new is not None):
            names = (change.path if data is not None else "/dev/null" for data in change[2:4])
            text = difference(_masked(change.old), _masked(change.new), *names)
            click.echo(f"\n{clean(_redact_lines(text))}".rstrip("\n"), err=not whole)
    for note in plan.notes:
        click.echo(f"note: {clean(note, lines=False)}", err=True)


def _masked(data: bytes | None) -> bytes:
    """Return the content of a settings file, with secrets such as the value of `token` redacted."""
    return mask_settings((data or b"").decode("utf-8", "replace")).encode()


def _redact_lines(difference: str) -> str:
    """Redact the keys and passwords in a diff of a settings file.

    Each line is redacted separately, so that a secret in one line does not hide the changes in
    another line.
    """
    return "".join(mask_text(line)[0] for line in difference.splitlines(keepends=True))


def count(plan: SetupPlan) -> str:
    number = len(plan.changes)
    return "1 file" if number == 1 else f"{number} files"


def _verb(change: FileChange) -> str:
    if change.old is None:
        return "create"
    return "remove" if change.new is None else "change"


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _print_consent(names: Sequence[str]) -> None:
    """Print how the user can allow each AI tool to run cortext's slash commands without asking.

    Setup does not change this permission, because only the user may give it. Tools that need no
    permission, or that already have it, are skipped.
    """
    for tool in map(find_tool, names):
        consent = tool.load("consent")(tool) if tool.consent else None
        if consent:
            click.echo(
                f"{consent.why}, put this into {short(consent.path)}:\n\n{consent.content}",
                err=True,
            )
