"""Our slash commands for Claude Code.

Claude Code inserts the text that a user types into our shell command, without quoting. Therefore
the text is in a quoted here-document with a random end marker. `allowed-tools` lets no other
program run.
"""

from __future__ import annotations

import os
import re

from cortext.tools.slash_commands import CALL, SlashCommand, SlashCommands, quoted

_END = re.compile(r"^CORTEXT_[0-9a-f]{32}$", re.MULTILINE)


class ClaudeCommands(SlashCommands):
    """Our command files for Claude Code, in Markdown.

    A rewritten file keeps the end marker of its here-document.
    """

    def file_text(self, command: SlashCommand, old: str = "") -> str:
        found = _END.search(old)
        end = found[0] if found else f"CORTEXT_{os.urandom(16).hex()}"
        return f"""---
description: {quoted(command.description)}
argument-hint: {quoted(command.hint)}
allowed-tools: Bash({CALL}:*)
disable-model-invocation: true
---

```!
{CALL} {command.verb} --stdin <<'{end}'
$ARGUMENTS
{end}
```
"""
