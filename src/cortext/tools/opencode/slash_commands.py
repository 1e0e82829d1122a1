"""Our slash commands for OpenCode.

OpenCode inserts the text that a user types into the command file. Then it runs all code between
"!`" and "`", even in the inserted text. Therefore our files do not use that text. OpenCode appends
the text to a file without placeholders, so our files have a placeholder for an argument that nobody
types. `cortext slash` finds the text in OpenCode's prompt history instead (`prompt_args.py`).
"""

from __future__ import annotations

import os

from cortext.formats.slash_frame import AFTER
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.slash_commands import CALL, SlashCommand, SlashCommands, quoted

_NO_WORD = "$99999999"


class OpenCodeCommands(SlashCommands):
    """Our command files for OpenCode, in Markdown."""

    def user_folder(self) -> str:
        return os.path.join(config_folder(), "commands")

    def file_text(self, command: SlashCommand, old: str = "") -> str:
        return f"""---
description: {quoted(command.description)}
---

!`{CALL} {command.verb} --typed {command.name}`

{AFTER}

{_NO_WORD}
"""
