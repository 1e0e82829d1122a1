"""Whether every public symbol of cortext has a known type, by `pyright --verifytypes`.

    python scripts/typed.py [ADAPTER...]

Adapters are judged where their framework is installed: named, they alone count; else all but
those whose framework is not here. Types that other packages do not know are not our fault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FRAMEWORKS = {
    "claude_agent_sdk": "claude_agent_sdk",
    "google_adk": "google.adk",
    "langgraph": "langgraph",
    "llm": "llm",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}
_FEWEST = 1000
"""Symbols that there are at least: a package that pyright does not find has none, and no error."""


def main(adapters: list[str]) -> int:
    report = verify()
    judged = [one for one in report.get("symbols", ()) if counts(one["name"], adapters)]
    wrong = [one for one in judged if one["isTypeAmbiguous"] or not one["isTypeKnown"]]
    # What is only made of such a symbol has nothing to say itself.
    for one in wrong:
        for why in one["diagnostics"]:
            if "No docstring" not in why["message"]:
                print(f"{_place(why)}{one['name']}: {' '.join(why['message'].split())}")
    if not adapters and len(judged) < _FEWEST:
        print(
            f"pyright found only {len(judged)} symbols of cortext, and {report.get('pyTypedPath')}"
        )
        return 1
    print(f"{len(judged)} public symbols, {len(wrong)} without a known type", file=sys.stderr)
    return 1 if wrong or not judged else 0


def verify() -> dict[str, Any]:
    """What pyright says of all of cortext as this Python imports it."""
    # It verifies what the `python` on the way imports, whatever its other options say.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["pyright", "--verifytypes", "cortext", "--ignoreexternal", "--outputjson"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    try:
        return json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        sys.exit(f"pyright said nothing that can be read: {done.stdout[-500:]}{done.stderr[-500:]}")


def counts(symbol: str, adapters: list[str]) -> bool:
    """Whether a symbol is to be judged here."""
    package, _, rest = symbol.partition("cortext.adapters.")
    module = "" if package else rest.split(".")[0]
    mine = [name for name in FRAMEWORKS if f"{module}_".startswith(f"{name}_")]
    if adapters:
        return any(name in adapters for name in mine)
    return all(is_there(FRAMEWORKS[name]) for name in mine)


def is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _place(why: dict[str, Any]) -> str:
    if not why.get("file"):
        return ""
    line = why.get("range", {}).get("start", {}).get("line", 0) + 1
    return f"{os.path.relpath(why['file'])}:{line}: "


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
