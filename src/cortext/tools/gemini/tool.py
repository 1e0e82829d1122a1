"""The `Tool` value of Gemini CLI: its names, its folders, and what cortext can do with it."""

from __future__ import annotations

from cortext.tools.descriptor import Tool

TOOL = Tool(
    name="gemini",
    display_name="Gemini CLI",
    package="@google/gemini-cli",
    executable="gemini",
    tested_version="0.61.0",
    folder="~/.gemini",
    home_variable="GEMINI_CLI_HOME",
    transcripts=("tmp/*/chats",),
    companions=("projects.json",),
    presence_variable="GEMINI_CLI",
    hook_events=("SessionStart", "AfterAgent"),
    hook_shows_message=True,
    escapes_bangs=True,
    drops_pending_output=True,
    reader="cortext.tools.gemini.reader:GeminiBridge",
    usage="cortext.tools.gemini.usage:read_usage",
    writer="cortext.tools.gemini.writer:GeminiWriter",
    launcher="cortext.tools.gemini.launch:GeminiLauncher",
    headless="cortext.tools.gemini.headless:GeminiHeadless",
    slash_commands="cortext.tools.gemini.command_files:GeminiCommands",
    hooks="cortext.tools.gemini.settings:settings_file",
    mcp_settings="cortext.tools.gemini.settings:settings_file",
    mcp_servers="cortext.tools.gemini.configured_servers:server_tables",
    archive="cortext.tools.gemini.archived_files:GeminiArchive",
    consent="cortext.tools.gemini.settings:consent",
    empty_sessions="cortext.tools.gemini.empty_sessions:empty_sessions",
)
