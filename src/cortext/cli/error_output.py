"""Errors as the user sees them: one sentence, a hint, and an exit code."""

from __future__ import annotations

import os
import sys

import click

from cortext import errors
from cortext.cli.terminal_text import clean
from cortext.durability.replace_file import hint_for


class _Debugging:
    """Whether the option `--debug` was given: `on` makes `report` print tracebacks."""

    on = False


debugging: _Debugging = _Debugging()

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.SessionNotFoundError, 3),
    (errors.AmbiguousIdError, 4),
    (errors.SessionCorruptedError, 5),
    (errors.SessionLockedError, 6),
    (errors.InvalidIdError, 2),
    (errors.CortextError, 1),
    (OSError, 1),
    (KeyboardInterrupt, 130),
    (click.Abort, 130),
)


def report(error: BaseException) -> int:
    """Print an error with its hint, and return the exit code for it.

    A SystemExit is raised again.
    """
    if debugging.on:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    for kind, code in _CODES:
        if isinstance(error, kind):
            _say(error)
            return code
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, ModuleNotFoundError) and (package := _package_of(error)):
        _say(_missing_package(package))
        return 1
    if not debugging.on:
        text = clean(f"{type(error).__name__}: {error}", lines=False)
        click.echo(f"error: something unexpected: {text}", err=True)
        click.echo("hint: `cortext --debug …` shows where; nothing saved is lost", err=True)
    return 1


def _package_of(error: ModuleNotFoundError) -> str:
    """Return the name of the package that must be installed to fix the import error.

    Return "" if the missing module belongs to cortext or to Python itself.
    """
    package = (error.name or "").partition(".")[0]
    return "" if package == "cortext" or package in sys.stdlib_module_names else package


def _missing_package(package: str) -> errors.CortextError:
    """Return the error that says how to install a missing package."""
    from cortext.installation import install_command

    return errors.CortextError(
        f"the package {package} is not installed, but cortext needs it",
        hint=f"install it with `{install_command(package)}`",
    )


def _say(error: BaseException) -> None:
    if debugging.on:
        return
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        click.echo("interrupted", err=True)
        return
    sentence, hint = str(error), getattr(error, "hint", "")
    if isinstance(error, OSError) and not isinstance(error, errors.CortextError) and error.errno:
        what = f"{error.filename}: " if error.filename else ""
        sentence, hint = f"{what}{os.strerror(error.errno).lower()}", hint_for(error)
    click.echo(f"error: {clean(sentence, lines=False)}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
