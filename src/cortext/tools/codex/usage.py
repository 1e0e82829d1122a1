"""Read from the transcripts (rollouts) of Codex how many tokens each answer used.

After each answer, Codex records how many tokens the session has used so far, and sometimes repeats
this record. The token counts of an answer are the new totals minus the previous totals. A fork
repeats the records of the session that it was forked from, with new times. Repeated records count
once, for the original session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import msgspec
from msgspec import Struct

from cortext.errors import SessionStorageError
from cortext.model.answer_usage import TokenUsage, UsageFile, UsageRecord
from cortext.tools import transcript_folders
from cortext.tools.codex.reader import CodexBridge, read_meta, rollout_blocks
from cortext.tools.codex.records import UUID, parent_of
from cortext.tools.incremental_usage_reader import TokenNumber, micros_of, read_usage_files
from cortext.tools.jsonl_transcripts import JsonLines
from cortext.tools.reader_protocol import TranscriptSource

_is_uuid = re.compile(UUID).fullmatch


class _Totals(Struct, gc=False, frozen=True):
    input_tokens: TokenNumber = 0
    cached_input_tokens: TokenNumber = 0
    cache_write_input_tokens: TokenNumber = 0
    output_tokens: TokenNumber = 0
    reasoning_output_tokens: TokenNumber = 0

    def since(self, before: _Totals) -> _Totals | None:
        """Return these totals minus the earlier totals `before`.

        The result is None if a number became smaller, because then Codex began to count again.
        """
        added = [now - then for now, then in zip(_fields(self), _fields(before), strict=True)]
        return None if min(added) < 0 else _Totals(*added)

    @property
    def tokens(self) -> TokenUsage:
        """The number of tokens of each kind.

        Codex counts tokens that are read from or written to the cache as input. The result counts
        them separately.
        """
        cached = self.cached_input_tokens + self.cache_write_input_tokens
        return TokenUsage(
            input=max(self.input_tokens - cached, 0),
            output=self.output_tokens,
            cache_read=self.cached_input_tokens,
            cache_write=self.cache_write_input_tokens,
            reasoning=self.reasoning_output_tokens,
        )


class _Info(Struct, gc=False):
    total_token_usage: _Totals | None = None
    last_token_usage: _Totals | None = None


class _Payload(Struct, gc=False):
    type: str = ""
    id: str | None = None
    timestamp: str | int | float | None = None
    forked_from_id: str | None = None
    turn_id: str | None = None
    model: str | None = None
    info: _Info | None = None


class _TotalsLine(Struct, gc=False):
    type: str = ""
    timestamp: str | int | float | None = None
    payload: _Payload | None = None


class _Carried(Struct):
    """The values from earlier lines that are needed to read the next lines.

    `totals` are the last totals, and `model` is the last model. `turn` is the id of the current
    turn, which copies of the turn keep; "" if this version of Codex records no such ids. `origin`
    is the id of the session in which the answers were first written: the session itself, or the
    session that it was forked from. `start` is when the session itself began, in microseconds
    since 1970.
    """

    totals: _Totals | None = None
    model: str = ""
    turn: str = ""
    origin: str = ""
    start: int = 0


def read_usage(source: TranscriptSource, known: Mapping[str, str]) -> Iterator[UsageFile]:
    """Yield the token counts of the answers in a rollout (transcript), without its sub-agents.

    Each sub-agent has its own rollout. `known` has the state of each file when it was last read, by
    path. Answers that were already read may be left out.
    """
    try:
        parent = parent_of(read_meta(source.path))
    except (OSError, SessionStorageError):
        parent = ""  # `read_usage_files` reports the error
    read = partial(_read, partial(_find_origin, source))
    for file in read_usage_files([source.path], known, read, open_blocks=rollout_blocks):
        yield msgspec.structs.replace(file, parent=parent)


def _find_origin(source: TranscriptSource, id: str) -> str:
    """Return the session from which the session `id` was forked, directly or through other forks.

    `source` is the transcript of another session, in the same folder of Codex.
    """
    bridge = CodexBridge(transcript_folders.home_of(source.tool, source.path))
    paths = {each.id: each.path for each in bridge.sources()}
    seen: set[str] = set()
    while id in paths and id not in seen:
        seen.add(id)
        try:
            id = read_meta(paths[id]).forked_from_id or id
        except (OSError, SessionStorageError):
            break  # the origin is then the last session that can be read
    return id


def _read(
    find_origin: Callable[[str], str], blocks: Iterable[bytes], carried: bytes
) -> tuple[list[UsageRecord], bytes]:
    state = msgspec.json.decode(carried, type=_Carried) if carried else _Carried()
    records: list[UsageRecord] = []
    for _, line in JsonLines(_TotalsLine).read(blocks):
        body = line.payload
        if body is None:
            continue
        if line.type == "session_meta":
            # The first record is about the session itself. Others are copies.
            state.start = state.start or micros_of(body.timestamp or line.timestamp)
            origin = find_origin(body.forked_from_id) if body.forked_from_id else body.id
            state.origin = origin or state.origin
        elif line.type == "turn_context":
            state.model = body.model or state.model
            state.turn = body.turn_id if body.turn_id and _is_uuid(body.turn_id) else ""
        elif body.type == "token_count" and (record := _count(line, body.info, state)):
            records.append(record)
    return records, msgspec.json.encode(state)


def _count(line: _TotalsLine, info: _Info | None, state: _Carried) -> UsageRecord | None:
    if info is None or info.total_token_usage is None:
        return None
    totals = info.total_token_usage
    added = totals.since(state.totals) if state.totals else None
    if added is None:
        # The totals may include another session, so prefer the tokens of the last answer.
        added = info.last_token_usage or totals
    state.totals = totals
    if not added.tokens.total:
        return None
    key = f"{state.turn or state.origin}:{':'.join(map(str, _fields(totals)))}"
    time = micros_of(line.timestamp)
    is_copy = 0 < time < state.start
    return UsageRecord(key, time, state.model, added.tokens, is_copy=is_copy)


def _fields(totals: _Totals) -> tuple[int, ...]:
    return (
        totals.input_tokens,
        totals.cached_input_tokens,
        totals.cache_write_input_tokens,
        totals.output_tokens,
        totals.reasoning_output_tokens,
    )
