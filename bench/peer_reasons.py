"""Why we are behind where we are: for people, beside the figures. The page says these for the rows
in which a run finds us behind; a test asks that there is one for each."""

from __future__ import annotations

_BESIDE = (
    "A record has the message that every tool reads, with a time and an id by which a repeated "
    "append is stored once, and beside it what else the framework's own value says."
)
_THREE = (
    "A step is three durable appends here, the checkpoint, what was written in it and the "
    "conversation; SqliteSaver commits twice. And the list that LangGraph hands over, which is "
    "all of it, is compared with the one before, so that only what is new is written."
)
_BOTH = "The framework is imported either way, and the adapter and cortext besides."
_AFTERWARDS = (
    "Here the cut took the end of the last message itself, which stands last in the file. There "
    "something else stands last: a page of an index, or what is written after the message."
)

UNDECIDED = (
    "By its time the one is ahead, by how many times as long as a raw append it took the other: "
    "the disk was not as fast for both. A quieter machine would tell."
)
REASONS: dict[tuple[str, str], str] = {
    ("search", "files"): (
        "Anybody may write to our files, so a search first looks at each conversation for what is "
        "new, and it shows a piece of each text; `llm` asks a database that only itself writes to. "
        "The question alone is timed by `make bench` (l)."
    ),
    ("disk", "files"): (
        "Each of our records says in text when it was made and has an id, by which a repeated "
        "append is stored once."
    ),
    ("disk", "redis"): (
        "Each of our messages has a time and an id, and the id stands in a list of its own too, "
        "by which a repeated one is stored once; each add also writes when the conversation was "
        "last used. RedisSession has only the item."
    ),
    ("disk", "postgres"): (
        "Each of our messages has an id that is unique in its conversation, with an index for "
        "that, by which a repeated one is stored once; SQLAlchemySession has only a number."
    ),
    ("last", "redis"): (
        "Both ask for the end of one list. Ours has a time and an id of each message to read too. "
        "In other runs the two are level."
    ),
    ("load", "postgres"): (
        "Each of our rows has a time and an id besides, and the conversation is looked up by its "
        "owner first. In other runs ours is ahead."
    ),
    ("torn", "files"): _AFTERWARDS,
    ("torn", "redis"): _AFTERWARDS,
}
EXCHANGED: dict[tuple[str, str], str] = {
    ("disk", ""): _BESIDE,
    ("append", ""): _BESIDE,
    ("last", ""): f"{_BESIDE} Both are read, and anew: others may have added to it.",
    ("load", ""): f"{_BESIDE} Both are read.",
    ("load", "in-langgraph"): (
        "The conversation is read besides the checkpoint, since a tool may have gone on with it; "
        "and a copy of each message is kept, so that of the next list only what is new is written."
    ),
    ("list", "in-google-adk"): (
        "The framework's list has no limit and gives the state of each session, which is what its "
        "events made of it: every log is read. A second list reads those that changed."
    ),
    ("import", ""): _BOTH,
    ("memory", ""): _BOTH,
    ("torn", ""): _AFTERWARDS,
    ("list", ""): (
        "It looks at the head of every session, which is a file or a key of its own; there the "
        "rows of one table are asked for."
    ),
    ("append", "in-langgraph"): _THREE,
    ("append at long", "in-langgraph"): _THREE,
    ("append at longer", "in-langgraph"): _THREE,
    ("rate", "in-langgraph"): _THREE,
    ("writers", "in-langgraph"): (
        "LangGraph reads the list, adds to it and puts all of it: of two that do so at once, the "
        "next list has one's message, whatever keeps it, and how many are left is chance. What is "
        "missing there stands in the conversation that ours keeps of the thread."
    ),
}
"""Why an adapter of ours is behind what it replaces: by the row and the adapter, or by the row."""
