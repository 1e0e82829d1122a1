"""The sentences of docs/explanation/bench.md that depend on the sizes of the run."""

from __future__ import annotations

from bench.peer_bounds import EACH, FULL, Bounds
from bench.peer_rows import Found, missing, rows

_DONE = {
    "append": "add one message of 500 bytes to a new conversation, up to {appends:,} times. The "
    "message is on stable storage when the call returns. The time includes creating the message. "
    "The value is the median",
    "append at long": "the same for a conversation of that length, {later} times",
    "append at longer": "the same for a longer conversation",
    "last": "read the last 20 messages of a conversation of {long:,} messages. If the library "
    "cannot read only the end, it loads all messages",
    "load": "load all of these messages with a store that was just opened, because some stores "
    "cache what they read",
    "list": "open the store and list the newest 50 of {sessions:,} conversations, with the "
    "library's own function",
    "search": "find the newest 20 messages with a rare word, in {texts:,} messages of "
    "{searched:,} conversations, including the check for new messages. Of the other libraries, "
    "only `llm` has a search",
    "rate": "{writers} processes add {each} messages each to one conversation at once. The value "
    "is the number of acknowledged messages per second",
    "writers": "for the same {all:,} messages: how many calls returned, how many messages the "
    "conversation contains afterwards, and how many calls failed. If the second number is lower "
    "than the first, messages were lost without an error",
    "torn": "add 100 messages and kill the process. Then cut 100 bytes off the file that was "
    "written last, like a disk that did not write its last block. The value is the number of "
    "messages that the next process reads. For a server, the server's log is cut, and the server "
    "is started again",
    "disk": "the bytes on disk for one message of 500 bytes after these appends, with indexes. "
    "For Redis, its log; for PostgreSQL, the database without its log",
    "import": "start Python and import the modules that a program imports",
    "memory": "the peak memory of a process that imports the library and loads the {long:,} "
    "messages",
}


def warning(found: Found) -> str:
    """Return a warning for the figures of a quick run, or "" for a full run."""
    if not found["quick"]:
        return ""
    absent = missing(found)
    more = f" Not measured: {'; '.join(absent)}." if absent else ""
    return (
        f"> **These are figures of a trial** (`--quick`) of {found['when']}, written by "
        "`python -m bench.peer_page`: "
        f"{_sizes(Bounds(**found['bounds']))}. They show the layout of the page. With so little "
        "work, chance may decide who is ahead. A full run will replace them "
        f"({_sizes(FULL)}).{more}"
    )


def _sizes(bounds: Bounds) -> str:
    return (
        f"{bounds.appends:,} appends, conversations of {bounds.long:,} and {bounds.longer:,} "
        f"messages, {bounds.sessions:,} to list, {bounds.texts:,} texts to search, "
        f"{bounds.writers} writers with {bounds.each} messages each"
    )


def meaning(found: Found) -> str:
    """Return the table that explains each row, with the sizes of this run."""
    bounds = found["bounds"]
    counts = {
        **bounds,
        "searched": bounds["texts"] // EACH,
        "all": bounds["writers"] * bounds["each"],
    }
    lines = ["| row | what is measured |", "|---|---|"]
    lines += [f"| {row.title} | {_DONE[row.key].format(**counts)} |" for row in rows(found)]
    return "\n".join(lines)
