"""Our slash commands for Gemini CLI, which quotes the user's text for the shell."""

from __future__ import annotations

from cortext.formats.slash_command_frame import AFTER
from cortext.tools.slash_command_files import CALL, SlashCommand, SlashCommands, quoted


class GeminiCommands(SlashCommands):
    """Our command files for Gemini CLI, in TOML."""

    extension = "toml"

    def file_text(self, command: SlashCommand, old: str = "") -> str:
        return f"""description = {quoted(command.description)}
prompt = '''
!{{{CALL} {command.verb} --as {command.name} -- {{{{args}}}}}}

{AFTER}
'''
"""
