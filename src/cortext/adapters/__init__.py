"""Conversation stores for agent frameworks.

Each subpackage has the name of its framework. The optional dependency (extra) has that name too.
"""
