"""The command `cortext config`: show or change settings."""

from __future__ import annotations

from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from cortext.cli.common_options import json_option, print_json, query_words
from cortext.cli.terminal_text import clean
from cortext.config import (
    SETTINGS,
    BadSettingError,
    Config,
    Setting,
    UnknownSettingError,
    definition,
)
from cortext.errors import CortextError
from cortext.features.setup.cortext_settings_file import current, files, set_value, unset
from cortext.tools.registry import is_tool, tool_names


def complete_name(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the settings whose name starts with the typed text, for shell completion."""
    matches = (setting for setting in SETTINGS if setting.name.startswith(incomplete))
    return [CompletionItem(setting.name, help=setting.doc) for setting in matches]


def complete_value(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the value of a setting, for shell completion.

    The user has already typed the name of the setting. Return its allowed values (fixed words or
    tool names) that start with the typed text. If the setting is a path, let the shell complete
    folders.
    """
    matches = [setting for setting in SETTINGS if setting.name == ctx.params.get("name")]
    if matches and matches[0].kind == "path":
        return [CompletionItem(incomplete, type="dir")]
    choices: tuple[str, ...] = matches[0].choices if matches else ()
    if matches and matches[0].kind == "tool":
        choices += tuple(tool_names())
    return [CompletionItem(word) for word in choices if word.startswith(incomplete)]


def _check_word(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Raise UsageError if an argument looks like a misspelt option; otherwise return the argument.

    A number such as -5 is accepted.
    """
    query_words(ctx, param, (value,) if value else ())
    return value


@click.command("config", context_settings={"ignore_unknown_options": True})
@click.argument("name", required=False, shell_complete=complete_name, callback=_check_word)
@click.argument("value", required=False, shell_complete=complete_value, callback=_check_word)
@click.option("--unset", "remove", is_flag=True, help="Remove the setting NAME from the file.")
@click.option(
    "--workspace", is_flag=True, help="Change the settings file of the workspace, not your own."
)
@click.option("--path", "show_paths", is_flag=True, help="Print the paths of the settings files.")
@json_option
def command(
    name: str | None,
    value: str | None,
    remove: bool,
    workspace: bool,
    show_paths: bool,
    as_json: bool,
) -> None:
    """Show all settings and their origins, or change a setting.

    With NAME, print the value of that setting. With NAME and VALUE, set it in your settings file.
    """
    _check_usage(name, value, remove, workspace, show_paths)
    if show_paths:
        _print_paths(as_json)
        return
    try:
        if name is not None and (value is not None or remove):
            _change(name, value, workspace)
        else:
            _show(name, as_json)
    except UnknownSettingError as error:
        _exit_with_error(error, 3)


def _check_usage(
    name: str | None, value: str | None, remove: bool, workspace: bool, show_paths: bool
) -> None:
    if show_paths and (name or remove or workspace):
        raise click.UsageError("--path cannot be combined with NAME, --unset or --workspace")
    if remove and (not name or value is not None):
        raise click.UsageError("--unset needs a NAME, and does not take a VALUE")
    if workspace and value is None and not remove:
        raise click.UsageError("--workspace needs a VALUE or --unset")


def _exit_with_error(error: CortextError, code: int) -> NoReturn:
    """Print an error with its hint, and exit with `code`."""
    click.echo(f"error: {clean(str(error), lines=False)}", err=True)
    if error.hint:
        click.echo(f"hint: {clean(error.hint, lines=False)}", err=True)
    raise click.exceptions.Exit(code)


def _check_tool(name: str, value: str) -> None:
    """Check the value of a setting, if the setting needs the name of an AI tool.

    `name` is the name of the setting. The value may also be a fixed word that the setting allows,
    such as `ask`. Raises BadSettingError for any other value.
    """
    setting = definition(name)
    if setting.kind == "tool" and value not in setting.choices and not is_tool(value):
        allowed = ", ".join((*setting.choices, *tool_names()))
        raise BadSettingError(f"{name} cannot be {value!r}; allowed values are {allowed}")


def _change(name: str, value: str | None, workspace: bool) -> None:
    try:
        if value is None:
            path, changed = unset(name, workspace=workspace)
        else:
            _check_tool(name, value)
            path, changed = set_value(name, value, workspace=workspace)
    except BadSettingError as error:
        _exit_with_error(error, 2)
    if value is None:
        effect = "removed from" if changed else "is not in"
    else:
        effect = "set in" if changed else "already has this value in"
    click.echo(f"{name}: {effect} {clean(path, lines=False)}", err=True)
    current_value = _load_config().get(name)
    if value is None or current_value.origin != path:
        origin = clean(current_value.origin, lines=False)
        click.echo(
            f"The value is now {_format_value(current_value.value)} (origin: {origin}).", err=True
        )


def _load_config() -> Config:
    config = current()
    for warning in config.warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    return config


def _show(name: str | None, as_json: bool) -> None:
    config = _load_config()
    if name is not None:
        value = config[name]
        if as_json:
            print_json(next(_as_dict(config, s) for s in SETTINGS if s.name == name))
        else:
            click.echo(clean(str(value), lines=False))
    elif as_json:
        print_json([_as_dict(config, setting) for setting in SETTINGS])
    else:
        _print_table(config)


def _as_dict(config: Config, setting: Setting) -> dict[str, Any]:
    value, origin = config.get(setting.name)
    return {
        "name": setting.name,
        "value": value,
        "origin": origin,
        "default": setting.default,
        "doc": setting.doc,
    }


def _print_table(config: Config) -> None:
    rows = [("NAME", "VALUE", "ORIGIN")]
    for setting in SETTINGS:
        value, origin = config.get(setting.name)
        rows.append((setting.name, _format_value(value), clean(origin, lines=False)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, origin in rows:
        click.echo(f"{name:{widths[0]}}  {value:{widths[1]}}  {origin}")


def _format_value(value: Any) -> str:
    return clean(str(value), lines=False) or '""'


def _print_paths(as_json: bool) -> None:
    settings_files = files()
    if as_json:
        print_json(settings_files._asdict())
        return
    for path in settings_files:
        if path is not None:
            click.echo(path)
