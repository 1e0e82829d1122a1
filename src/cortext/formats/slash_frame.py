"""Frames around the text that a slash command of cortext puts into a prompt.

OpenCode and Gemini CLI store this text in their transcripts as the user's message, even if it
contains a whole history. Without frames, the history would contain itself and grow at every resume.
The frame contains what the user typed, and we use that as the user's message instead.
"""

from __future__ import annotations

import re

from cortext.formats.briefing import escape, unescape

AFTER = (
    "Do what stands above. If it is only an error, or nothing: say in one line that `cortext` did "
    "not run, and that it has to be installed and on the PATH."
)
"""The instruction that follows a frame in the file of a slash command."""
_FRAMED = re.compile(r"\[cortext ([0-9a-f]{32})\] (/[^\n]+)\n.*\n\[end cortext \1\](.*)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/.+-])@")
_AT_SIGN = "\N{SYMBOL FOR ESCAPE}{40}"
_SHELL = ("[Shell command '", "' terminated by signal 0]")


def without_mentions(text: str) -> str:
    """Escape at signs, so that Claude Code does not attach a file for `@name`.

    Claude Code does so even in the output of a command. `unescape` restores the at signs.
    """
    calm, count = _MENTION.subn(_AT_SIGN, text)
    return f"{calm}\n({_AT_SIGN} stands for an at sign.)" if count else text


def frame(text: str, *, command: str, words: str, nonce: str) -> str:
    """Put a frame around `text`, the prompt that the slash command `/COMMAND WORDS` expands to.

    `nonce` is a new random text that marks the start and end of the frame.
    """
    typed = escape(f"/{command} {words.strip()}".rstrip())
    return f"[cortext {nonce}] {typed}\n{text}\n[end cortext {nonce}]"


def as_typed(text: str) -> str:
    """Return the slash command that the user typed, if `text` is a frame; otherwise return `text`.

    If the user's own words follow the frame, the whole text is returned, so that none are lost.
    """
    found = _FRAMED.fullmatch(text.strip())
    if found is None:
        return text
    rest = _without_shell(found[3]).replace(AFTER, "")
    return text if rest.strip() else unescape(found[2])


def _without_shell(text: str) -> str:
    """Remove the note that Gemini CLI adds when a shell command was terminated."""
    start, end = text.find(_SHELL[0]), text.rfind(_SHELL[1])
    if start < 0 or end < start + len(_SHELL[0]):
        return text
    return text[:start] + text[end + len(_SHELL[1]) :]
