"""Our slash commands for OpenCode.

OpenCode pastes what a person types anywhere, and then runs whatever stands between a bang with a
backtick and a backtick, also what was pasted. So the text gets no place at all: a placeholder for
a word that nobody types keeps it out, and `cortext slash` asks OpenCode's own record what was typed
(`prompt_args.py`).
"""

from __future__ import annotations

import os

from cortext.formats.slash_frame import AFTER
from cortext.tools.opencode.plugin import config_folder
from cortext.tools.slash_commands import CALL, SlashCommand, SlashCommands, quoted

_NO_WORD = "$99999999"


class OpenCodeCommands(SlashCommands):
    """Markdown files."""

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
