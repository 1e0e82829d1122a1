"""Keep the documentation true: rerun its examples, check its links, keep the README short.

An example is a comment with a command, and what the command printed:

    <!-- run: cortext --version -->
    ...
    <!-- end -->

`run(json): ...` names the language of the block. Commands run in ~/demo of an empty HOME, whose
path is written as ~ in the output, and find the programs of docs/examples in $EXAMPLES.

A page with blocks of `console` is one session of a shell: after each `$ command`, whose further
lines begin with `> `, stands what a terminal shows; now is written as 2026-01-12, 09:30. Without
--check the blocks are rewritten in place.

A comment `<!-- api: MODULE -->` stands before what `api.py` says of a module's public names.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # started by its path, it finds only what is beside it
from scripts import api  # noqa: E402

README_LINES = 130
EXAMPLE = re.compile(
    r"(?P<open>^<!-- run(?:\((?P<language>\w+)\))?:\s*(?P<command>.+?)\s*-->\n)"
    r"(?P<body>.*?)(?P<close>^<!-- end -->$)",
    re.DOTALL | re.MULTILINE,
)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NONCE = "d4c1a58e7b0f4d2c9a6e3b5f8c7d1e20"
MARK = "-- the next command --"
TODAY = f"{datetime.now(UTC):%Y-%m-%d}"
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.IGNORECASE)


class ExampleError(Exception):
    """A command of an example failed."""


def run(command: str) -> str:
    # What a command left to work in the background may still write there.
    with tempfile.TemporaryDirectory(prefix="cortext-docs-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        (home / "demo").mkdir()
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=home / "demo",
            env={
                "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
                "HOME": str(home),
                "EXAMPLES": str(ROOT / "docs/examples"),
                "TZ": "UTC",
                "LC_ALL": "C.UTF-8",
                "COLUMNS": "80",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise ExampleError(f"`{command}` exited with {done.returncode}\n{done.stderr}".rstrip())
    return done.stdout.replace(str(home), "~")


def replay(text: str) -> str:
    """A page with its `console` blocks run again, all in one shell."""
    blocks = CONSOLE.findall(text)
    commands = [command for block in blocks for command in commands_in(block)]
    if not commands:
        return text
    script = "exec 2>&1\n" + "".join(
        f"{command}\nprintf '%s\\n' '{MARK}'\n" for command in commands
    )
    outputs = iter(settled(run(script)).split(f"{MARK}\n"))

    def shown(found: re.Match[str]) -> str:
        lines = "".join(
            "$ " + command.replace("\n", "\n> ") + "\n" + next(outputs)
            for command in commands_in(found[1])
        )
        return f"```console\n{lines}```"

    return CONSOLE.sub(shown, text)


def settled(output: str) -> str:
    """What another run prints differently, made the same: the time, and the nonce of a fence."""
    at = re.sub(rf"{TODAY}T[\d:.]+Z", "2026-01-12T09:30:00Z", output)
    at = re.sub(rf"{TODAY} \d\d:\d\d", "2026-01-12 09:30", at)
    return re.sub(r"\b[0-9a-f]{32}\b", NONCE, at.replace(TODAY, "2026-01-12"))


def commands_in(block: str) -> list[str]:
    commands: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif line.startswith("> ") or line == ">":
            commands[-1] += "\n" + line[2:]
    return commands


def rerun(example: re.Match[str]) -> str:
    output = run(example["command"]).rstrip("\n")
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall(r"^`+", output, re.MULTILINE))])
    block = f"{fence}{example['language'] or 'text'}\n{output}\n{fence}\n"
    return example["open"] + block + example["close"]


def broken_links(page: Path, text: str) -> list[str]:
    targets = [inline or reference for inline, reference in LINK.findall(FENCED.sub("", text))]
    return [
        f"{page.relative_to(ROOT)}: link to {target} leads nowhere"
        for target in targets
        if not ELSEWHERE.match(target) and not (page.parent / target.partition("#")[0]).exists()
    ]


def main(check: bool) -> int:
    problems: list[str] = []
    for page in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]:
        name = str(page.relative_to(ROOT))
        old = page.read_text(encoding="utf-8")
        try:
            new = replay(EXAMPLE.sub(rerun, api.write_in(old)))
        except (ExampleError, subprocess.TimeoutExpired) as error:
            problems.append(f"{name}: {error}")
            continue
        problems += broken_links(page, new)
        problems += api.problems(new) if name == str(api.PAGE) else []
        if name == "README.md" and new.count("\n") > README_LINES:
            problems.append(f"{name}: {new.count(chr(10))} lines, at most {README_LINES}")
        if new != old and check:
            lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
            problems.append("".join(difflib.unified_diff(*lines, name, f"{name} (rerun)")))
        elif new != old:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {name}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
