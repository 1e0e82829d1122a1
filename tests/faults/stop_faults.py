"""`cortext stop` killed or failing at any of its calls, and what must hold after that."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cortext import open_session_store
from cortext.model.secrets.detector import mask_text
from tests.command import SCRIPT, begin, cortext, folder_of, git, head_of, ok, say
from tests.faults.inject import CALLS, ERRORS, KILL, Fault

SCENES = ("plain", "mask", "clone", "first")
"""An earlier stop is in git; the same, with secrets that are masked; the same, in a clone, which
has none of our side files; never stopped before."""
# In parts: this file holds no secret.
SECRET = "sk-ant-" + "api03-" + "q7Wn2Zx9Lk4Tb8Vr3Mp6Yd1Hs5Jc0Gf" + "EuXoKqWvB"
# Where git is begun, and where it is waited for while it runs.
PROCESSES = ("vfork", "wait4", "poll")
WRITES = ("write", "pwrite64", "fsync", "fdatasync", "rename", "renameat2", "openat", "mkdir")
REAP = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
code = subprocess.Popen(sys.argv[1:]).wait()
try:
    while True:
        os.wait()
except ChildProcessError:
    sys.stderr.write(f"\\n{code}\\n")
"""
"""Runs a command and ends when all that it began has ended: a stop that was killed may leave a git
behind that is still at work. The last line on stderr is the exit code."""
_LINE = re.compile(rb"^(\w+)\((?:[^\"]*\"([^\"]*)\")?")
# What a person reads: nobody is left to tell when that fails.
_TALK = (b"write(1,", b"write(2,")


class Stopped(NamedTuple):
    """How a stop ended, and what it said."""

    code: int
    said: str


