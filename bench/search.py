"""(l) search: an index of 1,000,000 messages, what a person asks of it, and what it costs to keep
it in step. Beside ripgrep over the same files and, where it is installed, tantivy."""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from bench import corpus, spawn
from bench.starts import clean_environment
from bench.timing import in_turns
from cortext import paths
from cortext.catalog.fulltext.fulltext_index import FulltextIndex, Work
from cortext.features.search.search import Search
from cortext.features.search.search_results import Finder, SearchRequest

CORTEXT = os.path.join(os.path.dirname(sys.executable), "cortext")
COUNT = 1_000_000
QUICK = 100_000
_APPENDS = 200
_ASKED = 60
_RAREST = "zyxwordnobodysaid"


class Asked:
    """What is looked for: drawn from messages of the corpus, always the same."""

    def __init__(self, rows: list[str]) -> None:
        self._rng, self._paths = random.Random(6), rows

    def all(self, count: int) -> dict[str, list[str]]:
        kinds: dict[str, Callable[[], str]] = {
            "rare word": lambda: self._words()[3],
            "common word": lambda: self._rng.choice(("the", "we", "should", "error", "path")),
            "phrase": self._phrase,
            "three words": lambda: " ".join(self._rng.sample(self._words()[5:25], 3)),
            "miss": lambda: f"{_RAREST}{self._rng.randrange(10**6)}",
        }
        return {kind: [draw() for _ in range(count)] for kind, draw in kinds.items()}

    def _words(self) -> list[str]:
        with open(self._rng.choice(self._paths), "rb") as file:
            line = self._rng.choice(file.read().splitlines())
        return json.loads(line)["content"].split()

    def _phrase(self) -> str:
        start = self._rng.randrange(5, 20)
        return f'"{" ".join(self._words()[start : start + 3])}"'


def build(root: str, messages: int) -> dict[str, float]:
    """Make the corpus, read it, and how long that took; bytes of the texts and of the index."""
    text = corpus.make(root, messages)
    os.chdir(root)
    began = time.perf_counter()
    search = Search()
    listed = time.perf_counter()
    found = search.refresh(patience=None)
    done = time.perf_counter()
    if found.left:
        raise SystemExit(f"the index was not built: {found.why}")
    return {
        "list": listed - began,
        "rate": found.messages / (done - listed),
        "size": os.path.getsize(paths.words()) / text,
    }


def asked() -> tuple[dict[str, list[str]], list[str]]:
    files = [row.place.lines for row in Search().rows]
    return Asked(files).all(_ASKED), files


def in_process() -> dict[str, float]:
    """Median seconds of each kind of question, with the newest 20 and their snippets."""
    search, (questions, _) = Search(), asked()
    found: dict[str, float] = {}
    for kind, texts in questions.items():
        for text in texts[:5]:
            search.find(text)
        spent: list[float] = []
        for text in texts:
            began = time.perf_counter()
            hits = search.find(text)
            spent.append(time.perf_counter() - began)
            if bool(hits) == (kind == "miss"):
                raise SystemExit(f"{kind} {text!r} has {len(hits)} hits")
        found[kind] = statistics.median(spent)
    return found


def ranked() -> dict[str, float]:
    """Median seconds of the ranking, with snippets. A miss is left out, because it scans files."""
    (questions, _), finder = asked(), Finder()
    del questions["miss"]
    found: dict[str, float] = {}
    for kind, texts in questions.items():
        for text in texts[:5]:
            finder.answer(SearchRequest(text))
        times = in_turns(
            {text: lambda text=text: finder.answer(SearchRequest(text)) for text in texts}, 1
        )
        found[kind] = statistics.median(times.values())
    return found


def end_to_end(rounds: int) -> dict[str, float]:
    """Median seconds of `cortext search`, and of a bare start, taken in turns."""
    questions, _ = asked()
    env = clean_environment()

    def run(*command: str) -> None:
        null = subprocess.DEVNULL
        subprocess.run(command, env=env, check=False, stdout=null, stderr=null)

    def one(texts: list[str]) -> Callable[[], None]:
        left = iter(texts * rounds)
        return lambda: run(CORTEXT, "search", next(left))

    run(CORTEXT, "search", "the")
    bare = {"bare": lambda: run(sys.executable, "-c", "pass")}
    # A miss scans the files, which takes as long as there are files.
    del questions["miss"]
    return in_turns({**bare, **{kind: one(texts) for kind, texts in questions.items()}}, rounds)


class Timed(FulltextIndex):
    """The index, and how long each addition to it took."""

    def __init__(self) -> None:
        super().__init__(paths.words())
        self.spent: list[float] = []

    def put_all(self, work: Iterable[Work], *, bulk: bool = False) -> int:
        began = time.perf_counter()
        try:
            return super().put_all(work, bulk=bulk)
        finally:
            self.spent.append(time.perf_counter() - began)


def appends(root: str) -> dict[str, float]:
    """The longest that the index took to take in one turn, the median of a look at everything with
    that, and how many of the last five turns another process did not find at once."""
    (day,) = sorted(os.listdir(f"{root}/conversations"))[-1:]
    (name,) = sorted(os.listdir(f"{root}/conversations/{day}"))[-1:]
    folder = f"{root}/conversations/{day}/{name}/.session"
    _set_active(folder)
    Search().refresh()
    words, missing = Timed(), 0
    refreshes: list[float] = []
    for number in range(_APPENDS):
        text = f"turn {number} says {_RAREST}a{number} and other words " * 8
        with open(f"{folder}/messages.jsonl", "a", encoding="utf-8") as file:
            file.write(corpus.line(text, number, datetime.now(UTC)))
        if number >= _APPENDS - 5:
            command = [CORTEXT, "search", f"{_RAREST}a{number}"]
            null = subprocess.DEVNULL
            done = subprocess.run(command, env=clean_environment(), check=False, stdout=null)
            missing += done.returncode != 0
            continue
        search = Search(words)
        began = time.perf_counter()
        found = search.refresh()
        refreshes.append(time.perf_counter() - began)
        if found.messages < 1:
            raise SystemExit(f"turn {number} was not taken in: {found}")
    middle = statistics.median(refreshes)
    return {"longest append": max(words.spent), "refresh": middle, "missing": missing}


