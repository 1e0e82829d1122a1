"""Conversation stores for agent frameworks.

Each subpackage stores the conversations of one framework and is named after the framework. To
install a framework, install the extra (optional dependency) of cortext that has the framework's
name.
"""