class Stopping:
    """One conversation that is ready to be stopped; every case gets a copy of it."""

    def __init__(self, home: Path, scene: str) -> None:
        self.scene = scene
        self._home, self._prepared = home / "case", home / "prepared"
        self.root = self._home / "work"
        self._trace = home / "trace"
        places = {"XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}
        self._env = {name: str(self._home / value) for name, value in places.items()}
        self._env["PYTHONHASHSEED"] = "0"
        if scene == "mask":
            self._env["CORTEXT_SESSIONS_SECRETS"] = "mask"
        self._home.mkdir()
        self.id = self._prepare()
        self.texts = self._texts()
        self.before = git(self.root, "rev-parse", "HEAD")
        self._home.rename(self._prepared)

    def run(self, *tracing: str) -> Stopped:
        """A stop in a fresh copy, under strace if that is told what to do."""
        self._fresh_copy()
        under = ["strace", "-o", str(self._trace), *tracing] if tracing else []
        return self._ended([*under, SCRIPT, "stop", self.id])

    def run_for(self, seconds: float) -> Stopped:
        """A stop in a fresh copy that is killed after a time."""
        self._fresh_copy()
        return self._ended(["timeout", "-s", "KILL", f"{seconds}", SCRIPT, "stop", self.id])

    def faults(self, *, every: bool) -> list[Fault]:
        """Kills at all calls, and errors at those that write; or the first and last of each."""
        found = self._calls()
        return [
            Fault(call, number, kind)
            for call, numbers in found.items()
            for number in (numbers if every else sorted({numbers[0], numbers[-1]}))
            for kind in (KILL, *(ERRORS[:2] if call in WRITES else ()))
        ]

    def run_with(self, fault: Fault) -> Stopped:
        """A stop in a fresh copy, with the fault."""
        what = f"inject={fault.call}:{fault.kind}:when={fault.number}"
        return self.run("-e", f"trace={fault.call}", "-e", what)

    def violations(self, stopped: Stopped) -> Iterator[str]:
        """What does not hold after it, and after the stop that comes next."""
        yield from _check_words(stopped)
        try:
            yield from self._check_state(stopped)
            yield from self._check_next_stop()
        except Exception as error:  # whatever it is, it is a finding about this case
            yield f"{type(error).__name__}: {error}"

    def _prepare(self) -> str:
        origin = self._home / ("origin" if self.scene == "clone" else "work")
        origin.mkdir()
        ok(origin, "init", env=self._env)
        (origin / "theirs.txt").write_text("one\n")
        git(origin, "init", "-q", "-b", "main")
        git(origin, "add", "-A")
        git(origin, "commit", "-q", "-m", "theirs")
        id = begin(origin, "brainstorm", "Topic", "Which one?", "This one.")
        if self.scene != "first":
            ok(origin, "stop", id, env=self._env)
        if self.scene == "clone":
            git(self._home, "clone", "-q", "origin", "work")
        say(self.root, id, "And then?", f"Use {SECRET if self.scene == 'mask' else 'that'}.")
        folder = folder_of(self.root, id)
        with (folder / "brainstorm.md").open("a") as page:
            page.write(f"\n{SECRET if self.scene == 'mask' else 'A line.'}\n")
        (folder / "extra.txt").write_text("of the agent\n")
        (self.root / "theirs.txt").write_text("staged\n")
        git(self.root, "add", "theirs.txt")
        if self.scene == "clone":
            # What `say` made: a clone has none of it when the person stops.
            shutil.rmtree(self.root / "conversations/.cortext")
        return id

    def _fresh_copy(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        shutil.copytree(self._prepared, self._home, symlinks=True)

    def _ended(self, command: list[str]) -> Stopped:
        done = subprocess.run(
            [sys.executable, "-c", REAP, *command],
            cwd=self.root,
            env=os.environ | self._env,
            capture_output=True,
            text=True,
            timeout=100,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        *said, code = done.stderr.splitlines()
        return Stopped(int(code), "\n".join(said))

    def _calls(self) -> dict[str, list[int]]:
        """For each call, the numbers that it has from the first look at our files on."""
        wanted = ",".join(f"?{name}" for name in (*CALLS, *PROCESSES))
        stopped = self.run("-e", f"trace={wanted}")
        if stopped.code or list(self.violations(stopped)):
            raise RuntimeError(f"stop fails without any fault: {stopped.said}")
        count: Counter[str] = Counter()
        found: dict[str, list[int]] = {}
        ours = False
        for line in self._trace.read_bytes().splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            name, path = match[1].decode(), (match[2] or b"").decode(errors="replace")
            count[name] += 1
            inside = path.startswith(str(self._home))
            ours = ours or inside
            if ours and (inside or name != "openat") and not line.startswith(_TALK):
                found.setdefault(name, []).append(count[name])
        return found

    def _texts(self) -> list[str]:
        session = open_session_store(f"workspace:{self.root}").load(self.id)
        return [message.content for message in session.messages]

    def _check_state(self, stopped: Stopped) -> Iterator[str]:
        status = head_of(self.root, self.id)["status"]
        if status != "paused" and (status != "active" or stopped.code == 0):
            yield f"the status is {status} after exit {stopped.code}"
        masked = [mask_text(text)[0] for text in self.texts]
        if self._texts() not in (self.texts, masked):
            yield f"messages: {self._texts()}"
        locks = [path.name for path in (self.root / ".git").rglob("*.lock")]
        if locks:
            yield f"locks in .git: {locks}"
        staged = git(self.root, "diff", "--cached", "--name-only", "--", ":!conversations")
        if staged != "theirs.txt\n":
            yield f"the person has staged {staged!r}"
        yield from self._check_git()

    def _check_git(self) -> Iterator[str]:
        names = git(self.root, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
        stray = [n for n in names if n.endswith((".tmp", ".lock")) or ".cortext" in n]
        if stray:
            yield f"committed: {stray}"
        changed = git(self.root, "diff", "--name-only", self.before.strip(), "HEAD").split()
        if [name for name in changed if not name.startswith("conversations/")]:
            yield f"committed of the person's: {changed}"
        if self.scene == "mask" and SECRET in _objects(self.root):
            yield "the secret is in git"

    def _check_next_stop(self) -> Iterator[str]:
        done = cortext(self.root, "stop", self.id, env=self._env)
        if done.returncode or head_of(self.root, self.id)["status"] != "paused":
            yield f"the next stop fails: {done.stderr.strip()}"
        status = git(self.root, "status", "--porcelain", "-uall")
        if status != "M  theirs.txt\n":
            yield f"git status after the next stop: {status!r}"
        masked = [mask_text(text)[0] for text in self.texts]
        if self._texts() != masked:
            yield f"messages after the next stop: {self._texts()}"
        yield from self._check_git()


def _check_words(stopped: Stopped) -> Iterator[str]:
    if "Traceback" in stopped.said:
        yield f"a traceback: {stopped.said.splitlines()[-1]}"
    elif stopped.code not in (0, 1, -signal.SIGKILL):
        yield f"exit {stopped.code}: {stopped.said}"
    errors = [line for line in stopped.said.splitlines() if line.startswith("error: ")]
    if len(errors) != (stopped.code == 1) or any("[Errno" in line for line in errors):
        yield f"exit {stopped.code}, and said: {stopped.said}"


def _objects(root: Path) -> str:
    done: Any = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace")
