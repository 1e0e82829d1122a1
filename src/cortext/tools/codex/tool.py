"""The `Tool` value of Codex: its names, its folders, and what cortext can do with it."""

from __future__ import annotations

from cortext.tools.descriptor import Tool

TOOL = Tool(
    name="codex",
    display_name="Codex",
    package="@openai/codex",
    executable="codex",
    tested_version="0.166.0",
    folder="~/.codex",
    folder_variable="CODEX_HOME",
    transcripts=("sessions/**", "archived_sessions/**"),
    companions=("session_index.jsonl",),
    session_variable="CODEX_THREAD_ID",
    resume_word="resume",
    hook_events=("notify",),
    output_limit=9_000,
    reader="cortext.tools.codex.reader:CodexBridge",
    usage="cortext.tools.codex.usage:read_usage",
    writer="cortext.tools.codex.writer:CodexWriter",
    launcher="cortext.tools.codex.launch:CodexLauncher",
    headless="cortext.tools.codex.headless:CodexHeadless",
    hooks="cortext.tools.codex.settings:settings_file",
    mcp_settings="cortext.tools.codex.settings:settings_file",
    mcp_servers="cortext.tools.codex.configured_servers:server_tables",
    archive="cortext.tools.codex.archived_files:CodexArchive",
    is_subagent="cortext.tools.codex.reader:is_subagent",
)
