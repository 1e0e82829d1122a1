"""The names of the MCP tools."""

TOOLS = [
    "search_workspace",
    "get_context",
    "list_conversations",
    "get_conversation",
    "get_decisions",
    "save_conversation",
    "resume_conversation",
]
