"""Generated histories of Claude Code and Codex: a month of work with streamed, repeated and damaged
lines."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from tests.features.usage.usage_transcripts import (
    LINE,
    claude_answer,
    claude_request,
    codex_meta,
    codex_total,
    codex_turn,
    write_lines,
)

START = datetime(2026, 2, 10, tzinfo=UTC)
DAYS = 30
CLAUDE_MODELS = (
    "claude-sonnet-4-5-20250929",
    "claude-opus-4-5-20251101",
    "claude-haiku-4-5-20251001",
)
CODEX_MODELS = "gpt-5.1-codex", "gpt-5-mini"


def write_claude_history(home: Path, random: Random, sessions: int) -> None:
    """Write sessions with sub-agents. Every third one is a resume that repeats an earlier one."""
    folder = home / ".claude/projects/-home-you-shop"
    histories: list[tuple[datetime, list[dict[str, Any] | str]]] = []
    for number in range(sessions):
        id = _uuid(random)
        when, lines = _moment(random), list[dict[str, Any] | str]()
        if number % 3 == 2:
            when, repeated = random.choice(histories)
            lines += [{**line, "sessionId": id} for line in repeated if not isinstance(line, str)]
            when += timedelta(hours=random.randrange(1, 60))
        added, when = _claude_turns(random, id, when, f"{number}")
        lines += added
        histories.append((when, lines))
        write_lines(folder / f"{id}.jsonl", *lines)
        if number % 4 == 1:
            agent, _ = _claude_turns(random, id, when, f"agent-{number}", is_sidechain=True)
            write_lines(folder / f"{id}/subagents/agent-{number}.jsonl", *agent)


def _claude_turns(
    random: Random, session: str, when: datetime, name: str, *, is_sidechain: bool = False
) -> tuple[list[dict[str, Any] | str], datetime]:
    lines: list[dict[str, Any] | str] = []
    shared: dict[str, Any] = {**LINE, "sessionId": session, "isSidechain": is_sidechain}
    for turn in range(random.randrange(2, 30)):
        when += timedelta(seconds=random.randrange(1, 4000))
        if turn % 5 == 0:
            lines.append({**claude_request(f"{name} {turn}", when.isoformat()), **shared})
        counts = {
            "input": random.randrange(3, 500),
            "read": random.randrange(150_000),
            "write": (written := random.randrange(30_000)),
            "hour": random.choice([0, 0, written, written // 3]),
        }
        model, output = random.choice(CLAUDE_MODELS), random.randrange(1, 9)
        for part in range(random.randrange(1, 4)):  # the lines of one streamed answer
            answer = claude_answer(
                f"msg_{name}_{turn}", at=_text(when), model=model, output=output, **counts
            )
            lines.append({**answer, **shared, "uuid": f"u-{name}-{turn}-{part}"})
            output += random.randrange(1, 4000)
        if random.random() < 0.05:
            lines.append('{"type": "assistant", "message": {"id": "cut')
    return lines, when


def write_codex_history(home: Path, random: Random, sessions: int) -> None:
    """Write rollouts (transcripts). Every fourth one is a fork that repeats an earlier one."""
    histories: list[tuple[str, datetime, list[dict[str, Any]]]] = []
    for number in range(sessions):
        id, when, totals = _uuid(random), _moment(random), [0] * 5
        origin, history = "", list[dict[str, Any]]()
        if number % 4 == 3:
            origin, when, history = random.choice(histories)
            when += timedelta(hours=random.randrange(1, 60))
            # Codex writes the copies with the time of the fork.
            history = [{**line, "timestamp": _text(when)} for line in history]
            totals = [*history[-1]["payload"]["info"]["total_token_usage"].values()]
        fields = {"forked_from_id": origin} if origin else {}
        meta = {**codex_meta(id, **fields), "timestamp": _text(when)}
        lines = [meta, *history, *_codex_turns(random, when, totals)]
        histories.append((id, _last_time(lines), lines))
        name = f"rollout-{when:%Y-%m-%dT%H-%M-%S}-{id}.jsonl"
        write_lines(home / f".codex/sessions/{when:%Y/%m/%d}" / name, *lines)


def _last_time(lines: list[dict[str, Any]]) -> datetime:
    return datetime.fromisoformat(lines[-1]["timestamp"])


def _codex_turns(random: Random, when: datetime, totals: list[int]) -> Iterator[dict[str, Any]]:
    for turn in range(random.randrange(2, 30)):
        when += timedelta(seconds=random.randrange(1, 4000))
        if turn % 4 == 0:
            context = codex_turn(random.choice(CODEX_MODELS))
            context["payload"]["turn_id"] = _uuid(random)
            yield {**context, "timestamp": _text(when)}
        read, write, output = (random.randrange(1, limit) for limit in (60_000, 9000, 4000))
        last = [read + write + random.randrange(900), read, output, random.randrange(output), write]
        totals = [old + new for old, new in zip(totals, last, strict=True)]
        input, read, output, reasoning, write = totals
        line = codex_total(input, read, output, reasoning, write, last=last, at=_text(when))
        yield line
        if random.random() < 0.3:
            yield line  # Codex repeats the totals, for example when the limits of the plan change


def _moment(random: Random) -> datetime:
    return START + timedelta(seconds=random.randrange(DAYS * 86_400))


def _text(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _uuid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))
