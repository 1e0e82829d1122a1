"""One person's machine with all four tools and cortext on it: one HOME, one PATH, one stub."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.tools.real.four_tools import FOUR
from tests.tools.real.install import installed
from tests.tools.real.launch import Done, Tool, check
from tests.tools.real.request_messages import spoken
from tests.tools.real.stub import Stub

CORTEXT = Path(sys.executable).with_name("cortext")
_VARIABLE = re.compile(r"[A-Z_]+=")
# As docs/how-to tells a person who wants our command to run without a question.
POLICY = """[[rule]]
toolName = "run_shell_command"
commandPrefix = "cortext slash"
decision = "allow"
priority = 200
"""


class Line(NamedTuple):
    """A command line that `cortext resume --print` printed."""

    cwd: Path
    variables: dict[str, str]
    words: list[str]


class Machine:
    """A new folder below the system's temp folder; `project` is where conversations are had."""

    def __init__(self, root: Path, stub: Stub, *, tools: Sequence[str] = tuple(FOUR)) -> None:
        self.root, self.stub = root, stub
        self.tools: dict[str, Tool] = {name: FOUR[name](root, stub.url) for name in tools}
        programs = [str(installed(name).parent) for name in tools]
        for tool in self.tools.values():
            tool.configure(self.project)
            path = ":".join([*programs, str(CORTEXT.parent), Tool.environment(tool)["PATH"]])
            tool.extra |= {"PATH": path, "GIT_CONFIG_GLOBAL": "/dev/null"}

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for tool in self.tools.values():
            found |= tool.environment()
        check(self.root, found)
        return found

    def cortext(self, *words: str, cwd: Path | None = None, given: str = "") -> Done:
        done = subprocess.run(
            [str(CORTEXT), *words],
            cwd=cwd or self.project,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str, cwd: Path | None = None, given: str = "") -> str:
        done = self.cortext(*words, cwd=cwd, given=given)
        assert (done.code, "Traceback" in done.stderr) == (0, False), (words, done)
        return done.stdout

    def line(self, *words: str, cwd: Path | None = None) -> Line:
        """What `cortext resume … --print` says to type."""
        text = self.ok("resume", "--print", "--write", *words, cwd=cwd).strip()
        first, folder, also, *rest = shlex.split(text)
        assert (first, also) == ("cd", "&&"), text
        count = next(n for n, word in enumerate(rest) if not _VARIABLE.match(word))
        variables = dict(word.split("=", 1) for word in rest[:count])
        return Line(Path(folder), variables, rest[count:])

    def headless(self, line: Line, prompt: str) -> Done:
        """The same command line without a terminal: the tool's own words for that, and the prompt
        on stdin where the line has none of its own."""
        name, *words = line.words
        if name == "claude":
            words = ["-p", *words]
        elif name == "gemini":
            words = ["--prompt" if word == "--prompt-interactive" else word for word in words]
        else:
            words = ["run" if name == "opencode" else "exec", *words]
            words += ["-"] if name == "codex" else []
        given = "" if any(word.startswith("/workspace.") for word in words) else prompt
        tool = self.tools[name]
        before = dict(tool.extra)
        tool.extra |= line.variables
        try:
            return tool.start(words, given=given, cwd=line.cwd, timeout=120)
        finally:
            tool.extra = before

    def consent(self) -> None:
        """What a person allows once: our command in Gemini CLI."""
        folder = self.root / "home/.gemini/policies"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cortext.toml").write_text(POLICY, encoding="utf-8")


def conversation(machine: Machine) -> Path:
    """The session folder of the only conversation of the workspace."""
    (found,) = machine.project.glob("conversations/*/*/.session")
    return found


def kept(machine: Machine) -> list[tuple[str, str]]:
    """What is in it, as it stands in its file."""
    lines = (conversation(machine) / "messages.jsonl").read_bytes().split(b"\n")
    messages = [json.loads(line) for line in lines if line]
    return [(message["role"], message["content"]) for message in messages]


def missing(said: Sequence[tuple[str, str]], body: dict[str, Any]) -> list[str]:
    """What of a conversation a request does not tell the model, in this order and by this role."""
    left = list(said)
    for role, text in spoken(body):
        while left and left[0][0] == role and left[0][1] in text:
            text = text.partition(left[0][1])[2]
            left.pop(0)
    return [text for _, text in left]


def times_told(text: str, body: dict[str, Any]) -> int:
    """How often a text stands in the messages of a request, but for what we or the tool say about
    it: a title may be in our block, and among the latest commits that Claude Code tells."""
    told = [words for role, words in spoken(body) if role in ("user", "assistant")]
    about = ("[RESUMED CONVERSATION]", "<system-reminder>\n")
    return sum(words.count(text) for words in told if not any(mark in words for mark in about))
