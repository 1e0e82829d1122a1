"""Conversation types, such as plan and debug.

Each type has a command text, which tells the agent what to do, and a template for the markdown file
of a new conversation.
"""

from __future__ import annotations

import os
import re

from cortext import builtin
from cortext.builtin import TYPES
from cortext.durability.read_files import read_file
from cortext.errors import CortextError
from cortext.model.safe_text import clean
from cortext.stores.workspace_layout import is_type, own_types


class UnknownTypeError(CortextError, LookupError):
    """There is no conversation type with this name."""

    def __init__(self, kind: str, known: list[str]) -> None:
        from difflib import get_close_matches

        self.kind = kind
        self.known = known
        near = "".join(f"did you mean {each}? " for each in get_close_matches(kind, known, n=1))
        super().__init__(
            f"there is no conversation type {kind!r:.60}",
            hint=f"{near}types are {', '.join(known)}; add one as a file in .workspace/commands/",
        )


def built_in(part: str, name: str) -> bytes | None:
    """Return the content of a markdown file that cortext ships; None if there is no such file.

    `part` is the folder of the file, "commands" or "templates". `name` is the name of the file
    without `.md`.
    """
    path = os.path.join(os.path.dirname(builtin.__file__), part, f"{name}.md")
    return read_file(path) if os.path.isfile(path) else None


class Types:
    """The conversation types of one workspace.

    A file in `.workspace/` overrides the file with the same name that cortext ships.
    """

    def __init__(self, root: str) -> None:
        self._folder = os.path.join(root, ".workspace")

    def names(self) -> list[str]:
        """Return the sorted names of all types: built-in, and from `.workspace/commands/`."""
        return sorted({*own_types(os.path.dirname(self._folder)), *TYPES})

    def check(self, kind: str) -> str:
        """Return `kind` if a type with this name exists. Otherwise raise UnknownTypeError."""
        known = self.names()
        if kind not in known:
            raise UnknownTypeError(kind, known)
        return kind

    def command(self, kind: str) -> str:
        """Return the command text of a type: the instructions for the agent.

        The result is "" if the type has no command text.
        """
        return self._text("commands", kind)

    def about(self, kind: str) -> str:
        """Return a one-line description of a type: the first line of text in its command text."""
        lines = (line.strip() for line in self.command(kind).split("\n"))
        first_line = next(
            (line for line in lines if line and not line.startswith(("#", "---"))), ""
        )
        return " ".join(first_line.split())[:200] or f"A conversation of the type {kind}."

    def command_hash(self, kind: str) -> str:
        """Return a hash of the command text of a type. If the text changes, the hash changes."""
        import hashlib

        return "sha256:" + hashlib.sha256(self.command(kind).encode()).hexdigest()

    def template(self, kind: str) -> str:
        """Return the template of a type's markdown file, with placeholders such as `{{title}}`."""
        return self._text("templates", kind) or "# {{title}}\n\n{{date}}\n"

    def document(self, kind: str, *, title: str, id: str, date: str) -> str:
        """Return the markdown of a new conversation, made from the template of its type.

        Control characters in the title are replaced, because users read the file in terminals.
        """
        text = self.template(kind)
        values = {"title": clean(title, lines=False), "id": id, "date": date, "type": kind}
        parts = re.split(r"\{\{(title|id|date|type)\}\}", text)
        return "".join(values[part] if n % 2 else part for n, part in enumerate(parts))

    def _text(self, part: str, kind: str) -> str:
        if not is_type(kind):
            return ""
        path = os.path.join(self._folder, part, f"{kind}.md")
        if os.path.isfile(path):
            return read_file(path).decode("utf-8", "replace")
        return (built_in(part, kind) or b"").decode()
