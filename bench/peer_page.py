"""Write docs/explanation/bench.md, its figures and its chart.

`python -m bench.peer_page RESULT.json` uses the results of a run. Without a file, it uses the
figures that are already in docs/explanation.
"""

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
PAGE = DOCS / "bench.md"
FIGURES = DOCS / "bench.json"
CHART = DOCS / "bench.svg"
_BLOCK = re.compile(r"(<!-- made by bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
PARTS: dict[str, Callable[[Found], str]] = {
    "warning": peer_words.warning,
    "machine": peer_table.machine,
    "short": peer_short.short,
    "replaced": peer_table.replaced,
    "tables": peer_table.tables,
    "notes": peer_table.notes,
    "ahead": peer_table.ahead,
    "behind": peer_table.behind,
    "meaning": peer_words.meaning,
}


def page(text: str, found: Found) -> str:
    """Return the page with its generated parts replaced. Handwritten parts stay unchanged."""
    return _BLOCK.sub(lambda part: f"{part[1]}{PARTS[part[2]](found)}\n{part[3]}", text)


def made_in(text: str) -> list[str]:
    """Return the names of the generated parts of a page."""
    return [part[2] for part in _BLOCK.finditer(text)]


def figures() -> Found:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def write(found: Found) -> None:
    """Write the figures, the chart and the page."""
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    CHART.write_text(peer_chart.svg(found), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    given = sys.argv[1:]
    write(json.loads(Path(given[0]).read_text(encoding="utf-8")) if given else figures())
