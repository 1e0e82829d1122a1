"""The reasons why a cortext store is behind another store, for docs/explanation/bench.md.

The page shows the reason of each row in which a run finds cortext behind. A test checks that every
such row has a reason.
"""

from __future__ import annotations

_BESIDE = (
    "A cortext record has the message in a form that every tool reads, with a time and an id. The "
    "id makes a repeated append safe. The record also has the other fields of the framework's own "
    "value."
)
_THREE = (
    "A step is three durable appends here: the checkpoint, its writes and the conversation. "
    "SqliteSaver commits twice. LangGraph passes the complete list of messages, and cortext "
    "compares it with the previous list, so that it writes only the new messages."
)
_BOTH = "The framework is imported in both cases. The adapter and cortext are imported in addition."
_AFTERWARDS = (
    "For cortext, the last bytes of the file are the end of the last message, and the cut removed "
    "them. For the other store, the last bytes are something else: a page of an index, or data "
    "that is written after the message."
)

UNDECIDED = (
    "One store is ahead by its time, and the other by the ratio to a raw append. The disk was not "
    "equally fast for both. A quieter machine would decide."
)
REASONS: dict[tuple[str, str], str] = {
    ("search", "files"): (
        "Any program may write to cortext's files, so a search first checks each conversation for "
        "new messages. It also shows a snippet of each message. `llm` queries a database that only "
        "`llm` writes. `make bench` (l) measures the query alone."
    ),
    ("disk", "files"): (
        "Each cortext record has a time as text, and an id that makes a repeated append safe."
    ),
    ("disk", "redis"): (
        "Each cortext message has a time and an id. The id is also in a separate list, so that a "
        "repeated message is stored once. Each append also writes the time of the last use. "
        "RedisSession stores only the item."
    ),
    ("disk", "postgres"): (
        "Each cortext message has an id that is unique in its conversation, with an index, so that "
        "a repeated message is stored once. SQLAlchemySession has only a number."
    ),
    ("last", "redis"): (
        "Both read the end of one list. cortext also reads a time and an id of each message. In "
        "other runs, the two are level."
    ),
    ("load", "postgres"): (
        "Each cortext row also has a time and an id, and the owner of the conversation is checked "
        "first. In other runs, cortext is ahead."
    ),
    ("torn", "files"): _AFTERWARDS,
    ("torn", "redis"): _AFTERWARDS,
}
EXCHANGED: dict[tuple[str, str], str] = {
    ("disk", ""): _BESIDE,
    ("append", ""): _BESIDE,
    ("last", ""): (
        f"{_BESIDE} cortext reads both again each time, because others may have added messages."
    ),
    ("load", ""): f"{_BESIDE} cortext reads both.",
    ("load", "in-langgraph"): (
        "cortext reads the conversation in addition to the checkpoint, because a tool may have "
        "continued it. It also keeps a copy of each message, so that only new messages of the next "
        "list are written."
    ),
    ("list", "in-google-adk"): (
        "The framework's list has no limit and returns the state of each session. The state is the "
        "result of all events, so every log is read. A second list reads only the logs that "
        "changed."
    ),
    ("import", ""): _BOTH,
    ("memory", ""): _BOTH,
    ("torn", ""): _AFTERWARDS,
    ("list", ""): (
        "cortext checks the head of every session, which is a separate file or key. The other "
        "store reads the rows of one table."
    ),
    ("append", "in-langgraph"): _THREE,
    ("append at long", "in-langgraph"): _THREE,
    ("append at longer", "in-langgraph"): _THREE,
    ("rate", "in-langgraph"): _THREE,
    ("writers", "in-langgraph"): (
        "LangGraph reads the list, adds to it and stores the whole list. If two processes do so at "
        "once, the next list has the message of only one of them, with any checkpointer. How many "
        "messages remain is chance. The conversation that cortext keeps of the thread has the "
        "missing messages."
    ),
}
"""Why an adapter is behind the store that it replaces, by row and adapter, or by row alone."""
