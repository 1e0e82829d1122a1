"""The request for the web page that lists all conversations: search words, filters and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from cortext.catalog.row import AUR, SPAWN, ConversationRow, name_of_tool
from cortext.features.listing.conversation_list import ListFilter, filter_rows
from cortext.features.listing.time_ranges import Span, date_range
from cortext.web.conversation_lookup import source_name

_LONGEST = 400
_SAME = {"paused": ("paused", "interrupted"), "interrupted": ("paused", "interrupted")}
WHENS = {
    "today": "Today",
    "past week": "Past week",
    "past month": "Past month",
    "past year": "Past year",
}


class FilterOption(NamedTuple):
    """An option of a filter on the list page.

    `name` is the text that the user sees. `number` is the number of conversations with this value,
    None if it is not counted.
    """

    value: str
    name: str
    number: int | None = None


class ListRequest(NamedTuple):
    """The search words `q`, the filters and the page number that the URL of a list contains.

    A filter of "" allows any value. `page` counts from 1.
    """

    q: str = ""
    kind: str = ""
    tool: str = ""
    status: str = ""
    tag: str = ""
    when: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> ListRequest:
        """Return the request for the query parameters of a URL.

        Unknown parameters are ignored, and a `page` that is not valid becomes 1.
        """
        texts = {name: given.get(name, "")[:_LONGEST].strip() for name in cls._fields[:-1]}
        texts["tool"] = name_of_tool(texts["tool"])
        page = given.get("page", "")
        is_number = page.isascii() and page.isdecimal() and len(page) < 7
        return cls(**texts, page=max(int(page), 1) if is_number else 1)

    @property
    def is_filtered(self) -> bool:
        return any((self.kind, self.tool, self.status, self.tag, self.when))

    @property
    def span(self) -> Span:
        """The time span that `when` describes, such as "past week".

        Raises CortextError if `when` is not valid.
        """
        return date_range(self.when)

    @property
    def wanted(self) -> ListFilter:
        """The filters that `filter_rows` applies: type, tag, tool and start of the time span.

        The method `filter` applies the status and the end of the time span.
        """
        tags = [self.tag] if self.tag else []
        tool = AUR if self.tool == SPAWN else self.tool
        return ListFilter(
            kind=self.kind or None, tags=tags, tool=tool or None, since=self.span.since
        )

    def filter(self, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that match all filters of this request. Ignore the search words."""
        rows = filter_rows(list(rows), self.wanted)
        until, statuses = self.span.until, _SAME.get(self.status, (self.status,))
        return [
            row
            for row in rows
            if (not self.status or row.status in statuses)
            and (until is None or row.last_active < until)
        ]

    def address(self, **changes: str | int) -> str:
        """Return the URL of the list with the values of this request and some `changes`.

        The URL leads to the first page, unless `changes` contains `page`.
        """
        asked = self._replace(**{"page": 1, **changes})
        given = {name: value for name, value in asked._asdict().items() if value not in ("", 1)}
        return f"/?{urlencode(given)}" if given else "/"


def choices(rows: Sequence[ConversationRow], asked: ListRequest) -> dict[str, list[FilterOption]]:
    """Return the options that each filter of the list page offers, by the name of the filter.

    The options are the values in the rows, the most common first, and the value that is chosen now.
    """
    whens = [FilterOption(value, name) for value, name in WHENS.items()]
    if asked.when and asked.when not in WHENS:
        whens.append(FilterOption(asked.when, asked.when))
    return {
        "kind": _counted((row.kind for row in rows), asked.kind),
        "tool": _counted((tool for row in rows for tool in row.tool_names), asked.tool, _name),
        "status": _counted((row.status for row in rows), asked.status),
        "tag": _counted((tag for row in rows for tag in row.tags), asked.tag),
        "when": whens,
    }


def _counted(
    values: Iterable[str], chosen: str, name: Callable[[str], str] = str
) -> list[FilterOption]:
    counts = Counter(value for value in values if value)
    found = [FilterOption(value, name(value), count) for value, count in counts.most_common(100)]
    if chosen and chosen not in {choice.value for choice in found}:
        found.append(FilterOption(chosen, name(chosen), counts[chosen]))
    return found


def _name(tool: str) -> str:
    return source_name(tool)
