"""The slash commands of ours, in the form that each tool reads.

A command file calls `cortext slash …` and nothing else. What a person types after a command is
text that anybody may have written, and no shell may read it as anything else:
- Claude Code pastes it into our call as it is: it stands in a quoted here-document whose end
  nobody can guess, and `allowed-tools` lets no other program run, whatever stands there.
- OpenCode pastes it anywhere, and then runs whatever stands between a bang with a backtick and a
  backtick, also what was pasted. So it gets no place at all: a placeholder for a word that nobody
  types keeps it out, and `cortext slash` asks OpenCode's own record what was typed (`typed.py`).
- Gemini CLI quotes it for the shell.
Codex has no commands of this kind.
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from cortext.formats.slash_frame import AFTER
from cortext.model.safe_text import clean
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.scan import own_home

CALL = "cortext slash"
"""What a command file may run, and what a person is asked to allow: this and nothing else."""
WITH_COMMANDS = ("claude", "opencode", "gemini")
_END = re.compile(r"^CORTEXT_[0-9a-f]{32}$", re.MULTILINE)
_NO_WORD = "$99999999"


class Command(NamedTuple):
    """A slash command: `name` without the slash, `verb` what `cortext slash` is asked for."""

    name: str
    verb: str
    description: str
    hint: str


def user_folder(tool: str) -> str:
    """Where a tool looks for the commands that a person has everywhere."""
    if tool == "opencode":
        return os.path.join(config_folder(), "commands")
    return os.path.join(own_home(tool), "commands")


def workspace_folder(tool: str) -> str:
    """Where a tool looks for the commands of a project, below its folder."""
    return f".{tool}/commands"


def file_name(tool: str, command: Command) -> str:
    return f"{command.name}.{'toml' if tool == 'gemini' else 'md'}"


def file_text(tool: str, command: Command, old: str = "") -> str:
    """The command file. The end of its here-document is the one that it has already, if any."""
    return _FORMS[tool](command, old)


def _claude(command: Command, old: str) -> str:
    found = _END.search(old)
    end = found[0] if found else f"CORTEXT_{os.urandom(16).hex()}"
    return f"""---
description: {_quoted(command.description)}
argument-hint: {_quoted(command.hint)}
allowed-tools: Bash({CALL}:*)
disable-model-invocation: true
---

```!
{CALL} {command.verb} --stdin <<'{end}'
$ARGUMENTS
{end}
```
"""


def _opencode(command: Command, old: str) -> str:
    return f"""---
description: {_quoted(command.description)}
---

!`{CALL} {command.verb} --typed {command.name}`

{AFTER}

{_NO_WORD}
"""


def _gemini(command: Command, old: str) -> str:
    return f"""description = {_quoted(command.description)}
prompt = '''
!{{{CALL} {command.verb} --as {command.name} -- {{{{args}}}}}}

{AFTER}
'''
"""


def _quoted(text: str) -> str:
    """One line in quotes, as YAML and TOML read it too."""
    return json.dumps(clean(text, lines=False), ensure_ascii=False)


_FORMS = {"claude": _claude, "opencode": _opencode, "gemini": _gemini}
