"""The request for the web page of usage: a time span and a project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from cortext.features.listing.project_names import project_names
from cortext.features.listing.time_ranges import Span, date_range
from cortext.web.list_request import MAX_LENGTH, FilterOption

ALL = "all"
DEFAULT = "last 30 days"
PERIODS = {
    "today": "Today",
    "last 7 days": "Last 7 days",
    "": "Last 30 days",
    "last 90 days": "Last 90 days",
    "past year": "Past year",
    ALL: "All time",
}


class UsageRequest(NamedTuple):
    """The query parameters of the page of usage.

    `when` is a time span; "" means `DEFAULT`. `project` is the path of a folder; "" means any
    project.
    """

    when: str = ""
    project: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> UsageRequest:
        """Create a request from the query parameters of a URL. Unknown parameters are ignored."""
        return cls(*(given.get(name, "")[:MAX_LENGTH].strip() for name in cls._fields))

    @property
    def span(self) -> Span:
        """The time span that `when` describes. Raises CortextError if `when` is invalid."""
        return Span() if self.when == ALL else date_range(self.when or DEFAULT)

    def address(self, **changes: str) -> str:
        """Return the URL of the page for this request, with some parameters changed.

        `changes` has the new values of these parameters.
        """
        asked = self._replace(**changes)
        given = {name: value for name, value in asked._asdict().items() if value}
        return f"/usage?{urlencode(given)}" if given else "/usage"


def usage_choices(asked: UsageRequest, folders: Iterable[str]) -> dict[str, list[FilterOption]]:
    """Return the options of each filter on the page, by the name of the filter.

    `folders` are the folders of all projects. The value that the user has chosen is always an
    option.
    """
    periods = PERIODS if asked.when in PERIODS else {**PERIODS, asked.when: asked.when}
    names = project_names({*folders, asked.project} - {""})
    return {
        "when": [FilterOption(value, name) for value, name in periods.items()],
        "project": [
            FilterOption("", "Any project"),
            *(FilterOption(value, name) for value, name in sorted(names.items(), key=_by_name)),
        ],
    }


def _by_name(item: tuple[str, str]) -> str:
    return item[1].casefold()
