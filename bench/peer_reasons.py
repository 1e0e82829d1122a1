"""Why we are behind where we are: for people, beside the figures. The page says these for the rows
in which a run finds us behind; a test asks that there is one for each."""

from __future__ import annotations

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
    ("torn", "files"): _AFTERWARDS,
    ("torn", "redis"): _AFTERWARDS,
}
