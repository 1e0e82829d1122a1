"""`python -m bench [--quick] [--peers PYTHON]`: the table, the JSON, and whether the bars hold."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from typing import Any, NamedTuple

from bench import (
    archive,
    decoding,
    http,
    lists,
    ours,
    picker,
    race,
    retrieval,
    search,
    secrets,
    service,
    spawn,
    starts,
    statusline,
    tool_output,
    tool_output_search,
    tool_refresh,
    usage,
)
from bench.timing import Figures, in_turns, median, ratio, runs

RESULTS = os.path.join(os.path.dirname(__file__), "results")


class Bar(NamedTuple):
    """A promise, and what was measured."""

    work: str
    measured: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def measure(folder: str, quick: bool, python: str) -> tuple[dict[str, Any], list[Bar]]:
    """All of our own work, and the bars over it; with a Python that has the peers, search beside
    them."""
    count = 2 if quick else 5
    appends = 400 if quick else 2000
    sizes = (500, 5_000) if quick else (500, 5_000, 50_000)
    a = runs(lambda n: ours.short_appends(f"{folder}/a{n}", appends), count)
    b = runs(lambda n: ours.long_appends(f"{folder}/b{n}", appends // 4), count)
    cd = runs(lambda n: ours.reads(f"{folder}/c{n}"), count)
    e = list_times(folder, sizes, count)
    f = races(folder, count)
    g = starts.times(10 if quick else 40)
    h, h_memory = lists.in_child(f"{folder}/h", 5 if quick else 20)
    size = (30, 35_000_000) if quick else (archive.COUNT, archive.BYTES)
    i = archive.in_child(f"{folder}/i", 5 if quick else 20, *size)
    j = decoding.in_child(f"{folder}/j", 20 if quick else 60)
    k = spawn.in_child(f"{folder}/k", 5 if quick else 20)
    messages = search.QUICK if quick else search.COUNT
    found = search.in_child(f"{folder}/l", 5 if quick else 20, messages, python)
    found["tools"] = tool_refresh.in_child(f"{folder}/l-tools", 5 if quick else 20)
    m = picker.in_child(f"{folder}/m", 5 if quick else 15)
    n = service.in_child(2 if quick else 5, python) | http.in_child(3 if quick else 8)
    o = secrets.figures(5 if quick else 20)
    data = retrieval.find_data()
    p = retrieval.in_child(f"{folder}/p", data) if data else {}
    size = tool_output.BYTES // 10 if quick else tool_output.BYTES
    q = tool_output_search.in_child(f"{folder}/q", 5 if quick else 20, size)
    size = (30, 35_000_000) if quick else (usage.COUNT, usage.BYTES)
    r = usage.in_child(f"{folder}/r", 5 if quick else 20, *size)
    s = statusline.in_child(f"{folder}/s", 10 if quick else 40)
    memory = starts.memory(starts.OURS)
    bars = [
        Bar("(a) log append / raw append+fdatasync", ratio(a, "log", "raw"), 1.25, "x"),
        Bar("(a) folder append / raw append+fdatasync", ratio(a, "folder", "raw"), 1.25, "x"),
        *(
            Bar(
                f"(b) {kind} append at {n:,} / at 10",
                ratio(b, f"{kind} {n}", f"{kind} 10"),
                1.2,
                "x",
            )
            for kind in ("log", "folder")
            for n in (10_000, 100_000)
        ),
        Bar("(c) log: last 20 of 10,000 / raw tail", ratio(cd, "log tail", "raw tail"), 3, "x"),
        Bar("(c) folder: the same", ratio(cd, "folder tail", "raw tail"), 3, "x"),
        Bar("(d) log: load 10,000 / raw typed decode", ratio(cd, "log load", "raw load"), 2.2, "x"),
        Bar("(d) folder: the same", ratio(cd, "folder load", "raw load"), 2.2, "x"),
        Bar("(d) document: the same", ratio(cd, "document load", "raw load"), 2.2, "x"),
        *(Bar(f"(e) open + list of {n:,}", median(e, str(n)) * 1e3, 2, "ms") for n in sizes),
        Bar("(e) the largest after a create and close", median(e, "after") * 1e3, 2, "ms"),
        Bar("(e) the largest / the smallest", ratio(e, str(sizes[-1]), str(sizes[0])), 1.5, "x"),
        Bar("(f) acknowledged and missing", max(f["missing"]), 0, "messages"),
        Bar("(f) errors", max(f["errors"]), 0, "errors"),
        Bar("(f) rate / eight raw appenders", ratio(f, "log", "raw"), 0.55, "x", at_least=True),
        Bar("(g) import cortext / bare start", g["import cortext"] / g["bare"], 1.15, "x"),
        Bar("(g) from cortext import SessionManager", g[starts.OURS] / g["bare"], 8, "x"),
        Bar("(g) memory of that", memory, 40, "MB"),
        Bar("(h) list of 5,000, piped", h["plain list"] / h["bare"], 12, "x"),
        Bar("(h) resume --list of 5,000, piped", h["list"] / h["bare"], 12, "x"),
        Bar("(h) the same in a terminal", h["list in a terminal"] / h["bare"], 12, "x"),
        Bar("(h) resume WORDS", h["three words"] / h["bare"], 14, "x"),
        Bar("(h) --context of 10,000 messages", h["long"] / h["bare"], 25, "x"),
        Bar("(h) memory of these", h_memory, 80, "MB"),
        Bar("(h) list of 300 transcripts", h["transcripts"] / h["bare there"], 12, "x"),
        Bar("(h) the same with no catalog", h["transcripts anew"] / h["bare there"], 12, "x"),
        Bar("(i) sources / archive", i["sources"] / i["archive"], 4, "x", at_least=True),
        Bar("(i) first sync / zlib alone", i["first"] / i["raw"], 2, "x"),
        Bar("(i) sync with nothing new", i["again"] / i["bare"], 12, "x"),
        Bar("(i) memory of the first sync", i["memory"], 60, "MB"),
        *(
            Bar(f"(j) decoding of {tool}", j[tool], 250, "MB/s", at_least=True)
            for tool in decoding.TOOLS
        ),
        Bar("(j) memory for 60 MB more", j["memory"], 40, "MB"),
        Bar("(j) capture of one new turn in 10 MB", j["turn"], 30, "ms"),
        Bar("(j) the hook that does it, all of it", j["hook"], 200, "ms"),
        Bar("(j) the same / bare start", j["hook"] / j["bare"], 14, "x"),
        Bar("(j) the hook that recalls / bare start", j["recall"] / j["bare"], 14, "x"),
        Bar("(k) spawn --list-sessions of 10,000", k["list"] / k["bare there"], 14, "x"),
        Bar("(k) spawn -i until its prompt", k["start"] / k["bare"], 25, "x"),
        Bar("(k) the same with 100,000 turns", k["resume"] / k["bare"], 40, "x"),
        Bar("(k) memory of that", k["memory"], 120, "MB"),
        *search_bars(found),
        Bar("(m) the picker of 10,000 on the screen", m["paint"] / m["bare"], 45, "x"),
        Bar("(m) a key until its list is there", m["key"] * 1e3, 50, "ms"),
        *service_bars(n),
        *(Bar(f"(o) secrets looked for in a {x}", o[x], 50, "MB/s", at_least=True) for x in o),
        *(
            Bar(f"(p) {face}: {share}", found_shares[share], least, "", at_least=True)
            for face, found_shares in p.items()
            for share, least in (("hit@1", 0.74), ("hit@5", 0.90))
        ),
        Bar("(q) lines found in tool output", q["found"], 29, "of 30", at_least=True),
        Bar("(q) index / transcripts", q["index"], 0.25, "x"),
        Bar("(q) first build / decoding", q["build"] / q["decode"], 4, "x"),
        Bar("(q) search without a scan", q["search"] / q["bare"], 14, "x"),
        Bar("(q) search with a scan / reading", q["scan / read"], 6, "x"),
        Bar("(r) first usage / typed decode", r["first"] / r["decode"], 3, "x"),
        Bar("(r) usage --by day, nothing new", r["later"] / r["bare"], 12, "x"),
        Bar("(s) statusline / bare start", s["statusline"] / s["bare"], 8, "x"),
    ]
    figures = {
        "a": a,
        "b": b,
        "cd": cd,
        "e": e,
        "f": f,
        "g": g,
        "memory": memory,
        "h": h,
        "i": i,
        "j": j,
        "k": k,
        "l": found,
        "m": m,
        "n": n,
        "o": o,
        "p": p,
        "q": q,
        "r": r,
        "s": s,
    }
    return figures, bars


def search_bars(figures: dict[str, Any]) -> list[Bar]:
    build, bare, tools = figures["build"], figures["end to end"]["bare"], figures["tools"]
    kinds, ranked = figures["in process"], figures["ranked"]
    return [
        Bar("(l) first build of the index", build["rate"], 25_000, "messages/s", at_least=True),
        Bar("(l) index / text", build["size"], 0.8, "x"),
        *(Bar(f"(l) {kind}", figures["in process"][kind] * 1e3, 5, "ms") for kind in kinds),
        *(Bar(f"(l) {kind}, ranked", ranked[kind] * 1e3, 30, "ms") for kind in ranked),
        *(
            Bar(f"(l) {kind}, end to end", figures["end to end"][kind] / bare, 14, "x")
            for kind in ranked
        ),
        Bar("(l) the longest of 195 additions", figures["longest append"] * 1e3, 50, "ms"),
        Bar("(l) turns that the next search missed", figures["missing"], 0, "turns"),
        Bar("(l) nothing new in 10,000", figures["unchanged"] / figures["bare there"], 9, "x"),
        Bar("(l) the same of Claude Code", tools["unchanged"] / tools["bare"], 9, "x"),
    ]


def service_bars(figures: dict[str, float]) -> list[Bar]:
    found = [
        Bar("(n) messages added in memory", figures["rate"], 300_000, "/s", at_least=True),
        Bar("(n) memory of 1,000 x 20 messages", figures["memory"], 25, "MB"),
        Bar("(n) memory of 90,000 creates more", figures["creates"], 1, "MB"),
        Bar("(n) HTTP: post / empty", figures["post"] / figures["empty"], 0.6, "x", at_least=True),
    ]
    if "add" in figures:
        found += [
            Bar("(n) Redis: add / raw push", figures["add"] / figures["raw push"], 1.5, "x"),
            Bar("(n) Redis: history / range", figures["history"] / figures["raw range"], 1.5, "x"),
        ]
    if "RedisSession add" in figures:
        add = figures["add beside it"] / figures["RedisSession add"]
        history = figures["history beside it"] / figures["RedisSession history"]
        found += [
            Bar("(n) Redis: add / RedisSession add", add, 1, "x"),
            Bar("(n) Redis: history / RedisSession's", history, 1, "x"),
        ]
    return found


def list_times(folder: str, sizes: tuple[int, ...], count: int) -> Figures:
    for size in sizes:
        ours.make_sessions(f"{folder}/e{size}", size)
    operations = {
        str(size): lambda size=size: ours.list_newest(f"{folder}/e{size}") for size in sizes
    }
    figures = runs(lambda _: in_turns(operations, 20), count)
    largest = f"{folder}/e{sizes[-1]}"
    for _ in range(count):
        ours.create_and_close(largest)
        after = in_turns({"it": lambda: ours.list_newest(largest)}, 1)
        figures.setdefault("after", []).append(after["it"])
    return figures


def races(folder: str, count: int) -> Figures:
    def once(number: int) -> dict[str, float]:
        log = race.run("log", f"{folder}/f-log{number}")
        raw = race.run("raw", f"{folder}/f-raw{number}")
        return {
            "log": log.rate,
            "raw": raw.rate,
            "acknowledged": log.acknowledged,
            "present": log.present,
            "missing": log.acknowledged - log.present,
            "errors": log.errors,
        }

    return runs(once, count)


def show(figures: dict[str, Any], bars: list[Bar]) -> None:
    a, cd, e, f = figures["a"], figures["cd"], figures["e"], figures["f"]
    print("\nours and the floors, medians")
    print(f"  (a) append   {line(a, 1e6, 'us')}")
    print(f"  (b) append   {line(figures['b'], 1e6, 'us')}")
    print(f"  (c) (d)      {line(cd, 1e6, 'us')}")
    print(f"  (e) list     {line(e, 1e3, 'ms')}")
    h = ", ".join(f"{name} {spent * 1e3:.0f}" for name, spent in figures["h"].items())
    print(f"  (h) commands {h} ms")
    i = figures["i"]
    rate = i["sources"] / i["first"]
    print(
        f"  (i) archive  {i['sources']:.0f} MB in {i['archive']:.0f} MB, first at {rate:.0f} MB/s"
    )
    j = figures["j"]
    print(f"  (j) hook     {j['hook']:.0f} ms, {j['hook'] / j['bare']:.1f} x a bare start")
    show_search(figures["l"])
    show_retrieval(figures["p"])
    print(f"  (f) race     log {median(f, 'log'):.0f}/s, raw {median(f, 'raw'):.0f}/s")
    print(f"\n{'':42} {'measured':>10}  {'bar':>8}")
    for bar in bars:
        limit = f"{'>=' if bar.at_least else '<='} {bar.limit:g}"
        verdict = "" if bar.holds else "  MISSED"
        print(f"{bar.work:42} {bar.measured:10.2f}  {limit:>8} {bar.unit}{verdict}")


def show_search(figures: dict[str, Any]) -> None:
    """Beside what others take for the same."""
    ours = {**figures["build"], **figures["in process"]}
    for name, found in (("cortext", ours), ("tantivy", figures.get("tantivy"))):
        if found:
            times = ", ".join(f"{kind} {found[kind] * 1e3:.2f}" for kind in figures["in process"])
            print(f"  (l) {name:8} {found['rate']:.0f}/s, {found['size']:.2f} x, {times} ms")
    if figures["ripgrep"]:
        print(f"  (l) ripgrep  a rare word in {figures['ripgrep'] * 1e3:.0f} ms, without an index")


def show_retrieval(figures: dict[str, dict[str, float]]) -> None:
    """Print how well each face finds conversations, or that there is no development set."""
    if not figures:
        print("  (p) finding  not measured: set CORTEXT_RETRIEVAL to the development set")
    for face, shares in figures.items():
        found = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        print(f"  (p) {face:16} {found}")


def line(figures: Figures, scale: float, unit: str) -> str:
    return ", ".join(f"{name} {median(figures, name) * scale:.1f}" for name in figures) + f" {unit}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench BENCH=…", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--peers", default="", help="a Python that has tantivy and others")
    wanted = parser.parse_args()
    quick, python = wanted.quick, os.path.abspath(wanted.peers) if wanted.peers else ""
    if python:
        # We are not installed there.
        os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.path.abspath("src")])
    with tempfile.TemporaryDirectory(prefix="cortext-bench-") as folder:
        figures, bars = measure(folder, quick, python)
        show(figures, bars)
        result: dict[str, Any] = {"figures": figures}
    result["bars"] = [{**bar._asdict(), "holds": bar.holds} for bar in bars]
    os.makedirs(RESULTS, exist_ok=True)
    path = os.path.join(RESULTS, time.strftime("%Y%m%d-%H%M%S.json"))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    missed = [bar.work for bar in bars if not bar.holds]
    print(
        f"\n{len(bars) - len(missed)} of {len(bars)} bars hold; written to {os.path.relpath(path)}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
