"""docs/explanation/bench.md, its figures and its chart, and the README's table, from what a run
found: `python -m bench.peer_page RESULT.json`; without a file, from the figures that are there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench import peer_chart, peer_short, peer_table, peer_words
from bench.peer_rows import Found

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "explanation"
README = ROOT / "README.md"
PAGE = DOCS / "bench.md"
FIGURES = DOCS / "bench.json"
CHART = DOCS / "bench.svg"
_BLOCK = re.compile(r"(<!-- made by bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PARTS: dict[str, Callable[[Found], str]] = {
    "warning": peer_words.warning,
    "machine": peer_table.machine,
    "replaced": peer_table.replaced,
    "tables": peer_table.tables,
    "notes": peer_table.notes,
    "ahead": peer_table.ahead,
    "behind": peer_table.behind,
    "meaning": peer_words.meaning,
}
IN_README: dict[str, Callable[[Found], str]] = {"short": peer_short.short}


def page(text: str, found: Found) -> str:
    """The page with its made parts anew; what is written by hand stays."""
    parts = PARTS | IN_README
    return _BLOCK.sub(lambda part: f"{part[1]}{parts[part[2]](found)}\n{part[3]}", text)


def made_in(text: str) -> list[str]:
    """The parts of a page that are made."""
    return [part[2] for part in _BLOCK.finditer(text)]


def figures() -> Found:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def write(found: Found) -> None:
    """All of them."""
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    CHART.write_text(peer_chart.svg(found), encoding="utf-8")
    for path in (PAGE, README):
        path.write_text(page(path.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    given = sys.argv[1:]
    write(json.loads(Path(given[0]).read_text(encoding="utf-8")) if given else figures())
