"""Every curve: what is done, where it is drawn, and how it is to grow."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LARGEST = {"messages": 1_000_000, "sessions": 100_000}
FLAT, LOGARITHMIC, LINEAR = "flat", "logarithmic", "linear"
_FLAT, _LOGARITHMIC = 1.25, 1.6
"""How many times as long something may take that has ten times as much before it."""
Seconds = Mapping[str, Mapping[str, Sequence[float]]]
"""Of each curve, by its key and by its size, what every round measured."""


class Curve(NamedTuple):
    """One operation. What is linear by nature says of `each` of what it is measured too."""

    key: str
    name: str
    panel: str
    promise: str = FLAT
    each: str = ""


class Panel(NamedTuple):
    """Curves that are drawn together, over the `messages` of a session or the `sessions`."""

    key: str
    title: str
    over: str


PANELS = (
    Panel("add", "Adding a message", "messages"),
    Panel("end", "The end, and what is new", "messages"),
    Panel("whole", "All of a session", "messages"),
    Panel("lists", "Lists", "sessions"),
    Panel("find", "Finding", "sessions"),
    Panel("one", "One comes or goes", "sessions"),
    Panel("all", "All of them", "sessions"),
)
CURVES = (
    Curve("log append", "append to a log", "add"),
    Curve("folder append", "append to a conversation", "add"),
    Curve("adapter append", "append by an adapter", "add"),
    Curve("service append", "append by the service", "add"),
    Curve("log last 20", "last 20 of a log", "end"),
    Curve("folder last 20", "last 20 of a conversation", "end"),
    Curve("service history", "history of the service", "end"),
    Curve("log list", "list after a message, log", "end"),
    Curve("conversation list", "list after a message, folder", "end"),
    Curve("search refresh", "search index after a message", "end"),
    Curve("log load", "load a log", "whole", LINEAR, "message"),
    Curve("folder load", "load a conversation", "whole", LINEAR, "message"),
    Curve("briefing", "briefing for a resume", "whole", LINEAR, "message"),
    Curve("index list", "documents: open, newest 50", "lists"),
    Curve("index list after", "documents: after a change", "lists"),
    Curve("list", "conversations: list", "lists", LINEAR, "session"),
    Curve("list after", "conversations: after a change", "lists", LINEAR, "session"),
    Curve("logs list", "logs: list", "lists", LINEAR, "session"),
    Curve("logs list after", "logs: after a change", "lists", LINEAR, "session"),
    Curve("search", "a rare word in the search index", "find"),
    Curve("search all", "the whole search command", "find", LINEAR, "session"),
    Curve("resolve", "resolve the beginning of an id", "find", LINEAR, "session"),
    Curve("open", "open a conversation by DATE/ID", "find"),
    Curve("open by id", "open it by its id alone", "find", LINEAR, "session"),
    Curve("index create", "create a document", "one"),
    Curve("index delete", "delete a document", "one"),
    Curve("create", "create a conversation", "one"),
    Curve("delete", "delete a conversation", "one"),
    Curve("logs create", "create a log", "one"),
    Curve("logs delete", "delete a log", "one"),
    Curve("index life", "documents: open, create, close", "all", LINEAR, "session"),
    Curve("adapter list", "an adapter's own list", "all", LINEAR, "session"),
    Curve("service list", "the service's newest 50", "all", LINEAR, "session"),
    Curve("doctor", "doctor, nothing changed", "all", LINEAR, "session"),
    Curve("doctor deep", "doctor, everything read", "all", LINEAR, "session"),
)


def points_of(seconds: Seconds, key: str) -> list[tuple[int, float]]:
    """The sizes of a curve, and the median of what the rounds measured there."""
    found = seconds.get(key, {})
    return sorted((int(size), statistics.median(spent)) for size, spent in found.items() if spent)


def tenfold(points: Sequence[tuple[int, float]]) -> float:
    """How many times as long it takes with ten times as much, over the last two such steps: before
    these, what does not grow hides what does."""
    if len(points) < 2:
        return 1.0
    (less, before), (much, now) = points[max(len(points) - 3, 0)], points[-1]
    return (now / before) ** (1 / math.log10(much / less))


def shape(factor: float) -> str:
    """The word for it. Something logarithmic that has come to 10^4 takes 1.25 times as long at
    10^5, and less each further time; the rest is for the noise of a machine."""
    if factor <= _FLAT:
        return FLAT
    return LOGARITHMIC if factor <= _LOGARITHMIC else LINEAR


def is_whole(seconds: Seconds) -> bool:
    """Whether every curve goes as far as the bench does; a quick run stops before that."""
    over = {panel.key: panel.over for panel in PANELS}
    return all(
        (points_of(seconds, curve.key) or [(0, 0.0)])[-1][0] >= LARGEST[over[curve.panel]]
        for curve in CURVES
    )


def missed(seconds: Seconds) -> list[Curve]:
    """The curves that grow and should not."""
    return [
        curve
        for curve in CURVES
        if curve.promise != LINEAR and shape(tenfold(points_of(seconds, curve.key))) == LINEAR
    ]
