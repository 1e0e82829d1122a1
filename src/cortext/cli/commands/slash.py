"""The command `cortext slash`, which the slash commands inside AI tools call.

The command starts no other program. The only exception is `slash stop`, which runs git.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.cli.error_output import debugging
from cortext.errors import CortextError
from cortext.features.slash.long_output import in_pieces, next_piece
from cortext.features.slash.slash_actions import Slash
from cortext.formats.slash_command_frame import frame, without_mentions
from cortext.tools.opencode.typed_slash_text import typed_words
from cortext.tools.registry import find_tool

F = TypeVar("F", bound=Callable[..., Any])
_WORD_SETTINGS: dict[str, Any] = {"ignore_unknown_options": True}


@click.group("slash")
def command() -> None:
    """Print text for an agent. The slash commands inside AI tools call this command."""


def _word_options(function: F) -> F:
    """Add the parameters that a click command needs to receive the words after a slash command.

    The user types these words in an AI tool. The tool passes them as arguments or on stdin. For
    OpenCode, cortext finds them in the prompt that the user typed.
    """
    for option in (
        click.argument("words", nargs=-1, type=click.UNPROCESSED),
        click.option("--stdin", is_flag=True, help="Read the words from stdin."),
        click.option(
            "--typed",
            metavar="NAME",
            help="Read the words that the user typed after /NAME in OpenCode.",
        ),
        click.option(
            "--as", "name", metavar="NAME", help="The slash command that the words belong to."
        ),
    ):
        function = option(function)
    return function


@command.command("list")
def list_() -> None:
    """List the conversations that can be resumed."""
    _print(lambda slash: slash.list())


@command.command("briefing", context_settings=_WORD_SETTINGS)
@_word_options
@click.option("--reopen", is_flag=True, help="Resume it even if it is marked complete.")
@click.option("--rest", metavar="TOKEN", help="Print the next part of a long briefing.")
def briefing(
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
    reopen: bool,
    rest: str | None,
) -> None:
    """Print the text that an agent needs to continue a conversation.

    Without words, list the conversations that can be resumed.
    """
    if rest is not None:
        _print(lambda slash: without_mentions(next_piece(rest)))
        return

    def compose(slash: Slash, user_words: str) -> str:
        text = slash.briefing(user_words, reopen=reopen)
        # With these options, the caller is a command file of a tool. The tool does not cut the
        # output, so the text need not be split.
        if typed or name:
            return text
        return in_pieces(without_mentions(text), slash.inside.tool if slash.inside else "")

    _print_answer(compose, words, stdin, typed, name)


@command.command("new", context_settings=_WORD_SETTINGS)
@click.argument("kind", metavar="TYPE")
@_word_options
def new(
    kind: str, words: tuple[str, ...], stdin: bool, typed: str | None, name: str | None
) -> None:
    """Start a conversation in this session of the tool."""
    _print_answer(lambda slash, user_words: slash.new(kind, user_words), words, stdin, typed, name)


@command.command("stop", context_settings=_WORD_SETTINGS)
@_word_options
@click.option("--how", is_flag=True, help="Print instructions for the agent, and save nothing.")
@click.option("--done", is_flag=True, help="Mark the conversation complete instead of paused.")
@click.option(
    "--id", "id", default="", help="The conversation.  [default: the conversation of this session]"
)
def stop(
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
    how: bool,
    done: bool,
    id: str,
) -> None:
    """Save the conversation of this session. The words become its summary."""
    if how:
        _print_answer(
            lambda slash, user_words: slash.how_to_stop(user_words), words, stdin, typed, name
        )
        return

    slash = Slash()
    text, notes = slash.stop(_read_words(slash, words, stdin, typed), id=id, done=done)
    click.echo("\n".join([text, *notes]))


def _read_words(slash: Slash, words: tuple[str, ...], stdin: bool, typed: str | None) -> str:
    """Return the words that the user typed after a slash command.

    If `typed` is not None, it is the name of a slash command in OpenCode. In this case, find the
    words in the prompt that the user typed. Otherwise read the words from stdin if `stdin` is True,
    or join the arguments `words` if it is False.
    """
    if typed is not None:
        return typed_words(typed, slash.inside.process if slash.inside else None)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if stdin else " ".join(words)

    # Some tools add a backslash before `!`, because some shells expand a `!`.
    escapes = slash.inside and find_tool(slash.inside.tool).escapes_bangs
    return text.replace("\\!", "!") if escapes else text


def _print_answer(
    compose: Callable[[Slash, str], str],
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
) -> None:
    """Print the text that `compose` returns for the words that the user typed.

    If the user typed a slash command, `typed` or `name` is its name. In this case, put a mark
    before and after the text. The AI tool stores the text in its transcript, and cortext later
    recognizes the text by these marks. If the agent called `cortext slash` itself, `typed` and
    `name` are None.
    """

    def compose_framed(slash: Slash) -> str:
        user_words = _read_words(slash, words, stdin, typed)
        text = without_mentions(compose(slash, user_words))
        if command:
            return frame(text, command=command, words=user_words, nonce=slash.nonce)
        # The agent ran this command. The added line later identifies the session by its transcript.
        return f"{text}\n[cortext {slash.nonce}]" if slash.waits else text

    command = typed or name
    _print(compose_framed, typed=bool(command))


def _print(compose: Callable[[Slash], str], *, typed: bool = False) -> None:
    """Print the text that `compose` returns, or the error that it raises.

    Errors also go to stdout, with exit code 0, because the agent reads only stdout and then tells
    the user. `typed` is True if the user typed a slash command, and False if the agent itself
    called `cortext slash`.
    """
    try:
        text = compose(Slash(typed=typed))
    except (CortextError, OSError) as error:
        if debugging.on:
            raise
        hint = getattr(error, "hint", "")
        text = f"error: {error}\n" + (f"hint: {hint}\n" if hint else "")
        text += "Tell the user this in one line, and do nothing else."
    click.echo(text)
