"""The request for the web page that lists conversations: search words, filters and page number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from cortext.catalog.row import AUR, SPAWN, ConversationRow, name_of_tool
from cortext.features.listing.conversation_list import ListFilter, filter_rows
from cortext.features.listing.project_names import project_names
from cortext.features.listing.time_ranges import Span, date_range
from cortext.web.conversation_lookup import source_name

MAX_LENGTH = 400
_SAME_STATUSES = {"paused": ("paused", "interrupted"), "interrupted": ("paused", "interrupted")}
WHENS = {
    "today": "Today",
    "past week": "Past week",
    "past month": "Past month",
    "past year": "Past year",
}


class FilterOption(NamedTuple):
    """An option of a filter on the list page.

    `name` is the text that the user sees. `number` is the number of conversations with this option,
    or None if they are not counted.
    """

    value: str
    name: str
    number: int | None = None


class ListRequest(NamedTuple):
    """The query parameters of the list page: the search words `q`, the filters and the page number.

    A filter with the value "" is not set. `project` is the path of a folder, and `branch` is a git
    branch. `page` counts from 1.
    """

    q: str = ""
    kind: str = ""
    tool: str = ""
    status: str = ""
    tag: str = ""
    when: str = ""
    project: str = ""
    branch: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> ListRequest:
        """Create a request from the query parameters of a URL.

        Unknown parameters are ignored. An invalid `page` becomes 1.
        """
        texts = {name: given.get(name, "")[:MAX_LENGTH].strip() for name in cls._fields[:-1]}
        texts["tool"] = name_of_tool(texts["tool"])
        page = given.get("page", "")
        is_number = page.isascii() and page.isdecimal() and len(page) < 7
        return cls(**texts, page=max(int(page), 1) if is_number else 1)

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set. The search words and the page number are not filters."""
        filters = (
            self.kind,
            self.tool,
            self.status,
            self.tag,
            self.when,
            self.project,
            self.branch,
        )
        return any(filters)

    @property
    def span(self) -> Span:
        """The time span that the filter `when` describes, such as "past week".

        Raises CortextError if `when` is invalid.
        """
        return date_range(self.when)

    @property
    def wanted(self) -> ListFilter:
        """The filters of this request, for `filter_rows`.

        The status and the end of the time span are missing. The method `filter` applies these two.
        """
        tags = [self.tag] if self.tag else []
        tool = AUR if self.tool == SPAWN else self.tool
        return ListFilter(
            kind=self.kind or None,
            tags=tags,
            tool=tool or None,
            since=self.span.since,
            folder=self.project,
            branch=self.branch,
        )

    def filter(self, rows: Sequence[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that match all filters of this request. The search words are ignored."""
        rows = filter_rows(list(rows), self.wanted)
        until, statuses = self.span.until, _SAME_STATUSES.get(self.status, (self.status,))
        return [
            row
            for row in rows
            if (not self.status or row.status in statuses)
            and (until is None or row.last_active < until)
        ]

    def address(self, **changes: str | int) -> str:
        """Return the URL of the list page for this request, with some parameters changed.

        `changes` has the new values of these parameters. The URL leads to the first page of the
        list, unless `changes` contains `page`.
        """
        asked = self._replace(**{"page": 1, **changes})
        given = {name: value for name, value in asked._asdict().items() if value not in ("", 1)}
        return f"/?{urlencode(given)}" if given else "/"


def choices(rows: Sequence[ConversationRow], asked: ListRequest) -> dict[str, list[FilterOption]]:
    """Return the options of each filter on the list page, by the name of the filter.

    The options are the values that occur in the rows, most common first. The value that the user
    has chosen is always an option.
    """
    names = project_names(row.folder for row in rows)
    whens = [FilterOption(value, name) for value, name in WHENS.items()]
    if asked.when and asked.when not in WHENS:
        whens.append(FilterOption(asked.when, asked.when))
    return {
        "kind": _count_options((row.kind for row in rows), asked.kind),
        "tool": _count_options(
            (tool for row in rows for tool in row.tool_names), asked.tool, _name
        ),
        "status": _count_options((row.status for row in rows), asked.status),
        "tag": _count_options((tag for row in rows for tag in row.tags), asked.tag),
        "when": whens,
        "project": _count_options(
            (row.folder for row in rows), asked.project, lambda path: names.get(path) or path
        ),
        "branch": _count_options((row.branch for row in rows), asked.branch),
    }


def _count_options(
    values: Iterable[str], chosen: str, name: Callable[[str], str] = str
) -> list[FilterOption]:
    counts = Counter(value for value in values if value)
    options = [FilterOption(value, name(value), count) for value, count in counts.most_common(100)]
    if chosen and chosen not in {choice.value for choice in options}:
        options.append(FilterOption(chosen, name(chosen), counts[chosen]))
    return options


def _name(tool: str) -> str:
    return source_name(tool)
