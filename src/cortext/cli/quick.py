"""What people and tools wait for most, without loading the parser of options."""

from __future__ import annotations

import os
import sys


def quick(arguments: list[str], program: str = "cortext") -> bool:
    """Whether the arguments are those of a hook, or of a list with no option but `--all`, or none
    at all: then it has been handled, or shown."""
    if arguments[:2] == ["spawn", "--list-sessions"]:
        from cortext.cli.spawned import quick as quick_list

        return quick_list(arguments[2:])
    if program != "cortext":
        return False
    if arguments[:1] == ["hook"] and len(arguments) > 2 and "--help" not in arguments[:3]:
        from cortext.cli.hooks import run

        spare_typing_extensions()
        run(arguments[1:])
        return True
    if os.environ.get("CORTEXT_STORE") or "_CORTEXT_COMPLETE" in os.environ:
        return False
    if not arguments:
        from cortext.cli.picker import can_pick, pick

        if can_pick():
            pick()
            return True
    everywhere = arguments[-1:] == ["--all"] and len(arguments) > 1
    words = arguments[:-1] if everywhere else arguments
    if words in (["resume", "--list"], [], ["list"]):
        spare_typing_extensions()
    if words == ["resume", "--list"]:
        from cortext.cli.lists import show_resumable

        show_resumable(everywhere=everywhere)
    elif words in ([], ["list"]):
        from cortext.cli.lists import show_conversations

        show_conversations(everywhere=everywhere)
    else:
        return False
    return True


def spare_typing_extensions() -> None:
    """In a command that needs msgspec and little else. It asks for this, where it is installed,
    before `typing`, which has the same since Python 3.11; it takes as long to load as all the rest
    of msgspec."""
    sys.modules.setdefault("typing_extensions", None)  # pyright: ignore[reportArgumentType]


def quick_search(arguments: list[str], program: str = "cortext") -> int | None:
    """The exit code of a search without any option; None if the arguments are others."""
    words = arguments[1:]
    plain = words and not any(word.startswith("-") for word in words)
    if program != "cortext" or arguments[:1] != ["search"] or not plain:
        return None
    if "_CORTEXT_COMPLETE" in os.environ:
        return None
    from cortext.app.hits import Question
    from cortext.cli.hits import search, typed

    return search(Question(typed(words)))
