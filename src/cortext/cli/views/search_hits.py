"""Search hits as `cortext search` prints them, grouped by conversation.

The found words are marked. Below each conversation are the commands that open it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import AGENTS, DOCUMENT
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import cells, clean, fit, local
from cortext.cli.views.list_view import short as short_path
from cortext.cli.views.list_view import short_id
from cortext.clock import from_micros
from cortext.features.listing.conversation_names import Names, reopens
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Group, SearchRequest
from cortext.formats.text_search.search_query import find, parse, snippet
from cortext.tools.registry import display_name

_LINES = 2
"""The most lines of a title or a snippet in a terminal."""
_INDENT = "   "
_NARROWEST, _STEP = 20, 4
_OTHERS = {
    "user": "you",
    "tool": "a tool",
    "agents": "a sub-agent",
    "document": "its document",
    "title": "its summary",
}
_LOOSE = "without the signs"
_SEEN = ("«", "»")
"""The marks around found words, for terminals without bold text."""
Span = tuple[int, int]


class HitPage:
    """The layout of search hits.

    In a terminal, long lines are wrapped and the found words are marked. `rows` are all
    conversations, so that the printed ids are unique among them.
    """

    def __init__(self, rows: Sequence[ConversationRow], question: SearchRequest) -> None:
        self._names, self._question = Names(rows), question
        self._terms = parse(question.text).terms
        self._width = 0
        self._mark = self._dim = ("", "")
        if sys.stdout.isatty():
            import shutil

            self._width = max(shutil.get_terminal_size().columns, _NARROWEST)
            styled = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            self._mark = ("\x1b[1m", "\x1b[0m") if styled else _SEEN
            self._dim = ("\x1b[2m", "\x1b[0m") if styled else ("", "")

    def lines(self, number: int, group: Group) -> Iterator[str]:
        """Yield the lines of one conversation with its hits and the commands that open it.

        In a terminal, the lines show `number`, which the user can type instead of the id.
        """
        row = group.row
        title = clean(row.title, lines=False) or "(no title)"
        head = f"{number}. {title}" if self._width else title
        facts = [row.kind, *row.tool_names, short_path(row.folder), row.status]
        facts += [f"of {row.owner}"] if row.owner else []
        told = "".join(f" · {fact}" for fact in facts if fact)
        head = self._beside(head, told)
        yield from self._laid_out(head + told, find(head, self._terms), "")
        for hit in group.hits:
            yield from self._hit(row, hit)
        yield from self._commands(number, group)

    def _beside(self, head: str, told: str) -> str:
        """Return the title line `head`, cut so that the facts `told` fit beside it."""
        shown = head
        room = min(cells(head), _LINES * self._width - cells(told))
        while self._width and room > _NARROWEST and not self._has_room(shown, told):
            shown, room = fit(head, room), room - _STEP
        return shown

    def _has_room(self, head: str, told: str) -> bool:
        text = head + told
        if self._mark == _SEEN:
            text = _marked(text, find(head, self._terms), 0, len(text), self._mark)
        return _cuts(text, self._width - len(_INDENT), _LINES)[-1][1] >= len(text)

    def _hit(self, row: ConversationRow, hit: SearchHit) -> Iterator[str]:
        piece, (on, off) = hit.snippet, self._dim
        if hit.role == "title":
            piece = snippet(row.summary, self._terms)
            if not piece.spans:
                if not hit.exact:
                    yield f"{_INDENT}{on}its title is {_LOOSE}{off}"
                return  # the title is already shown above
        number = f"#{hit.number} " if hit.number > 0 else ""
        when = f", {local(from_micros(hit.time))}" if hit.time else ""
        signs = "" if hit.exact else f", {_LOOSE}"
        head = f"{number}{_who(hit)}{when}{signs}: "
        spans = [(start + len(head), end + len(head)) for start, end in piece.spans]
        yield from self._laid_out(head + piece.text, spans, _INDENT)

    def _commands(self, number: int, group: Group) -> Iterator[str]:
        row, names = group.row, self._names
        name = names.of(row, *([short_id(row)] if self._width else ()))
        typed = str(number) if self._width else quoted(name)
        show = f"cortext show {typed}"
        opened = [f"{show} --at {spot}" for spot in _spots(group.hits)] or [show]
        found = [reopens(row, name, quoted), *opened]
        if group.more and not self._question.only:
            found.append(f"more of it: --conversation {typed}")
        lines: list[str] = []
        for command in found:
            if lines and cells(f"{_INDENT}{lines[-1]} · {command}") <= self._width:
                lines[-1] += f" · {command}"
            else:
                lines.append(command)
        on, off = self._dim
        yield from (f"{_INDENT}{on}{line}{off}" for line in lines)

    def _laid_out(self, text: str, spans: Sequence[Span], indent: str) -> Iterator[str]:
        """Yield a text with the `spans` marked.

        In a terminal, these are at most `_LINES` lines that fit.
        """
        # Replace one character by one, so that the marks stay in place.
        text = clean(text).replace("\n", " ").replace("\t", " ")
        if self._mark == _SEEN:
            text, spans = _marked(text, spans, 0, len(text), self._mark), ()
        width = self._width - len(_INDENT)
        cuts = _cuts(text, width, _LINES) if self._width else [(0, len(text))]
        for start, end in cuts:
            rest = "…" if (start, end) == cuts[-1] and end < len(text) else ""
            line = _marked(text, spans, start, end, self._mark)
            yield f"{_INDENT if start else indent}{line.rstrip()}{rest}"


def _marked(text: str, spans: Sequence[Span], start: int, end: int, mark: tuple[str, str]) -> str:
    """Return the text from `start` to `end`, with marks around the spans in it."""
    on, off = mark
    line, at = "", start
    for first, last in spans:
        first, last = max(first, at), min(last, end)
        if first < last:
            line += f"{text[at:first]}{on}{text[first:last]}{off}"
            at = last
    return line + text[at:end]


def _cuts(text: str, width: int, most: int) -> list[Span]:
    """Return the start and end of each line when a text is wrapped, at spaces if possible.

    One column stays free for the `…` of a cut text. There are at most `most` lines.
    """
    cuts: list[Span] = []
    start = 0
    while start < len(text) and len(cuts) < most:
        end, taken = start, 0
        while end < len(text) and (taken := taken + cells(text[end])) < width:
            end += 1
        end = max(end, start + 1)
        space = text.rfind(" ", start, end)
        if end < len(text) and space > start + width // 2:
            end = space + 1
        cuts.append((start, end))
        start = end
    return cuts or [(0, 0)]


def _spots(hits: Sequence[SearchHit]) -> list[str]:
    """Return the values of `show --at` that open these hits.

    These are the number of the first message with a hit, and the names of the document and the
    sub-agents.
    """
    numbers = [str(hit.number) for hit in hits if hit.number > 0]
    roles = dict.fromkeys(hit.role for hit in hits)
    return numbers[:1] + [role for role in roles if role in (DOCUMENT, AGENTS)]


def _who(hit: SearchHit) -> str:
    if hit.role == "assistant":
        name = hit.row.agent or ("" if hit.row.is_standalone else hit.row.tool) or "agent"
        return clean(display_name(name), lines=False)
    return _OTHERS.get(hit.role, hit.role)
