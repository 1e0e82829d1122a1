"""Options, arguments and types of values that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cortext.cli.error_output import similar_option
from cortext.model import json_codec

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])

DOCUMENT, AGENTS = "document", "agents"
"""The names of the two parts of a conversation that are not messages: its markdown document and the
text of its sub-agents. `search` prints these names. `show --at NAME` opens the part."""


def plain_words(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Check that no word of an argument looks like a misspelt option, and return the words.

    Raises UsageError for a word such as `--lmit`. A word such as `-5` is accepted. If the command
    line contains `--`, every word is accepted.
    """
    for word in value:
        name = word[2:].partition("=")[0].replace("-", "")
        if word.startswith("--") and name.isalpha() and "--" not in sys.argv:
            raise no_such_option(word, ctx)
    return value


def query_words(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Check that no word of a query looks like an option, and return the words.

    This check is stricter than `plain_words`: it also raises UsageError for a word with one hyphen,
    such as `-t`. For titles and topics, use `plain_words`, because they may contain such a word.
    """
    for word in plain_words(ctx, param, value):
        if word.startswith("-") and word[1:].isalpha() and "--" not in sys.argv:
            raise no_such_option(word, ctx)
    return value


def no_such_option(word: str, ctx: click.Context, more: str = "") -> click.UsageError:
    """Return the error for a word that looks like an option but is not an option of the command.

    The message suggests a similar option. `more` is added to the end of the message.
    """
    near = similar_option(word, ctx)
    suggestion = f" Did you mean {near}?" if near else ""
    how = f"Put words that look like options after `--`{more}."
    return click.UsageError(f"No such option {word!r}.{suggestion} {how}", ctx)


def all_option(command: F) -> F:
    return click.option(
        "--all",
        "everywhere",
        is_flag=True,
        help="Include all workspaces and folders, not only the current one.",
    )(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class Number(click.IntRange):
    """The click type of an option whose value is a whole number between two limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if self.min is not None and number < self.min:
            self.fail(f"{number} is too small; the smallest value is {self.min}", param, ctx)
        if self.max is not None and number > self.max:
            self.fail(f"{number} is too large; the largest value is {self.max}", param, ctx)
        return number


def print_json(value: Any) -> None:
    click.echo(json_codec.encode(value))
