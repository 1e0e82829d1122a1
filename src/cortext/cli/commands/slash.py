"""`cortext slash`: what the slash commands inside AI tools call.

It starts no other program, but for git, which `slash stop` saves with.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cortext.cli.error_output import debugging
from cortext.errors import CortextError
from cortext.features.slash.pagination import in_pieces, next_piece
from cortext.features.slash.slash_replies import Slash
from cortext.formats.slash_frame import frame, without_mentions
from cortext.tools.opencode.prompt_args import typed_words
from cortext.tools.registry import find_tool

F = TypeVar("F", bound=Callable[..., Any])
_WORDS: dict[str, Any] = {"ignore_unknown_options": True}


@click.group("slash")
def command() -> None:
    """What the slash commands inside AI tools call; it prints text for an agent."""


def _words(function: F) -> F:
    """Add the options that say where the user's words come from.

    The words are arguments, come from stdin, or are read from what was typed in OpenCode.
    """
    for option in (
        click.argument("words", nargs=-1, type=click.UNPROCESSED),
        click.option("--stdin", is_flag=True, help="Read the words from stdin."),
        click.option("--typed", metavar="NAME", help="The words that were typed after /NAME."),
        click.option("--as", "name", metavar="NAME", help="They were typed after /NAME."),
    ):
        function = option(function)
    return function


@command.command("list")
def list_() -> None:
    """What can be resumed, to choose from."""
    _print(lambda slash: slash.list())


@command.command("briefing", context_settings=_WORDS)
@_words
@click.option("--reopen", is_flag=True, help="Also one that was completed.")
@click.option("--rest", metavar="TOKEN", help="The next piece of a long one.")
def briefing(
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
    reopen: bool,
    rest: str | None,
) -> None:
    """All that an agent needs to go on with a conversation; without words, the list."""
    if rest is not None:
        _print(lambda slash: without_mentions(next_piece(rest)))
        return

    def made(slash: Slash, said: str) -> str:
        text = slash.briefing(said, reopen=reopen)
        # What a command file of these tools prints is not cut.
        if typed or name:
            return text
        return in_pieces(without_mentions(text), slash.inside.tool if slash.inside else "")

    _answer(made, words, stdin, typed, name)


@command.command("new", context_settings=_WORDS)
@click.argument("kind", metavar="TYPE")
@_words
def new(
    kind: str, words: tuple[str, ...], stdin: bool, typed: str | None, name: str | None
) -> None:
    """Begin a conversation in this session of the tool."""
    _answer(lambda slash, said: slash.new(kind, said), words, stdin, typed, name)


@command.command("stop", context_settings=_WORDS)
@_words
@click.option("--how", is_flag=True, help="Only tell the agent what to do; save nothing.")
@click.option("--done", is_flag=True, help="It is finished, not paused.")
@click.option("--id", "id", default="", help="The conversation; by default this session's.")
def stop(
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
    how: bool,
    done: bool,
    id: str,
) -> None:
    """Save this session's conversation; the words are its summary."""
    if how:
        _answer(lambda slash, said: slash.how_to_stop(said), words, stdin, typed, name)
        return

    slash = Slash()
    text, notes = slash.stop(_said(slash, words, stdin, typed), id=id, done=done)
    click.echo("\n".join([text, *notes]))


def _said(slash: Slash, words: tuple[str, ...], stdin: bool, typed: str | None) -> str:
    """Return the words that the user wrote.

    Escapes that some tools add to the words are removed.
    """
    if typed is not None:
        return typed_words(typed, slash.inside.process if slash.inside else None)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if stdin else " ".join(words)

    # Some tools put a backslash before a bang, for shells that expand it.
    escapes = slash.inside and find_tool(slash.inside.tool).escapes_bangs
    return text.replace("\\!", "!") if escapes else text


def _answer(
    made: Callable[[Slash, str], str],
    words: tuple[str, ...],
    stdin: bool,
    typed: str | None,
    name: str | None,
) -> None:
    """Print the text that `made` returns for the user's words.

    If the tool stores the printed text in a transcript, print it in a frame, so that it can be
    recognised there later.
    """

    def framed(slash: Slash) -> str:
        said = _said(slash, words, stdin, typed)
        text = without_mentions(made(slash, said))
        if command:
            return frame(text, command=command, words=said, nonce=slash.nonce)
        # By this the session is known later that an agent runs us in.
        return f"{text}\n[cortext {slash.nonce}]" if slash.waits else text

    command = typed or name
    _print(framed, typed=bool(command))


def _print(made: Callable[[Slash], str], *, typed: bool = False) -> None:
    """Print the text that `made` returns.

    Print errors to stdout too, and do not fail: the agent reads only stdout and tells the user.
    """
    try:
        text = made(Slash(typed=typed))
    except (CortextError, OSError) as error:
        if debugging.on:
            raise
        hint = getattr(error, "hint", "")
        text = f"error: {error}\n" + (f"hint: {hint}\n" if hint else "")
        text += "Tell the person this in one line, and do nothing else."
    click.echo(text)
