"""Run a scenario with one installation, and tell what it did in a form that can be compared."""

import gzip
import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests import homes
from tests.differential.scenarios import Step

TODAY = datetime.now(UTC)
DAYS = "|".join(f"{TODAY + timedelta(days=shift):%Y-%m-%d}" for shift in (-1, 0, 1))
UNSTABLE = [
    (re.compile(rf"(?:{DAYS})[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?"), "<time>"),
    (re.compile(DAYS), "<day>"),
    (re.compile(r"session-\d{8}-\d{6}-[0-9a-f]{4}"), "<session>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{16,20}-\d+-\d+\b"), "<fingerprint>"),
    (re.compile(r"\bses_\w+|\bmsg_\w+|\bprt_\w+"), "<opencode>"),
    (
        re.compile(r"(?<![0-9a-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{8,64}(?![0-9a-z])"),
        "<hex>",
    ),
    (re.compile(r"\b\d+\.\d+\.\d+(?:\.dev\d+)?\b"), "<version>"),
    # Sentences around the history that an agent gets.
    (re.compile(r"(?:messages of the past|earlier messages)(?=: text)"), "<earlier messages>"),
    (
        re.compile(r"# (?:Search tools of agents|Keeps the search tools of agents)[^\n]*"),
        "<comment>",
    ),
    (re.compile(r"\[(?:tool call of the past|earlier tool call)\]"), "<tool call>"),
    (re.compile(r"The conversation goes on\. The user says now:"), "<continue>"),
    (re.compile(r"The conversation continues\. The user now says:"), "<continue>"),
]
"""What differs from run to run. Ids of the recorded sessions become `<uuid>` as well, but they
keep their place, so a session that is missing or twice in a list still shows."""
DERIVED = re.compile(
    r"\.(?:db|sqlite3|lock)(?:-wal|-shm|-lock)?$|/\.lock|\.pid$|/cache/|/\.git/|errors\.log"
    r"|/cortext/running/|/live/|/redaction\.key$"
)
"""Indexes, locks, caches and keys, which another version may keep in another way."""
PASSING = {
    "tokens",
    "seconds",
    "pid",
    "size",
    "bytes",
    "version",
    "python",
    "sqlite",
    "path_of_program",
}
"""Keys of JSON whose values are measured or estimated, not derived."""


PROSE = {"doc", "text", "hint", "mend", "mended"}
"""Keys of JSON that a command prints whose values are sentences."""
PROSE_FILES = re.compile(r"/commands?/(?:workspace|cortext)\b|/\.workspace/(?:commands|templates)/")
"""Files with instructions for agents: only their names are compared."""


class Outcome(NamedTuple):
    """What a scenario did: the exit code and JSON of each step, and the files at the end."""

    steps: list[tuple[str, int, Any]]
    files: dict[str, list[Any]]


class Person(NamedTuple):
    """A home in which all four AI tools were used, and a project in git."""

    folder: Path
    home: homes.Homes

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def run(self, steps: list[Step], bin: Path) -> list[tuple[str, int, Any]]:
        env = _environment(self.home, self.folder, bin)
        return [_run_step(step, self.work, env, bin) for step in steps]


def make_person(folder: Path) -> Person:
    """Make a home in the folder, which must not exist."""
    person = Person(folder, homes.lay_out(folder))
    person.work.mkdir()
    homes.move_project(person.home, person.work)
    for tool in homes.VERSIONS:
        program = folder / "bin" / tool
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        program.chmod(0o755)
    subprocess.run(["git", "init", "-q", person.work], check=True, timeout=60)
    return person


def run_scenario(steps: list[Step], folder: Path, bin: Path) -> Outcome:
    """Run the steps in a new home in the folder."""
    person = make_person(folder)
    done = person.run(steps, bin)
    return Outcome(done, _files(folder) | {"git": _git(person.work)})


def _environment(home: homes.Homes, folder: Path, bin: Path) -> dict[str, str]:
    who = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.invalid"))
    }
    return {
        **home.environment,
        **who,
        "PATH": f"{bin}:{folder / 'bin'}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "AURORA_HOME": str(folder / "aurora"),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        # No process stays behind to keep the archive, and nothing rests meanwhile.
        "CI": "true",
        "CORTEXT_SESSIONS_PAUSE_MINUTES": "600",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _run_step(step: Step, work: Path, env: dict[str, str], bin: Path) -> tuple[str, int, Any]:
    done = subprocess.run(
        [bin / step.program, *step.words],
        cwd=work,
        env=env,
        input=step.stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    name = " ".join((step.program, *step.words))
    found = _stable_json(done.stdout, bin) if step.is_json else None
    return name, done.returncode, found


NEW_KEYS = {"branch", "recall", "status_line", "usage"}
"""Keys of JSON output that version 0.2.0 added."""
CHANGED_KEYS = {"cost", "cost_usd", "usd", "recorded_usd", "from_prices_usd"}
"""Keys of JSON output whose values version 0.2.0 computes from the usage of AI tools."""
NEW_SETTINGS = {"usage.budget"}
"""Settings that version 0.2.0 added."""


def _stable_json(text: str, bin: Path) -> Any:
    try:
        return _stable(json.loads(text), bin, PASSING | PROSE)
    except ValueError:
        return "no JSON"


def _stable(value: Any, bin: Path, passing: set[str] = PASSING) -> Any:
    if isinstance(value, dict):
        pairs = [
            [_stable(key, bin), "<passing>" if key in passing else _stable(each, bin, passing)]
            for key, each in value.items()
            if key not in NEW_KEYS | CHANGED_KEYS
            # Version 0.2.0 counts the messages of tool sessions.
            and not (key == "messages" and isinstance(each, int | None))
        ]
        # Several ids may become the same name.
        unique = len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs) if unique else sorted(pairs, key=json.dumps)
    if isinstance(value, list):
        return [_stable(each, bin, passing) for each in value if not _is_new_setting(each)]
    if isinstance(value, str):
        return _stable_text(value.replace(str(bin), "<bin>"))
    return value


def _is_new_setting(value: Any) -> bool:
    return isinstance(value, dict) and value.get("name") in NEW_SETTINGS


def _stable_text(text: str) -> str:
    for pattern, name in UNSTABLE:
        text = pattern.sub(name, text)
    return text


def _files(folder: Path) -> dict[str, list[Any]]:
    """Collect the contents of all files by their names; several may have the same stable name."""
    found: dict[str, list[Any]] = {}
    for path in folder.rglob("*"):
        name = "/" + str(path.relative_to(folder))
        if not path.is_file() or path.is_symlink() or DERIVED.search(name):
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        if path.suffix == ".toml" or path.name == ".ignore":
            data = re.sub(rb"^#.*\n", b"", data, flags=re.MULTILINE)  # comments are prose
        content = "<text>" if PROSE_FILES.search(name) else _content(data, folder)
        found.setdefault(_stable_text(name), []).append(content)
    for contents in found.values():
        contents.sort(key=json.dumps)
    return found


def _content(data: bytes, folder: Path) -> Any:
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    try:
        return _stable(json.loads(text), folder)
    except ValueError:
        pass
    try:
        return [_stable(json.loads(line), folder) for line in lines if line]
    except ValueError:
        return _stable_text(text)


def _git(work: Path) -> list[Any]:
    """The names of the committed files, and how many commits there are."""
    questions = (["ls-tree", "-r", "--name-only", "HEAD"], ["rev-list", "--count", "HEAD"])
    return [
        _stable_text(
            subprocess.run(
                ["git", *words], cwd=work, capture_output=True, text=True, timeout=60, check=False
            ).stdout
        )
        for words in questions
    ]
