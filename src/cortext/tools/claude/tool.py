"""The `Tool` value of Claude Code: its names, its folders, and what cortext can do with it."""

from __future__ import annotations

from cortext.tools.descriptor import Tool

TOOL = Tool(
    name="claude",
    display_name="Claude Code",
    package="@anthropic-ai/claude-code",
    executable="claude",
    script_marker="/claude-code/",
    tested_version="2.1.325",
    folder="~/.claude",
    folder_variable="CLAUDE_CONFIG_DIR",
    transcripts=("projects/*",),
    excluded_prefix="agent-",
    session_variable="CLAUDE_CODE_SESSION_ID",
    hook_events=("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact"),
    recall_event="SessionStart",
    has_status_line=True,
    escapes_bangs=True,
    agents_folder=".claude",
    reader="cortext.tools.claude.reader:ClaudeBridge",
    usage="cortext.tools.claude.usage:read_usage",
    writer="cortext.tools.claude.writer:ClaudeWriter",
    launcher="cortext.tools.claude.launch:ClaudeLauncher",
    headless="cortext.tools.claude.headless:ClaudeHeadless",
    slash_commands="cortext.tools.claude.command_files:ClaudeCommands",
    hooks="cortext.tools.claude.settings:hooks_file",
    recall="cortext.tools.claude.recall_condition:takes_recall",
    mcp_settings="cortext.tools.claude.settings:server_file",
    mcp_servers="cortext.tools.claude.configured_servers:server_tables",
    archive="cortext.tools.claude.archived_files:ClaudeArchive",
)
