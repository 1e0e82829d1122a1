"""The MCP server, through which agents search, read and resume past conversations.

`mcp_server.py` speaks the protocol, and `tool_table.py` lists the tools that an agent can call. A
tool is a function with two arguments: a `Reach`, which says what the agent may see, and a struct
from `tool_arguments.py`. A tool returns a `ToolAnswer`: facts for programs, and the same facts as
text.
"""
