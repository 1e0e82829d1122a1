"""Our slash commands for Claude Code.

Claude Code pastes what a person types into our call as it is. The text stands in a quoted
here-document whose end nobody can guess, and `allowed-tools` lets no other program run.
"""

from __future__ import annotations

import os
import re

from cortext.tools.slash_commands import CALL, SlashCommand, SlashCommands, quoted

_END = re.compile(r"^CORTEXT_[0-9a-f]{32}$", re.MULTILINE)


class ClaudeCommands(SlashCommands):
    """Markdown files. The end of a here-document is the one that the file has already, if any."""

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
