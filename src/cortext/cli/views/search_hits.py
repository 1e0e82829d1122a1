"""Lay out search hits (matching messages) for `cortext search`, grouped by conversation.

The found words are marked. Below the hits of a conversation are the commands that open it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from cortext.catalog.row import ConversationRow
from cortext.cli.common_options import AGENTS, DOCUMENT
from cortext.cli.shell_quoting import quoted
from cortext.cli.terminal_text import cells, clean, fit, local
from cortext.cli.views.list_view import short_id
from cortext.clock import from_micros
from cortext.features.listing.project_names import project_names
from cortext.features.listing.unique_conversation_names import Names, reopens
from cortext.features.search.search import SearchHit
from cortext.features.search.search_results import Group, SearchRequest
from cortext.formats.text_search.search_query import find, parse, snippet
from cortext.tools.registry import display_name

_MAX_LINES = 2
"""The most lines of a title or a snippet in a terminal."""
_INDENT = "   "
_MIN_WIDTH, _CUT_STEP = 20, 4
_ROLE_NAMES = {
    "user": "you",
    "tool": "tool output",
    "agents": "sub-agent",
    "document": "document",
    "title": "summary",
}
_LOOSE = "without the punctuation"
_TEXT_MARKS = ("«", "»")
"""The marks around found words, for terminals without bold text."""
Span = tuple[int, int]


class HitPage:
    """A formatter that turns search hits into lines of text.

    In a terminal it wraps long lines and marks the found words. `rows` are all conversations, which
    are needed to find unique ids. `question` is the search that found the hits.
    """

    def __init__(self, rows: Sequence[ConversationRow], question: SearchRequest) -> None:
        self._names, self._request = Names(rows), question
        self._projects = project_names(row.folder for row in rows)
        self._terms = parse(question.text).terms
        self._width = 0
        self._mark = self._dim = ("", "")
        if sys.stdout.isatty():
            import shutil

            self._width = max(shutil.get_terminal_size().columns, _MIN_WIDTH)
            styled = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            self._mark = ("\x1b[1m", "\x1b[0m") if styled else _TEXT_MARKS
            self._dim = ("\x1b[2m", "\x1b[0m") if styled else ("", "")

    def lines(self, number: int, group: Group) -> Iterator[str]:
        """Yield the lines of one conversation: its title, its hits, and the commands that open it.

        In a terminal, the lines show `number`, which the user can type instead of the id.
        """
        row = group.row
        title = clean(row.title, lines=False) or "(no title)"
        head = f"{number}. {title}" if self._width else title
        facts = [row.kind, *row.tool_names, self._projects.get(row.folder, ""), row.branch]
        facts.append(row.status)
        facts += [f"owner {row.owner}"] if row.owner else []
        facts_text = "".join(f" · {fact}" for fact in facts if fact)
        head = self._cut_title(head, facts_text)
        yield from self._wrap(head + facts_text, find(head, self._terms), "")
        for hit in group.hits:
            yield from self._hit_lines(row, hit)
        yield from self._command_lines(number, group)

    def tab_line(self, group: Group) -> str:
        """Return one conversation as a line for a program, with tabs between the fields.

        The fields are the id, the values for `cortext show --at`, the title, facts such as the
        tool, and the best hit.
        """
        row = group.row
        facts = [row.kind, *row.tool_names, row.folder, row.branch, row.status]
        facts += [f"owner {row.owner}"] if row.owner else []
        hits = [line.strip() for hit in group.hits for line in self._hit_lines(row, hit)]
        fields = [
            self._names.of(row),
            ",".join(_at_values(group.hits)),
            row.title or "(no title)",
            " · ".join(fact for fact in facts if fact),
            *hits[:1],
        ]
        return "\t".join(clean(field, lines=False).replace("\t", " ") for field in fields)

    def _cut_title(self, head: str, facts_text: str) -> str:
        """Cut a title so that it fits into `_MAX_LINES` lines, together with the facts after it.

        `head` is the title. `facts_text` has the facts, such as the tool and the status.
        """
        shown = head
        room = min(cells(head), _MAX_LINES * self._width - cells(facts_text))
        while self._width and room > _MIN_WIDTH and not self._has_room(shown, facts_text):
            shown, room = fit(head, room), room - _CUT_STEP
        return shown

    def _has_room(self, head: str, facts_text: str) -> bool:
        text = head + facts_text
        if self._mark == _TEXT_MARKS:
            text = _mark_spans(text, find(head, self._terms), 0, len(text), self._mark)
        return _wrap_spans(text, self._width - len(_INDENT), _MAX_LINES)[-1][1] >= len(text)

    def _hit_lines(self, row: ConversationRow, hit: SearchHit) -> Iterator[str]:
        piece, (on, off) = hit.snippet, self._dim
        if hit.role == "title":
            piece = snippet(row.summary, self._terms)
            if not piece.spans:
                if not hit.exact:
                    yield f"{_INDENT}{on}The title matches {_LOOSE}.{off}"
                return  # the title is already shown above
        number = f"#{hit.number} " if hit.number > 0 else ""
        when = f", {local(from_micros(hit.time))}" if hit.time else ""
        signs = "" if hit.exact else f", {_LOOSE}"
        head = f"{number}{_who(hit)}{when}{signs}: "
        spans = [(start + len(head), end + len(head)) for start, end in piece.spans]
        yield from self._wrap(head + piece.text, spans, _INDENT)

    def _command_lines(self, number: int, group: Group) -> Iterator[str]:
        row, names = group.row, self._names
        name = names.of(row, *([short_id(row)] if self._width else ()))
        typed = str(number) if self._width else quoted(name)
        show = f"cortext show {typed}"
        show_commands = [f"{show} --at {value}" for value in _at_values(group.hits)] or [show]
        commands = [reopens(row, str(number) if self._width else name, quoted), *show_commands]
        if group.more and not self._request.only:
            commands.append(f"more matches here: add --conversation {typed}")
        lines: list[str] = []
        for command in commands:
            if lines and cells(f"{_INDENT}{lines[-1]} · {command}") <= self._width:
                lines[-1] += f" · {command}"
            else:
                lines.append(command)
        on, off = self._dim
        yield from (f"{_INDENT}{on}{line}{off}" for line in lines)

    def _wrap(self, text: str, spans: Sequence[Span], indent: str) -> Iterator[str]:
        """Yield the lines of a text, with marks around the found words.

        `spans` are the start and end positions of these words. In a terminal, wrap the text and cut
        it after `_MAX_LINES` lines. `indent` is the text before the first line.
        """
        # These replacements do not change the length of the text, so the spans stay valid.
        text = clean(text).replace("\n", " ").replace("\t", " ")
        if self._mark == _TEXT_MARKS:
            text, spans = _mark_spans(text, spans, 0, len(text), self._mark), ()
        width = self._width - len(_INDENT)
        cuts = _wrap_spans(text, width, _MAX_LINES) if self._width else [(0, len(text))]
        for start, end in cuts:
            rest = "…" if (start, end) == cuts[-1] and end < len(text) else ""
            line = _mark_spans(text, spans, start, end, self._mark)
            yield f"{_INDENT if start else indent}{line.rstrip()}{rest}"


def _mark_spans(
    text: str, spans: Sequence[Span], start: int, end: int, mark: tuple[str, str]
) -> str:
    """Return the text from `start` to `end`, with marks around each span.

    `mark` has two strings: one to put before a span, and one to put after it.
    """
    on, off = mark
    line, at = "", start
    for first, last in spans:
        first, last = max(first, at), min(last, end)
        if first < last:
            line += f"{text[at:first]}{on}{text[first:last]}{off}"
            at = last
    return line + text[at:end]


def _wrap_spans(text: str, width: int, most: int) -> list[Span]:
    """Wrap a text into at most `most` lines. Return the start and end position of each line.

    Lines are broken at spaces if possible. One column stays free, so that the caller can add `…`
    to the last line of a cut text.
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


def _at_values(hits: Sequence[SearchHit]) -> list[str]:
    """Return values for the option `cortext show --at` that open these hits.

    The first value is the number of the first matching message. `document` follows if the words are
    in the document, and `agents` if they are in the text of sub-agents.
    """
    numbers = [str(hit.number) for hit in hits if hit.number > 0]
    roles = dict.fromkeys(hit.role for hit in hits)
    return numbers[:1] + [role for role in roles if role in (DOCUMENT, AGENTS)]


def _who(hit: SearchHit) -> str:
    if hit.role == "assistant":
        name = hit.row.agent or ("" if hit.row.is_standalone else hit.row.tool) or "agent"
        return clean(display_name(name), lines=False)
    if hit.tool_name and hit.role == "tool":
        return f"{clean(hit.tool_name, lines=False)} output"
    return _ROLE_NAMES.get(hit.role, hit.role)
