"""What the page says in words that depend on the sizes of its run."""

from __future__ import annotations

from bench.peer_bounds import EACH, FULL, Bounds
from bench.peer_rows import Found, missing, rows

_DONE = {
    "append": "one message of 500 bytes is added to a new conversation, up to {appends:,} times, "
    "and is on stable storage when the call returns. The message is made within the time. The "
    "median",
    "append at long": "the same to a conversation of that length, {later} times",
    "append at longer": "the same to a longer one",
    "last": "the last 20 messages of a conversation of {long:,}, by a window if there is one, else "
    "by loading all",
    "load": "all of them, by a store that was just opened: some keep what they read",
    "list": "open the store and list the newest 50 of {sessions:,} conversations, the way each "
    "offers",
    "search": "the newest 20 messages that have a rare word, in {texts:,} messages of "
    "{searched:,} conversations, with a look for what is new. Of the others only `llm` has one",
    "rate": "{writers} processes add {each} messages each to one conversation at once: those that "
    "were acknowledged, in a second",
    "writers": "of these {all:,}: how many calls returned, how many messages the conversation has "
    "afterwards, how many calls failed. A second number that is lower than the first is loss "
    "without a word",
    "torn": "100 messages are added and the process is killed; then 100 bytes are cut off the file "
    "that was written last, as by a disk that did not write its last piece. How many messages the "
    "next process reads. Of a server the log is cut, and it is started again",
    "disk": "bytes that one message of 500 takes after those appends, with indexes and all; of "
    "Redis its log, of PostgreSQL the database without its log",
    "import": "starting Python and importing what a program imports",
    "memory": "the most memory that a process has which imports it and loads the {long:,}",
}


def warning(found: Found) -> str:
    """What has to be known before the figures of a trial are read; nothing for a whole run."""
    if not found["quick"]:
        return ""
    absent = missing(found)
    more = f" Not measured in it: {'; '.join(absent)}." if absent else ""
    return (
        f"> **These are figures of a trial** (`--quick`) of {found['when']}, put here by "
        "`python -m bench.peer_page`: "
        f"{_sizes(Bounds(**found['bounds']))}. They show how the page is made; with so little "
        "work, who is ahead may be chance. A whole run will replace them "
        f"({_sizes(FULL)}).{more}"
    )


def _sizes(bounds: Bounds) -> str:
    return (
        f"{bounds.appends:,} appends, conversations of {bounds.long:,} and {bounds.longer:,} "
        f"messages, {bounds.sessions:,} to list, {bounds.texts:,} texts to search, "
        f"{bounds.writers} writers with {bounds.each} messages each"
    )


def meaning(found: Found) -> str:
    """What is done in each row, with the sizes of this run."""
    bounds = found["bounds"]
    counts = {
        **bounds,
        "searched": bounds["texts"] // EACH,
        "all": bounds["writers"] * bounds["each"],
    }
    lines = ["| row | what is done |", "|---|---|"]
    lines += [f"| {row.title} | {_DONE[row.key].format(**counts)} |" for row in rows(found)]
    return "\n".join(lines)
