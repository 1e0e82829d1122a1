"""Read from the transcripts of Gemini CLI how many tokens each answer used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from cortext.model import json_codec, message_dicts
from cortext.model.answer_usage import TokenUsage, UsageFile, UsageRecord
from cortext.tools.gemini.reader import subagent_sources
from cortext.tools.incremental_usage_reader import TokenNumber, micros_of, read_usage_files
from cortext.tools.jsonl_transcripts import JsonLines, fit, plain
from cortext.tools.reader_protocol import TranscriptSource


class _ReportedTokens(Struct, gc=False):
    input: TokenNumber | None = None
    output: TokenNumber | None = None
    cached: TokenNumber | None = None
    thoughts: TokenNumber | None = None
    tool: TokenNumber | None = None

    @property
    def usage(self) -> TokenUsage:
        """The number of tokens of each kind.

        Gemini CLI counts cached tokens as input, and does not count thoughts as output. The result
        counts cached tokens separately, and counts thoughts as output.
        """
        cached, thoughts = self.cached or 0, self.thoughts or 0
        return TokenUsage(
            input=max((self.input or 0) - cached, 0) + (self.tool or 0),
            output=(self.output or 0) + thoughts,
            cache_read=cached,
            reasoning=thoughts,
        )


class _Record(Struct, gc=False, rename={"set": "$set", "start_time": "startTime"}):
    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    start_time: str | None = None
    model: str | None = None
    tokens: _ReportedTokens | None = None
    messages: list[_Record] = field(default_factory=list["_Record"])
    set: _Record | None = None


def read_usage(source: TranscriptSource, known: Mapping[str, str]) -> Iterator[UsageFile]:
    """Yield the token counts of the answers in a transcript and in the files of its sub-agents.

    `known` has the state of each file when it was last read, by path. Answers that were already
    read may be left out.
    """
    paths = [source.path, *(child.path for child in subagent_sources(source))]
    for path in paths:
        is_document = plain(path).endswith(".json")
        yield from read_usage_files([path], known, _read_document if is_document else _read_lines)


def _read_lines(blocks: Iterable[bytes], carried: bytes) -> tuple[list[UsageRecord], bytes]:
    """Return the usage records in lines. The carried value is the start time of the session."""
    records = (record for _, record in JsonLines(_Record).read(blocks))
    found, start = _usage_of_all(records, int(carried or b"0"))
    return found, str(start).encode()


def _read_document(blocks: Iterable[bytes], carried: bytes) -> tuple[list[UsageRecord], bytes]:
    """Return the usage records in a transcript of an older release, and `carried` unchanged.

    Such a transcript is one JSON document instead of lines. If the document is damaged, there are
    no usage records. Every `LineReader` returns a carried value, but this function does not use it.
    """
    try:
        document = message_dicts.as_dict(json_codec.decode(b"".join(blocks)))
        return _usage_of_all([fit(document, _Record, [])], 0)[0], carried
    except (ValueError, RecursionError):
        return [], carried  # `cortext doctor` reports the damage


def _usage_of_all(records: Iterable[_Record], start: int) -> tuple[list[UsageRecord], int]:
    """Return the usage records and the start of the session, in microseconds since 1970.

    `start` is the start of the session if it was read before, or 0.
    """
    found: list[UsageRecord] = []
    for record in records:
        # A resume and a compaction write all messages again, with their ids.
        head = record.set or record
        start = start or micros_of(record.start_time)
        found += [usage for each in (record, *head.messages) if (usage := _usage(each, start))]
    return found, start


def _usage(record: _Record, start: int) -> UsageRecord | None:
    if record.type != "gemini" or not record.id or not record.tokens:
        return None
    tokens = record.tokens.usage
    if not tokens.total:
        return None
    time = micros_of(record.timestamp)
    is_copy = 0 < time < start
    return UsageRecord(record.id, time, record.model or "", tokens, is_copy=is_copy)
