"""Frames around the text that a slash command puts into a prompt.

OpenCode and Gemini CLI store the expanded command in their transcripts, even if it contains a whole
history. As a message of the person, this text would be repeated at every resume and grow each time.
The frame says what the person typed, and readers of transcripts use that text instead.
"""

from __future__ import annotations

import re

from cortext.formats.briefing import escape, unescape

AFTER = (
    "Do what stands above. If it is only an error, or nothing: say in one line that `cortext` did "
    "not run, and that it has to be installed and on the PATH."
)
"""The text that follows a frame in a command file."""
_FRAMED = re.compile(r"\[cortext ([0-9a-f]{32})\] (/[^\n]+)\n.*\n\[end cortext \1\](.*)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/.+-])@")
_AT_SIGN = "\N{SYMBOL FOR ESCAPE}{40}"
_SHELL = ("[Shell command '", "' terminated by signal 0]")


def without_mentions(text: str) -> str:
    """Return a text without at signs that could attach a file; `unescape` restores them.

    Claude Code reads `@name` as a file, even in the output of a command.
    """
    calm, count = _MENTION.subn(_AT_SIGN, text)
    return f"{calm}\n({_AT_SIGN} stands for an at sign.)" if count else text


def frame(text: str, *, command: str, words: str, nonce: str) -> str:
    """Return `text` in a frame that says that it is the expansion of `/COMMAND WORDS`."""
    typed = escape(f"/{command} {words.strip()}".rstrip())
    return f"[cortext {nonce}] {typed}\n{text}\n[end cortext {nonce}]"


def as_typed(text: str) -> str:
    """Return what a person typed if the text is a framed command; otherwise return the text.

    If other text follows the frame, the whole text is returned, so that no words are lost.
    """
    found = _FRAMED.fullmatch(text.strip())
    if found is None:
        return text
    rest = _without_shell(found[3]).replace(AFTER, "")
    return text if rest.strip() else unescape(found[2])


def _without_shell(text: str) -> str:
    """Return the text without Gemini CLI's note about a shell command that was ended."""
    start, end = text.find(_SHELL[0]), text.rfind(_SHELL[1])
    if start < 0 or end < start + len(_SHELL[0]):
        return text
    return text[:start] + text[end + len(_SHELL[1]) :]
