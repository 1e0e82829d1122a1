"""Our slash commands for OpenCode.

A user can type text after a slash command. OpenCode copies this text into the content of the
command file. Then it runs all code between "!`" and "`", even in the copied text. Therefore our
files must not receive the text.

If a file has no placeholder, OpenCode appends the text to the file. So our files have a placeholder
for argument 99999999, which is always empty. `cortext slash` finds the text in OpenCode's prompt
history instead (`typed_slash_text.py`).
"""

from __future__ import annotations

import os

from cortext.formats.slash_command_frame import AFTER
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.slash_command_files import CALL, SlashCommand, SlashCommands, quoted

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
