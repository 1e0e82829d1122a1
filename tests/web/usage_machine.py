"""A machine whose AI tools wrote answers with known usage on each of the last days."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.features.usage.usage_transcripts import claude_answer, claude_request, write_lines


def answer_file(
    home: Path, project: str, session: str, *answers: tuple[str, int, int], title: str = "Hello"
) -> Path:
    """Write a session of Claude Code. An answer has its model, its age in days and its output."""
    cwd = str(home / "work" / project)
    now = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    lines = [{**claude_request(title, at=_at(now, answers[0][1])), "cwd": cwd}]
    for number, (model, ago, output) in enumerate(answers):
        line = claude_answer(
            f"{session}-{number}", at=_at(now, ago), model=model, output=output, input=output // 3
        )
        lines.append({**line, "cwd": cwd})
    folder = cwd.replace("/", "-")
    return write_lines(home / f".claude/projects/{folder}/{session}.jsonl", *lines)


def _at(now: datetime, ago: int) -> str:
    return (now - timedelta(days=ago)).isoformat().replace("+00:00", "Z")


def session_id(number: int) -> str:
    return f"{number:08x}-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


def month(home: Path) -> None:
    """Two months of work with several models in several projects."""
    models = ["claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "unknown-model-9"]
    titles = ["Checkout fails for carts with a gift card", "Move image resizing out of the request"]
    for number in range(60):
        if number % 7 in (5, 6):
            continue
        answers = [
            (models[(number + n) % 4], number, 4_000 * (1 + (number * 7 + n * 5) % 11))
            for n in range(3)
        ]
        project = ("shop", "web", "billing-service", "docs")[number % 4]
        title = f"{titles[number % 2]}, part {number}"
        answer_file(home, project, session_id(number), *answers, title=title)
