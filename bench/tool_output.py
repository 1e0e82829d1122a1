"""Transcripts of Claude Code and Codex with realistic tool output, always the same.

The output is build logs, tracebacks, results of grep, file reads, test runs, JSON and diffs. Nearly
all of the bytes of a real transcript are such output. From the middle of long outputs come the
literal lines that a search must find.

    python -m bench.tool_output FOLDER [MEGABYTES]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.transcripts import Words, write_one

BYTES = 350_000_000
_COUNT = 400
"""The number of transcripts. Their sizes are spread like those of real ones."""
_EDGE = 400
"""The characters at both ends of an output from which no literal line is taken."""
_SHORTEST_LINE, _LONGEST_LINE = 24, 160
LINES = 30


class LiteralLine(NamedTuple):
    """A line from the middle of a long output, and the id of its session."""

    text: str
    session: str


class OutputCorpus(NamedTuple):
    """The bytes of all transcripts, and lines to search for."""

    size: int
    lines: list[LiteralLine]


class ToolOutput(Words):
    """Words whose `source` is the output of a tool, of any kind that developers see."""

    def __init__(self, seed: int) -> None:
        self._kinds: list[Callable[[], str]] = []
        super().__init__(seed)
        self.candidates: list[str] = []
        self._kinds = [
            self._build_log,
            self._traceback,
            self._grep,
            self._test_run,
            self._json,
            self._diff,
            self._server_log,
        ]

    def source(self, characters: int) -> str:
        """Return some output: one of four is a file that was read, the others are generated."""
        if not self._kinds or self.random.random() < 0.25:
            text = super().source(characters)
        else:
            kind, lines, size = self.random.choice(self._kinds), list[str](), 0
            while size < characters:
                lines.append(kind())
                size += len(lines[-1]) + 1
            text = "\n".join(lines)
        if self._kinds and len(text) > 6 * _EDGE:
            at = self.random.randrange(_EDGE, len(text) - _EDGE - _LONGEST_LINE)
            self.candidates.append(text[at : at + 2 * _LONGEST_LINE].partition("\n")[2])
        return text

    def word(self) -> str:
        return self.random.choice(self._words)

    def name(self) -> str:
        """Return an identifier, in snake case or camel case."""
        first, second = self.word(), self.word()
        return self.random.choice(
            (f"{first.lower()}_{second.lower()}", f"{first.lower()}{second.capitalize()}")
        )

    def _number(self, most: int = 5000) -> int:
        return self.random.randrange(1, most)

    def _file(self, ending: str = "py") -> str:
        return f"src/{self.word().lower()}/{self.name()}.{ending}"

    def _build_log(self) -> str:
        name, path = self.name(), self._file("c")
        return self.random.choice(
            (
                f"[{self._number(900)}/900] Building C object {path}.o",
                f"{path}:{self._number()}:{self._number(80)}: warning: unused '{name}' [-Wunused]",
                f"ld: symbol(s) not found for architecture {name}: undefined reference to `{name}'",
                f"   Compiling {name} v0.{self._number(40)}.{self._number(9)}",
                f"npm WARN deprecated {name}@{self._number(9)}.2.0: {self.sentence(12)}",
            )
        )

    def _traceback(self) -> str:
        frames = [
            f'  File "/home/you/project/{self._file()}", line {self._number()}, in {self.name()}\n'
            f"    return self.{self.name()}({self.name()}, {self._number()})"
            for _ in range(self.random.randrange(2, 9))
        ]
        error = f"{self.word().capitalize()}Error: {self.sentence(10)[:-1]}: '{self.name()}'"
        return "\n".join(["Traceback (most recent call last):", *frames, error])

    def _grep(self) -> str:
        return f"{self._file()}:{self._number()}:    {self.name()} = {self.name()}({self.word()!r})"

    def _test_run(self) -> str:
        case = f"tests/test_{self.word().lower()}.py::test_{self.name()}"
        return self.random.choice(
            (
                f"{case} PASSED                  [{self._number(100):3}%]",
                f"{case} FAILED                  [{self._number(100):3}%]",
                f"E       assert {self._number()} == {self._number()}, {self.sentence(8)}",
                f"{self._number(90) / 10:.2f}s call     {case}",
            )
        )

    def _json(self) -> str:
        value = {
            "id": self.id(),
            self.name(): self._number(),
            "path": self._file("ts"),
            "message": f'{self.sentence(9)} "{self.word()}"',
        }
        return json.dumps(value, indent=2)

    def _diff(self) -> str:
        path = self._file()
        changes = [
            f"{self.random.choice('+- ')}    {self.name()} = {self.name()}[{self._number()}]"
            for _ in range(self.random.randrange(3, 12))
        ]
        place = f"@@ -{self._number()},7 +{self._number()},9 @@"
        return "\n".join([f"--- a/{path}", f"+++ b/{path}", place, *changes])

    def _server_log(self) -> str:
        at = f"2026-01-{self._number(28):02}T10:{self._number(59):02}:{self._number(59):02}Z"
        level = self.random.choice(("INFO", "WARN", "ERROR", "DEBUG"))
        return f"{at} {level} {self.name()}: {self.sentence(14)} took={self._number()}ms"


def make(home: str, total: int = BYTES, seed: int = 1) -> OutputCorpus:
    """Fill a home with transcripts of `total` bytes, and return lines to search for."""
    words, size = ToolOutput(seed), 0
    count = max(_COUNT * total // BYTES, 4)
    shares = [words.random.lognormvariate(0, 1) for _ in range(count)]
    found: list[LiteralLine] = []
    for number, share in enumerate(shares):
        tool = ("claude", "claude", "codex", "claude")[number % 4]
        words.candidates.clear()
        path = write_one(tool, Path(home), words, int(total * share / sum(shares)))
        size += path.stat().st_size
        when = 1_767_312_000 + number * 3600
        os.utime(path, (when, when))
        found += [LiteralLine(line, path.stem[-36:]) for line in _whole_lines(words.candidates)]
    return OutputCorpus(size, words.random.sample(found, min(LINES, len(found))))


def _whole_lines(texts: list[str]) -> list[str]:
    """Return the first line of each text, without the lines that are too short or too long."""
    lines = [text.partition("\n")[0].strip() for text in texts if "\n" in text]
    return [line for line in lines if _SHORTEST_LINE <= len(line) <= _LONGEST_LINE]


if __name__ == "__main__":
    given = int(sys.argv[2]) * 1_000_000 if len(sys.argv) > 2 else BYTES
    made = make(sys.argv[1], given)
    print(json.dumps([made.size, made.lines], indent=1))
