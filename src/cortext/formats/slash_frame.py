"""What a slash command put into a prompt, framed so that it can be told from what a person wrote.

OpenCode and Gemini CLI keep in their transcripts what a command became: our texts, even a whole
history. Kept as what the person said, it would come back with every resume, each time larger.
The frame says what was typed; readers of transcripts take that in its place.
"""

from __future__ import annotations

import re

from cortext.formats.briefing import escape, unescape

AFTER = (
    "Do what stands above. If it is only an error, or nothing: say in one line that `cortext` did "
    "not run, and that it has to be installed and on the PATH."
)
"""What follows a frame in a command file."""
_FRAMED = re.compile(r"\[cortext ([0-9a-f]{32})\] (/[^\n]+)\n.*\n\[end cortext \1\](.*)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/.+-])@")
_AT_SIGN = "\N{SYMBOL FOR ESCAPE}{40}"
_SHELL = ("[Shell command '", "' terminated by signal 0]")


def without_mentions(text: str) -> str:
    """A text in which no tool finds a file to attach: Claude Code takes `@name` for one, also in
    what a command prints. `unescape` gives it back."""
    calm, count = _MENTION.subn(_AT_SIGN, text)
    return f"{calm}\n({_AT_SIGN} stands for an at sign.)" if count else text


def frame(text: str, *, command: str, words: str, nonce: str) -> str:
    """`text` as what `/COMMAND WORDS` became."""
    typed = escape(f"/{command} {words.strip()}".rstrip())
    return f"[cortext {nonce}] {typed}\n{text}\n[end cortext {nonce}]"


def as_typed(text: str) -> str:
    """What a person typed, where a text is what a slash command of ours became; else the text.
    If anything else follows the frame it is the text: nobody's words are dropped."""
    found = _FRAMED.fullmatch(text.strip())
    if found is None:
        return text
    rest = _without_shell(found[3]).replace(AFTER, "")
    return text if rest.strip() else unescape(found[2])


def _without_shell(text: str) -> str:
    """Return the text without what Gemini CLI says of a shell command that was ended."""
    start, end = text.find(_SHELL[0]), text.rfind(_SHELL[1])
    if start < 0 or end < start + len(_SHELL[0]):
        return text
    return text[:start] + text[end + len(_SHELL[1]) :]
