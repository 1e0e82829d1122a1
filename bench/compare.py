"""Our stores and those of others on the same work, in one run:
`python -m bench.compare --peers PYTHON [--venvs FOLDER] [--quick] [--only KEY,KEY]`.

Prints the tables and writes bench/results after each contestant. A whole run also writes
docs/explanation/bench.md; `python -m bench.peer_page RESULT.json` does that from any result.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from typing import Any

from bench import machine, peer_page
from bench.floors import floor
from bench.peer_bounds import FULL, QUICK
from bench.peer_table import told_on_terminal
from bench.peers import PEERS

RESULTS = os.path.join(os.path.dirname(__file__), "results")


def run(
    folder: str, path: str, quick: bool, keys: list[str], pythons: dict[str, str]
) -> dict[str, Any]:
    """Every contestant after the other, each in processes of its own, and the floor between."""
    bounds, began = QUICK if quick else FULL, time.monotonic()
    found: dict[str, Any] = {
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "quick": quick,
        "bounds": bounds._asdict(),
        "machine": machine.about(folder),
        "contestants": {},
        "floors": [floor(f"{folder}/floor")],
    }
    for key in keys:
        print(f"{time.monotonic() - began:4.0f} s  {PEERS[key].name}", file=sys.stderr, flush=True)
        found["contestants"][key] = one(key, f"{folder}/{key}", quick, pythons)
        found["floors"].append(floor(f"{folder}/floor"))
        found["minutes"] = round((time.monotonic() - began) / 60, 1)
        keep(found, path)
    return found


def keep(found: dict[str, Any], path: str) -> None:
    """What there is so far: a run that is ended has measured something."""
    os.makedirs(RESULTS, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


def one(key: str, folder: str, quick: bool, pythons: dict[str, str]) -> dict[str, Any]:
    """One contestant, in a process of its own."""
    make = PEERS[key]
    python = pythons[make.venv]
    command = [python, "-m", "bench.peer_run", key, folder, "quick" if quick else "full"]
    # Only where we are installed we are found without that.
    places = [os.getcwd(), *([] if python == sys.executable else [os.path.abspath("src")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        # The others go on; the table and the exit code tell of it.
        return {
            "name": make.name,
            "version": "?",
            "ours": make.ours,
            "place": make.place,
            "syncs": make.syncs,
            "cells": {},
            "why": {},
            "rounds": {},
            "floors": {},
            "seconds": {},
            "torn": {"file": "", "error": ""},
            "errors": [f"it could not be measured: its process ended with {done.returncode}"],
        }
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    # What is open is closed when a run is ended, and what it made is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="bench.compare", description=__doc__)
    parser.add_argument("--peers", required=True, help="a Python that has the peers")
    parser.add_argument("--venvs", default=".venv-adapters", help="where the adapters' venvs are")
    parser.add_argument("--quick", action="store_true", help="small sizes, in minutes")
    parser.add_argument("--only", default=",".join(PEERS), help="their keys, with commas between")
    asked = parser.parse_args()
    pythons = {"": sys.executable, "peers": os.path.abspath(asked.peers)}
    for make in PEERS.values():
        if make.venv not in pythons:
            pythons[make.venv] = os.path.abspath(f"{asked.venvs}/{make.venv}/bin/python")
    keys = asked.only.split(",")
    unknown = [key for key in keys if key not in PEERS]
    if unknown:
        parser.error(f"no contestant {unknown[0]!r}: there are {', '.join(PEERS)}")
    path = os.path.join(RESULTS, time.strftime("peers-%Y%m%d-%H%M%S.json"))
    with tempfile.TemporaryDirectory(prefix="cortext-bench-") as folder:
        found = run(folder, path, asked.quick, keys, pythons)
    print("\n\n".join(told_on_terminal(found)))
    print(f"\nwritten to {os.path.relpath(path)}")
    if not asked.quick and keys == list(PEERS):
        peer_page.write(found)
        page = os.path.relpath(peer_page.PAGE)
        print(f"and to {page}, with its figures and its chart")
    return 1 if any(each["errors"] for each in found["contestants"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