def _set_active(folder: str) -> None:
    with open(f"{folder}/session.json", encoding="utf-8") as file:
        head = json.load(file)
    with open(f"{folder}/session.json", "w", encoding="utf-8") as file:
        json.dump({**head, "status": "active", "last_active": datetime.now(UTC).isoformat()}, file)


def unchanged(folder: str, rounds: int) -> dict[str, float]:
    """Median seconds until it is known that nothing is new in 10,000 sessions, those of the
    workspace and the others of `aur`, and of a bare start, taken in turns."""
    spawn.make_sessions(f"{folder}/spawn/sessions", spawn.COUNT - len(Search().rows))
    os.environ["AURORA_HOME"] = folder
    found = nothing_new(rounds)
    return {"bare there": found["bare"], "unchanged": found["unchanged"]}


def nothing_new(rounds: int) -> dict[str, float]:
    """Median seconds until it is known that nothing is new, and of a bare start, taken in turns."""
    for _ in range(2):
        Search().refresh(patience=None)
    env = clean_environment()

    def refresh() -> None:
        found = Search().refresh()
        if found.read or found.left:
            raise SystemExit(f"something was new: {found}")

    command = [sys.executable, "-c", "pass"]
    bare = {"bare": lambda: subprocess.run(command, env=env, check=True)}
    return in_turns({**bare, "unchanged": refresh}, rounds)


def ripgrep(root: str) -> float | None:
    """Median seconds of a rare word by ripgrep, which has no index; None where it is missing."""
    if not shutil.which("rg"):
        return None
    texts = asked()[0]["rare word"][:5]
    spent: list[float] = []
    for text in texts:
        began = time.perf_counter()
        command = ["rg", "-c", "-w", "--hidden", text, root]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def by_tantivy(folder: str) -> dict[str, float] | None:
    """The same texts in tantivy's index, with positions and a stored number: messages a second,
    bytes to bytes of text, and the median seconds of the newest 20; None where it is missing."""
    try:
        tantivy: Any = importlib.import_module("tantivy")
    except ImportError:
        return None
    os.makedirs(folder)
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, index_option="position")
    schema.add_unsigned_field("id", stored=True, indexed=True, fast=True)
    index: Any = tantivy.Index(schema.build(), path=folder)
    writer = index.writer(heap_size=128_000_000, num_threads=2)
    questions, files = asked()
    began, number, size = time.perf_counter(), 0, 0
    for path in files:
        with open(path, "rb") as file:
            for line in file:
                number += 1
                text = json.loads(line)["content"]
                size += len(text)
                document = tantivy.Document(text=text)
                document.add_unsigned("id", number)
                writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    spent = time.perf_counter() - began
    index.reload()
    searcher = index.searcher()
    bytes_ = sum(os.path.getsize(f"{folder}/{name}") for name in os.listdir(folder))
    found = {"rate": number / spent, "size": bytes_ / size}
    for kind, texts in questions.items():
        times: list[float] = []
        for text in texts:
            wanted = " AND ".join(text.split()) if kind == "three words" else text
            began = time.perf_counter()
            query = index.parse_query(wanted, ["text"])
            searcher.search(query, 20, order_by_field="id")
            times.append(time.perf_counter() - began)
        found[kind] = statistics.median(times)
    return found


def in_child(folder: str, rounds: int, messages: int = COUNT, python: str = "") -> dict[str, Any]:
    """All of it, from a process of its own, for a person of whom nothing is known but this. With a
    `python` that has tantivy, that too."""
    homes = {
        name: f"{folder}/{name.lower()}"
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    }
    # The peers have an environment in which we are not installed.
    places = os.pathsep.join([os.getcwd(), os.path.abspath("src")])
    env = {**os.environ, **homes, "CI": "true", "PYTHONPATH": places}
    os.makedirs(homes["HOME"])
    found: dict[str, Any] = {}
    # Built by ours, so that what is measured has nothing else in memory.
    steps = [("ours", sys.executable), *([("peers", python)] if python else [])]
    for step, program in steps:
        command = [program, "-m", "bench.search", step, folder, str(rounds), str(messages)]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def _ours(folder: str, rounds: int, messages: int) -> dict[str, Any]:
    root = f"{folder}/workspace"
    found: dict[str, Any] = {"build": build(root, messages)}
    # At three times, for these bars are milliseconds: a noisy minute is not all of them.
    spent = [in_process()]
    found["ranked"] = ranked()
    found["end to end"] = end_to_end(rounds)
    spent.append(in_process())
    found["ripgrep"] = ripgrep(root)
    spent.append(in_process())
    found["in process"] = {kind: statistics.median(one[kind] for one in spent) for kind in spent[0]}
    return {**found, **appends(root), **unchanged(f"{folder}/many", rounds)}


if __name__ == "__main__":
    what, place, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if what == "peers":
        os.chdir(f"{place}/workspace")
        print(json.dumps({"tantivy": by_tantivy(f"{place}/tantivy")}))
    else:
        print(json.dumps(_ours(place, count, size)))
