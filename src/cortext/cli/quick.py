"""The lists that people and agents ask for most, without loading the parser of options."""

from __future__ import annotations

import os


def quick(arguments: list[str]) -> bool:
    """Whether the arguments are those of a list without options: then it has been shown."""
    if os.environ.get("CORTEXT_STORE") or "_CORTEXT_COMPLETE" in os.environ:
        return False
    if arguments == ["resume", "--list"]:
        from cortext.cli.lists import show_resumable

        show_resumable()
    elif arguments in ([], ["list"]):
        from cortext.cli.lists import show_conversations

        show_conversations()
    else:
        return False
    return True
