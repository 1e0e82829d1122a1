"""Read from the sessions of OpenCode how many tokens each answer used, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cortext.errors import SessionCorruptedError, file_and_reason
from cortext.model.answer_usage import UsageFile, UsageRecord
from cortext.tools.incremental_usage_reader import micros_of
from cortext.tools.opencode.reader import DEEPEST, read_store
from cortext.tools.opencode.records import MessageInfo, read_info
from cortext.tools.opencode.storage import Store
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.transcript_folders import warn


def read_usage(source: TranscriptSource, known: Mapping[str, str]) -> Iterator[UsageFile]:
    """Yield the token counts of the answers in a session and in the sessions of its sub-agents.

    `known` has the state of each store when it was last read, by path. Answers that were already
    read may be left out.
    """
    if source.print and known.get(source.path) == source.print:
        yield UsageFile(source.path, source.print, [], keep=True)
        return
    try:
        records = read_store(source, lambda store: list(_records(store, source.id, DEEPEST)))
    except FileNotFoundError:
        return  # the session was deleted meanwhile
    except (OSError, SessionCorruptedError) as error:
        warn("the new usage of %s is not counted: %s", source.id, file_and_reason(error))
        old = known.get(source.path, "")
        yield UsageFile(source.path, old, [], keep=True, is_failed=True)
        return
    yield UsageFile(source.path, source.print, records)


def _records(store: Store, id: str, depth: int) -> Iterator[UsageRecord]:
    start = micros_of(store.head(id).get("time_created"))
    for raw in store.messages(id):
        info = read_info(raw, [])
        if info and info.role == "assistant" and (record := _record(info, start)):
            yield record
    for child in store.children(id) if depth else ():
        yield from _records(store, child, depth - 1)


def _record(info: MessageInfo, start: int) -> UsageRecord | None:
    tokens, cost = info.token_usage, info.recorded_cost
    if not tokens.total and not cost:
        return None
    created = info.times.created
    # A fork gives its copies new ids, but keeps their times.
    key = f"{created}:{info.times.completed}:{info.used}:{tokens.input}:{tokens.output}"
    time = micros_of(created)
    is_copy = 0 < time < start  # the answer is older than its session
    return UsageRecord(key, time, info.used, tokens, cost or None, is_copy)
