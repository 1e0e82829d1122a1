"""The MCP server: what agents ask of past conversations.

`server.py` is the only module that knows the protocol. A tool is a function of `Reach` and its
arguments, and returns an `Answer`: facts, and the same as text.
"""
