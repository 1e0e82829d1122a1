"""Very many messages to search in, always the same: words as often as in real texts, code, paths
and numbers. Made up, so that nobody's conversations are in it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from cortext import Session
from cortext.formats.folder import encode_head

EACH = 500
"""Messages of a conversation."""
_SLOTS = 1 << 16
_COMMON = """
the to a and of in is it that we for this you on not be with as if are can so i have but
should an or from when at will do what which there then one all would by no file test now
error use code run how more only has set line need function after make because new data just
same key let value here name why list two path add does before index time user read could
first write type call where into change out also work case get was each message none server
table fix check string cache through over branch been start than build query return too
still
"""
_SYLLABLES = """
ba be bi con da de di dis ex fi for ga ge in ka ke la le li lo ma me mi mo na ne no o pa pe
pre pro ra re ri ro sa se si so sub ta te ti to tra u un va ve vi za ent er ing ion ist ly
ment or tion ty ware
"""
_CODE = (
    "\n```python\ndef {0}_{1}({2}: str, n=3):\n    return {2}.{3}({4}) != {5}\n```\n",
    '\n```json\n{{"{0}": {{"{1}": {n}, "{2}": "src/{3}/{4}.py"}}}}\n```\n',
    "\n    $ git commit -m '{0}: {1} {2}' src/{3}/{4}_{5}.py:{n}\n",
    '\n    File "/home/you/{0}/{1}.py", line {n}, in {2}_{3}\n    {4}Error: {5}\n',
)


def vocabulary() -> tuple[list[str], list[str]]:
    """A table in which the nth word stands about 1/n as often as the first, and one of rare
    words."""
    rng = random.Random(6)
    made: dict[str, None] = dict.fromkeys(_COMMON.split())
    syllables = _SYLLABLES.split()
    while len(made) < _SLOTS + 16_000:
        made["".join(rng.choices(syllables, k=rng.choice((2, 2, 3, 3, 4))))] = None
    words = list(made)
    table: list[str] = []
    for rank, word in enumerate(words):
        share = int(_SLOTS * 0.12 / (rank + 2.7) + 0.5)
        table += [word] * max(share, 1)
        if len(table) >= _SLOTS:
            break
    return table[:_SLOTS], words[-_SLOTS:]


def texts(number: int, count: int, tables: tuple[Sequence[str], Sequence[str]]) -> Iterator[str]:
    """The messages of a conversation, of about 400 bytes."""
    rng = random.Random(number)
    usual = [*map(tables[0].__getitem__, memoryview(rng.randbytes(220 * count)).cast("H"))]
    rare = map(tables[1].__getitem__, memoryview(rng.randbytes(8 * count)).cast("H"))
    at = 0
    for _ in range(count):
        size = 30 + int(70 * rng.random())
        words = usual[at : at + size]
        at += size
        words[3], words[size // 2] = next(rare), next(rare)
        words[4] = str(rng.getrandbits(20))
        text = " ".join(words)
        if rng.random() < 0.3:
            code = _CODE[at % len(_CODE)].format(next(rare), *words[5:10], n=at)
            text = f"{text}\n{code}{' '.join(words[:5])}."
        yield text


def make(root: str, messages: int, each: int = EACH) -> int:
    """A workspace of so many messages, in conversations over some years; how many bytes their
    texts have. Written plainly: that each is synced is what other benches are about."""
    tables = vocabulary()
    size, count = 0, messages // each
    began = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3 * count + 200)
    os.makedirs(f"{root}/.workspace", exist_ok=True)
    for number in range(count):
        when = began + timedelta(hours=3 * number)
        lines: list[str] = []
        for n, text in enumerate(texts(number, each, tables)):
            size += len(text)
            lines.append(line(text, n, when))
        _write(root, number, when, lines)
    return size


def line(text: str, number: int, when: datetime) -> str:
    """A message of a conversation as it is stored."""
    role = "assistant" if number % 2 else "user"
    said = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    at = (when + timedelta(seconds=20 * number)).isoformat()[:19]
    return f'{{"role":"{role}","content":"{said}","timestamp":"{at}Z","id":"{at}-{number}"}}\n'


def _write(root: str, number: int, when: datetime, lines: Sequence[str]) -> None:
    name = f"{number % 8 + 1:03}-brainstorm-topic-{number}"
    session = Session(
        name, title=f"Topic {number} of many", kind="brainstorm", status="paused",
        created_at=when, updated_at=when + timedelta(seconds=20 * len(lines)),
    )  # fmt: skip
    folder = f"{root}/conversations/{when:%Y-%m-%d}/{name}"
    os.makedirs(f"{folder}/.session")
    files = {
        "brainstorm.md": f"# Topic {number} of many\n",
        ".session/session.json": encode_head(session).decode(),
        ".session/messages.jsonl": "".join(lines),
    }
    for path, text in files.items():
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(text)
