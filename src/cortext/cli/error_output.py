"""Print errors for the user: one sentence and a hint. Choose the exit code for each error."""

from __future__ import annotations

import os
import sys

import click

from cortext import errors
from cortext.cli.terminal_text import clean
from cortext.durability.durable_files import hint_for


class _Debugging:
    """The state of the option `--debug`. If `on` is True, `report` prints tracebacks."""

    on = False


debugging: _Debugging = _Debugging()


class OptionValueError(errors.CortextError):
    """The value of an option names something that does not exist. The exit code is 2."""


_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (errors.SessionNotFoundError, 3),
    (errors.AmbiguousIdError, 4),
    (errors.SessionCorruptedError, 5),
    (errors.SessionLockedError, 6),
    (errors.InvalidIdError, 2),
    (OptionValueError, 2),
    (errors.CortextError, 1),
    (OSError, 1),
    (KeyboardInterrupt, 130),
    (click.Abort, 130),
)


def report(error: BaseException) -> int:
    """Print an error with its hint, and return the exit code of the program.

    If the error is a SystemExit, raise it again.
    """
    if debugging.on:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.ClickException):
        _name_similar_option(error).show()
        return error.exit_code
    for kind, code in _CODES:
        if isinstance(error, kind):
            _print_error(error)
            return code
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, ModuleNotFoundError) and (package := _package_of(error)):
        _print_error(_missing_package(package))
        return 1
    if not debugging.on:
        text = clean(f"{type(error).__name__}: {error}", lines=False)
        click.echo(f"error: unexpected error: {text}", err=True)
        click.echo(
            "hint: `cortext --debug …` shows the traceback; saved conversations are not affected",
            err=True,
        )
    return 1


def similar_option(word: str, ctx: click.Context) -> str:
    """Return the option that the user may have meant by `word`, or "" if there is none.

    For example, `-all` means `--all`. A single letter such as `-t` means the first option that
    starts with `--t`.
    """
    from difflib import get_close_matches

    names = [option for param in ctx.command.get_params(ctx) for option in param.opts]
    known = [name for name in names if name.startswith("-")]
    name = word.partition("=")[0]
    if not name.startswith("--"):
        starting = [each for each in known if each.startswith(f"-{name}")]
        if starting or len(name) == 2:
            return next(iter(starting), "")
    return next(iter(get_close_matches(name, known, n=1)), "")


def _name_similar_option(error: click.ClickException) -> click.ClickException:
    """Return a better error for an unknown short option: with the whole word and a suggestion.

    For the word `-all`, click reports only the unknown option `-a`. If `error` is any other error,
    return it unchanged.
    """
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    if error.option_name.startswith("--"):
        return error
    words = [word for word in sys.argv[1:] if word.startswith(error.option_name)]
    word = words[0] if words else error.option_name
    near = similar_option(word, error.ctx)
    suggestion = f" Did you mean {near}?" if near else ""
    return click.UsageError(f"No such option {word!r}.{suggestion}", error.ctx)


def _package_of(error: ModuleNotFoundError) -> str:
    """Return the name of the package that must be installed to fix an import error.

    Return "" if the missing module belongs to cortext or to Python itself.
    """
    package = (error.name or "").partition(".")[0]
    return "" if package == "cortext" or package in sys.stdlib_module_names else package


def _missing_package(package: str) -> errors.CortextError:
    """Return the error that says how to install a missing package."""
    from cortext.installation import install_command

    return errors.CortextError(
        f"cortext needs the package {package}, which is not installed",
        hint=f"install it with `{install_command(package)}`",
    )


def _print_error(error: BaseException) -> None:
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
