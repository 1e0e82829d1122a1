"""Our slash commands for Claude Code.

A user can type text after a slash command. Claude Code copies this text into our shell command
without quoting it. Therefore our command takes the text from a quoted here-document with a random
end marker. The field `allowed-tools` prevents other programs from running.
"""

from __future__ import annotations

import os
import re

from cortext.tools.slash_command_files import CALL, SlashCommand, SlashCommands, quoted

_END = re.compile(r"^CORTEXT_[0-9a-f]{32}$", re.MULTILINE)


class ClaudeCommands(SlashCommands):
    """Our command files for Claude Code, in Markdown.

    The user's text is in a here-document of the shell, which ends at a random end marker. When
    cortext writes a file again, the file keeps its old end marker.
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
