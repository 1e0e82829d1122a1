"""The `Tool` value of OpenCode: its names, its folders, and what cortext can do with it."""

from __future__ import annotations

from cortext.tools.descriptor import Tool

TOOL = Tool(
    name="opencode",
    display_name="OpenCode",
    package="opencode-ai",
    executable="opencode",
    tested_version="1.18.33",
    folder="$XDG_DATA_HOME/opencode",
    transcripts=("sessions", "storage/session/*", "project/*/storage/session/info"),
    data_folders=("sessions", "storage", "project"),
    database_prefix="opencode",
    database_variable="OPENCODE_DB",
    presence_variable="OPENCODE",
    process_variable="OPENCODE_PID",
    hook_events=("session.created", "session.idle"),
    hook_sends_prompt=False,
    has_shared_process=True,
    marks_mcp_tools=False,
    reader="cortext.tools.opencode.reader:OpenCodeBridge",
    usage="cortext.tools.opencode.usage:read_usage",
    writer="cortext.tools.opencode.writer:OpenCodeWriter",
    launcher="cortext.tools.opencode.launch:OpenCodeLauncher",
    headless="cortext.tools.opencode.headless:OpenCodeHeadless",
    slash_commands="cortext.tools.opencode.command_files:OpenCodeCommands",
    mcp_settings="cortext.tools.opencode.settings:server_file",
    mcp_servers="cortext.tools.opencode.configured_servers:server_tables",
    archive="cortext.tools.opencode.archived_files:OpenCodeArchive",
    latest_sessions="cortext.tools.opencode.open_session_guess:latest_sessions",
    plugin="cortext.tools.opencode.plugin:OpenCodePlugin",
    find_text="cortext.tools.opencode.open_session_guess:has_text",
)
