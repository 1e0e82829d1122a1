"""What people and tools wait for most, without loading the parser of options."""

from __future__ import annotations

import os
import sys


def quick_list(arguments: list[str], program: str = "cortext") -> bool:
    """Whether the arguments are those of a list with no option but `--all`, or of the list of
    `spawn`, or none at all where nobody can pick: then it has been shown."""
    if arguments[:2] == ["spawn", "--list-sessions"]:
        from cortext.cli.views.spawn_list import quick as quick_spawned

        return quick_spawned(arguments[2:])
    everywhere = arguments[-1:] == ["--all"] and len(arguments) > 1
    words = arguments[:-1] if everywhere else arguments
    if program != "cortext" or words not in (["resume", "--list"], ["list"], []) or _is_special():
        return False
    if not words and _can_pick():
        return False
    spare_typing_extensions()
    from cortext.cli.views.list_view import show_conversations, show_resumable

    show = show_resumable if words[:1] == ["resume"] else show_conversations
    show(everywhere=everywhere)
    return True


def quick(arguments: list[str], program: str = "cortext") -> bool:
    """Whether the arguments are those of a hook, or none at all where somebody can pick: then it
    has been handled."""
    if program != "cortext":
        return False
    if arguments[:1] == ["hook"] and len(arguments) > 2 and "--help" not in arguments[:3]:
        from cortext.cli.hook_entry import run

        spare_typing_extensions()
        run(arguments[1:])
        return True
    if arguments or _is_special() or not _can_pick():
        return False
    from cortext.cli.picker import pick

    pick()
    return True


def _can_pick() -> bool:
    from cortext.cli.picker import can_pick

    return can_pick()


def _is_special() -> bool:
    """Whether the parser has to look: sessions are in a store, or a shell completes a command."""
    return bool(os.environ.get("CORTEXT_STORE")) or "_CORTEXT_COMPLETE" in os.environ


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
    from cortext.cli.views.search_view import search, typed
    from cortext.features.search.results import Question

    return search(Question(typed(words)))
