"""(p) finding: how often the right conversation comes first, through every face.

The development set has real conversations, and queries whose right conversation is known. It is not
part of the project: `CORTEXT_RETRIEVAL`, or the folder `shared/data/retrieval` beside the project,
has it. Its conversations are written as transcripts of Claude Code into a HOME of their own.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.starts import clean_environment

CORTEXT = os.path.join(os.path.dirname(sys.executable), "cortext")
_BESIDE = Path(__file__).parent.parent.parent / "shared/data/retrieval"
_MOST = 20


def find_data() -> Path | None:
    """Return the folder of the development set, or None if it is not there."""
    folder = Path(os.environ.get("CORTEXT_RETRIEVAL") or _BESIDE)
    return folder if (folder / "queries.jsonl").is_file() else None


def write_transcripts(data: Path, home: Path) -> None:
    """Write the conversations of the development set as transcripts of Claude Code."""
    folder = home / ".claude/projects/-home-you-project"
    folder.mkdir(parents=True)
    with gzip.open(data / "sessions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            session = json.loads(line)
            records = _records(session["session"], session["messages"])
            text = "".join(json.dumps(record) + "\n" for record in records)
            (folder / f"{session['session']}.jsonl").write_text(text, encoding="utf-8")


def _records(id: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    parent: str | None = None
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            tool = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash"}
            content: Any = [{**tool, "input": {"command": message["text"]}}]
        elif message["role"] == "assistant":
            content = [{"type": "text", "text": message["text"]}]
        else:
            content = message["text"]
        role = "user" if message["role"] == "user" else "assistant"
        own_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{id}/{number}"))
        records.append(
            {
                "type": role,
                "uuid": own_id,
                "parentUuid": parent,
                "sessionId": id,
                "cwd": "/home/you/project",
                "version": "2.1.325",
                "timestamp": message["timestamp"],
                "message": {"role": role, "content": content},
            }
        )
        parent = own_id
    return records


def faces() -> dict[str, Callable[[str], list[str]]]:
    """Return a function for each face, which returns the ids that the face finds for a query."""
    from cortext.features.search.search_results import Finder, SearchRequest

    finder = Finder()
    finder.refresh(patience=None)

    def answer(query: str) -> list[str]:
        groups = finder.answer(SearchRequest(query, most=_MOST)).groups
        return [group.row.key for group in groups]

    found: dict[str, Callable[[str], list[str]]] = {"core": answer}
    found |= {"search": _by_search, "search --json": _by_json}
    found |= {"resume and show": _by_words}
    return {**found, "picker": _by_picker(), "web page": _by_web_page, "MCP": _by_mcp}


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [CORTEXT, *words]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def _by_search(query: str) -> list[str]:
    done = _run("search", "-n", str(_MOST), "--", query)
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def _by_json(query: str) -> list[str]:
    done = _run("search", "--json", "-n", str(_MOST), "--", query)
    return [*dict.fromkeys(hit["id"] for hit in json.loads(done.stdout or "[]"))]


def _by_words(query: str) -> list[str]:
    """Return the conversations from which `resume` and `show` let the user choose."""
    from cortext.features.listing.conversation_list import ConversationList
    from cortext.features.search.name_or_text_lookup import find_conversation

    found = find_conversation(ConversationList(os.getcwd(), everywhere=True), query)
    return [row.key for row in found.rows[:_MOST]]


def _by_picker() -> Callable[[str], list[str]]:
    from cortext.cli.picker.picker_items import PickerItems
    from cortext.cli.picker.picker_search import PickerQuery, TextFinder

    items, finder = PickerItems.everywhere(), TextFinder(lambda _: None, lambda: False)

    def ask(query: str) -> list[str]:
        found = finder.find(PickerQuery(query, items)).with_titled(items.titled(query))
        return [row.key for row in found if not isinstance(row, str)]

    return ask


def _by_web_page(query: str) -> list[str]:
    from cortext.web import list_page
    from cortext.web.list_request import ListRequest

    return [found.card.row.key for found in list_page.search(ListRequest(q=query)).found]


def _by_mcp(query: str) -> list[str]:
    from cortext.mcp.tool_table import TOOLS
    from cortext.mcp.visibility import Reach

    given = {"query": query, "all": True}
    answer = TOOLS["search_workspace"].call("search_workspace", Reach(os.getcwd()), given)
    return [*dict.fromkeys(hit["id"] for hit in answer.plain["hits"])]


def measure(data: Path, ask: Callable[[str], list[str]]) -> dict[str, float]:
    """Return hit@1, hit@5 and the mean reciprocal rank over all queries."""
    queries = [json.loads(line) for line in (data / "queries.jsonl").read_text().splitlines()]
    ranks: list[float] = []
    for query in queries:
        found = ask(query["query"])
        ranks.append(found.index(query["session"]) + 1 if query["session"] in found else 1e9)
    count = len(ranks)
    return {
        "hit@1": sum(rank == 1 for rank in ranks) / count,
        "hit@5": sum(rank <= 5 for rank in ranks) / count,
        "mrr": sum(1 / rank for rank in ranks) / count,
    }


def in_child(folder: str, data: Path) -> dict[str, dict[str, float]]:
    """Measure in a process that has its own HOME."""
    home = Path(folder)
    write_transcripts(data, home)
    places = {name: str(home / name.lower()) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    env = {**clean_environment(), **places, "HOME": str(home), "XDG_CACHE_HOME": str(home / "c")}
    done = subprocess.run(
        [sys.executable, "-m", "bench.retrieval", str(data)],
        env={**env, "PYTHONPATH": os.environ.get("PYTHONPATH", ".")},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps({name: measure(Path(sys.argv[1]), ask) for name, ask in faces().items()}))
