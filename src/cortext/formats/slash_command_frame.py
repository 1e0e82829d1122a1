"""Frames around the text that a slash command of cortext puts into a prompt.

A frame is a first and a last line around the text. The first line contains the slash command that
the user typed. OpenCode and Gemini CLI store the framed text in their transcripts as the user's
message, even if it contains a whole history. The reader of a transcript keeps only the slash
command. Otherwise the history would contain itself and grow at every resume.
"""

from __future__ import annotations

import re

from cortext.formats.history_text import escape, unescape

AFTER = (
    "Follow the text above. If there is no text or only an error above, say in one line that "
    "`cortext` did not run, and that it must be installed and on the PATH."
)
"""The instruction that follows a frame in the file of a slash command."""
_FORMER_AFTER = (
    "Do what stands above. If it is only an error, or nothing: say in one line that `cortext` did "
    "not run, and that it has to be installed and on the PATH."
)
"""The wording of `AFTER` in earlier versions, which older transcripts contain."""
_FRAMED = re.compile(r"\[cortext ([0-9a-f]{32})\] (/[^\n]+)\n.*\n\[end cortext \1\](.*)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/.+-])@")
_AT_SIGN = "\N{SYMBOL FOR ESCAPE}{40}"
_SHELL = ("[Shell command '", "' terminated by signal 0]")


def without_mentions(text: str) -> str:
    """Escape at signs in a text, so that Claude Code does not attach a file for `@name`.

    Claude Code attaches files even for mentions in the output of a command. A last line explains
    the escape to the agent. `unescape` restores the at signs.
    """
    escaped, count = _MENTION.subn(_AT_SIGN, text)
    return f"{escaped}\n({_AT_SIGN} stands for an at sign.)" if count else text


def frame(text: str, *, command: str, words: str, nonce: str) -> str:
    """Put a frame (a first and a last line) around the text that a slash command adds to a prompt.

    `command` is the name of the slash command. `words` are the words that the user typed after the
    name. `nonce` is a new random text, which both lines of the frame contain.
    """
    typed = escape(f"/{command} {words.strip()}".rstrip())
    return f"[cortext {nonce}] {typed}\n{text}\n[end cortext {nonce}]"


def as_typed(text: str) -> str:
    """Return what the user typed.

    A slash command of cortext puts a frame, which is a first and a last line, around the text that
    it adds to a prompt. If `text` has a frame, return the slash command in the first line.
    Otherwise return `text` itself. Also return `text` if words of the user come after the frame, so
    that no word is lost.
    """
    match = _FRAMED.fullmatch(text.strip())
    if match is None:
        return text
    rest = _without_shell(match[3]).replace(AFTER, "").replace(_FORMER_AFTER, "")
    return text if rest.strip() else unescape(match[2])


def _without_shell(text: str) -> str:
    """Remove the note of Gemini CLI that says that a shell command was terminated."""
    start, end = text.find(_SHELL[0]), text.rfind(_SHELL[1])
    if start < 0 or end < start + len(_SHELL[0]):
        return text
    return text[:start] + text[end + len(_SHELL[1]) :]
