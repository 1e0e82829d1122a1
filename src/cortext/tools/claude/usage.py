"""Read from the transcripts of Claude Code how many tokens each answer used.

Claude Code writes one line for each part of an answer. Each line repeats the token counts of the
whole answer. Later lines may have larger counts, because the first lines were written before the
answer was complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct, field

from cortext.model.answer_usage import TokenUsage, UsageFile, UsageRecord
from cortext.tools.claude.reader import subagent_files
from cortext.tools.claude.records import SYNTHETIC, Fork
from cortext.tools.incremental_usage_reader import (
    RecordedCost,
    TokenNumber,
    micros_of,
    read_usage_files,
)
from cortext.tools.jsonl_transcripts import JsonLines
from cortext.tools.reader_protocol import TranscriptSource


class _CacheWrites(Struct, gc=False):
    ephemeral_5m_input_tokens: TokenNumber | None = None
    ephemeral_1h_input_tokens: TokenNumber | None = None


class _ReportedUsage(Struct, gc=False):
    input_tokens: TokenNumber | None = None
    output_tokens: TokenNumber | None = None
    cache_read_input_tokens: TokenNumber | None = None
    cache_creation_input_tokens: TokenNumber | None = None
    cache_creation: _CacheWrites | None = None

    @property
    def tokens(self) -> TokenUsage:
        written = self.cache_creation_input_tokens or 0
        hour = (self.cache_creation and self.cache_creation.ephemeral_1h_input_tokens) or 0
        return TokenUsage(
            input=self.input_tokens or 0,
            output=self.output_tokens or 0,
            cache_read=self.cache_read_input_tokens or 0,
            # The detailed numbers are a part of `cache_creation_input_tokens`.
            cache_write=max(written - hour, 0),
            cache_write_1h=hour,
        )


class _Reply(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: _ReportedUsage | None = None


class _UsageLine(Struct, gc=False, rename="camel"):
    type: str = ""
    uuid: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = None
    session_id: str | None = None
    forked_from: Fork | None = None
    cost: RecordedCost | None = field(default=None, name="costUSD")
    message: _Reply | None = None


def read_usage(source: TranscriptSource, known: Mapping[str, str]) -> Iterator[UsageFile]:
    """Yield the token counts of the answers in a transcript and in the files of its sub-agents.

    `known` has the state of each file when it was last read, by path. Answers that were already
    read may be left out.
    """
    read = partial(_read, source.id)
    return read_usage_files([source.path, *subagent_files(source)], known, read)


def _read(session: str, blocks: Iterable[bytes], carried: bytes) -> tuple[list[UsageRecord], bytes]:
    records = (_record(line, session) for _, line in JsonLines(_UsageLine).read(blocks))
    return [record for record in records if record is not None], carried


def _record(line: _UsageLine, session: str) -> UsageRecord | None:
    reply = line.message
    if line.type != "assistant" or not reply or not reply.usage or reply.model == SYNTHETIC:
        return None
    tokens = reply.usage.tokens
    if not tokens.total and not line.cost:
        return None  # for example in a copy that cortext wrote
    key = f"{reply.id}:{line.request_id or ''}" if reply.id else line.uuid
    if not key:
        return None  # without an id, a repeated line of the answer would count twice
    is_copy = line.forked_from is not None or (line.session_id or session) != session
    time = micros_of(line.timestamp)
    return UsageRecord(key, time, reply.model or "", tokens, line.cost or None, is_copy)
