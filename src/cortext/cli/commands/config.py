"""`cortext config`."""

from __future__ import annotations

from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from cortext.cli.common_options import json_option, print_json
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
from cortext.features.setup.config_file import current, files, set_value, unset
from cortext.tools.registry import is_tool, tool_names


def complete_name(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the settings whose name starts with the typed text, for shell completion."""
    found = (setting for setting in SETTINGS if setting.name.startswith(incomplete))
    return [CompletionItem(setting.name, help=setting.doc) for setting in found]


def complete_value(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the allowed values of the setting named before, for shell completion.

    These are fixed words, tool names, or folders for a setting that holds a path.
    """
    named = [setting for setting in SETTINGS if setting.name == ctx.params.get("name")]
    if named and named[0].kind == "path":
        return [CompletionItem(incomplete, type="dir")]
    choices: tuple[str, ...] = named[0].choices if named else ()
    if named and named[0].kind == "tool":
        choices += tuple(tool_names())
    return [CompletionItem(word) for word in choices if word.startswith(incomplete)]


@click.command("config")
@click.argument("name", required=False, shell_complete=complete_name)
@click.argument("value", required=False, shell_complete=complete_value)
@click.option("--unset", "remove", is_flag=True, help="Take NAME out of the file.")
@click.option("--workspace", is_flag=True, help="Change the workspace's file, not yours.")
@click.option("--path", "show_paths", is_flag=True, help="Print where the files are.")
@json_option
def command(
    name: str | None,
    value: str | None,
    remove: bool,
    workspace: bool,
    show_paths: bool,
    as_json: bool,
) -> None:
    """Show the settings and where each comes from, or change one.

    With NAME, print its value; with NAME and VALUE, set it in your file.
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
        _refuse(error, 3)


def _check_usage(
    name: str | None, value: str | None, remove: bool, workspace: bool, show_paths: bool
) -> None:
    if show_paths and (name or remove or workspace):
        raise click.UsageError("--path goes alone")
    if remove and (not name or value is not None):
        raise click.UsageError("--unset needs a NAME and no VALUE")
    if workspace and value is None and not remove:
        raise click.UsageError("--workspace needs a VALUE or --unset")


def _refuse(error: CortextError, code: int) -> NoReturn:
    """Print an error with its hint, and exit with `code`."""
    click.echo(f"error: {clean(str(error), lines=False)}", err=True)
    if error.hint:
        click.echo(f"hint: {clean(error.hint, lines=False)}", err=True)
    raise click.exceptions.Exit(code)


def _check_tool(name: str, value: str) -> None:
    """Raise BadSettingError if the setting `name` needs a tool and `value` is not a known tool."""
    setting = definition(name)
    if setting.kind == "tool" and value not in setting.choices and not is_tool(value):
        allowed = f"{', '.join(setting.choices)} or a tool: {', '.join(tool_names())}"
        raise BadSettingError(f"{name} cannot be {value!r}, only {allowed}")


def _change(name: str, value: str | None, workspace: bool) -> None:
    try:
        if value is None:
            path, changed = unset(name, workspace=workspace)
        else:
            _check_tool(name, value)
            path, changed = set_value(name, value, workspace=workspace)
    except BadSettingError as error:
        _refuse(error, 2)
    if value is None:
        done = "removed from" if changed else "is not in"
    else:
        done = "set in" if changed else "was so already in"
    click.echo(f"{name}: {done} {clean(path, lines=False)}", err=True)
    now = _loaded().get(name)
    if value is None or now.origin != path:
        click.echo(f"it is {_word(now.value)} now, by {clean(now.origin, lines=False)}", err=True)


def _loaded() -> Config:
    config = current()
    for warning in config.warnings:
        click.echo(f"warning: {clean(warning, lines=False)}", err=True)
    return config


def _show(name: str | None, as_json: bool) -> None:
    config = _loaded()
    if name is not None:
        value = config[name]
        if as_json:
            print_json(next(_row(config, s) for s in SETTINGS if s.name == name))
        else:
            click.echo(clean(str(value), lines=False))
    elif as_json:
        print_json([_row(config, setting) for setting in SETTINGS])
    else:
        _print(config)


def _row(config: Config, setting: Setting) -> dict[str, Any]:
    value, origin = config.get(setting.name)
    return {
        "name": setting.name,
        "value": value,
        "origin": origin,
        "default": setting.default,
        "doc": setting.doc,
    }


def _print(config: Config) -> None:
    rows = [("NAME", "VALUE", "ORIGIN")]
    for setting in SETTINGS:
        value, origin = config.get(setting.name)
        rows.append((setting.name, _word(value), clean(origin, lines=False)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, value, origin in rows:
        click.echo(f"{name:{widths[0]}}  {value:{widths[1]}}  {origin}")


def _word(value: Any) -> str:
    return clean(str(value), lines=False) or '""'


def _print_paths(as_json: bool) -> None:
    found = files()
    if as_json:
        print_json(found._asdict())
        return
    for path in found:
        if path is not None:
            click.echo(path)
