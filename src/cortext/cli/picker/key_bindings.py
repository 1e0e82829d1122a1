"""All keys of the picker, with their actions and their help texts."""

from __future__ import annotations

import msgspec


class KeyBinding(msgspec.Struct, frozen=True):
    """A key of the picker and its action.

    `key` is the name of the key in Textual, and `shown` is its name for the user. `said` is the
    help text. `hint` is a single word for the bottom of the screen, or "". If `of_one` is True, the
    action needs a chosen conversation. If none is chosen yet, the action waits for the running
    search.
    """

    key: str
    action: str
    shown: str
    said: str
    hint: str = ""
    of_one: bool = False

    @property
    def call(self) -> str:
        """The action as the text that a Textual binding needs, such as `app.press('help')`."""
        return f"app.{'to_chosen' if self.of_one else 'press'}({self.action!r})"


KEYS = (
    KeyBinding("enter", "resume", "Enter", "resume in its own tool", "resume", True),
    KeyBinding("ctrl+t", "resume_in", "^T", "resume in another tool", "tool", True),
    KeyBinding("ctrl+f", "fork", "^F", "resume a copy (fork)", "fork", True),
    KeyBinding("ctrl+r", "rename", "^R", "change the title", "rename", True),
    KeyBinding("ctrl+g", "tag", "^G", "change the tags", "tag", True),
    KeyBinding("ctrl+e", "export", "^E", "export as md, html, json or jsonl", "export", True),
    KeyBinding("ctrl+s", "stop", "^S", "save and pause", "stop", True),
    KeyBinding("ctrl+d", "done", "^D", "save and mark as completed", "done", True),
    KeyBinding("ctrl+x", "delete", "^X", "move to the trash", "delete", True),
    KeyBinding("ctrl+z", "undo", "^Z", "restore the last deleted conversation", ""),
    KeyBinding("tab", "scope", "Tab", "switch between this project and all projects", ""),
    KeyBinding("ctrl+n", "next_match", "^N", "go to the next match; newest messages first", ""),
    KeyBinding("up,ctrl+k", "move(-1)", "↑ ↓", "select another conversation", ""),
    KeyBinding("down,ctrl+j", "move(1)", "", "", ""),
    KeyBinding(
        "pageup", "page(-1)", "PgUp PgDn", "move by one screen; ^Home and ^End: first, last", ""
    ),
    KeyBinding("pagedown", "page(1)", "", "", ""),
    KeyBinding("ctrl+home", "move(-1000000)", "", "", ""),
    KeyBinding("ctrl+end", "move(1000000)", "", "", ""),
    KeyBinding("shift+up", "turn(-1)", "⇧↑ ⇧↓", "scroll the preview", ""),
    KeyBinding("shift+down", "turn(1)", "", "", ""),
    KeyBinding("f1", "help", "? F1", "show this help (? only while nothing is typed)", "help"),
    KeyBinding("escape", "leave", "Esc", "clear the typed text, then quit (^C quits at once)", ""),
)
QUIT = "ctrl+c,ctrl+q"
"""The keys that quit the picker, also while a dialog is open."""


def hints(width: int, help: str = "?") -> list[tuple[str, str]]:
    """Return pairs of a key and its hint for the bottom of the screen.

    Hints that do not fit into `width` columns are left out. `help` is the name of the key that
    opens the help.
    """
    shown_hints: list[tuple[str, str]] = []
    used = 1
    for key in KEYS:
        shown = help if key.action == "help" else key.shown
        size = len(shown) + len(key.hint) + 3
        if key.hint and used + size <= width - (0 if key.action == "help" else 9):
            shown_hints.append((shown, key.hint))
            used += size
    return shown_hints
