"""All keys of the picker, with their actions and their help texts."""

from __future__ import annotations

from typing import NamedTuple


class KeyBinding(NamedTuple):
    """A key of the picker.

    `key` is its name in Textual, and `shown` its name for the user. `said` is its line in the help,
    and `hint` a single word for the bottom of the screen. `of_one` marks an action on the chosen
    conversation. Such an action waits while a search is running and nothing is chosen.
    """

    key: str
    action: str
    shown: str
    said: str
    hint: str = ""
    of_one: bool = False

    @property
    def call(self) -> str:
        """The action in the form that a Textual binding needs."""
        return f"app.{'to_chosen' if self.of_one else 'press'}({self.action!r})"


KEYS = (
    KeyBinding(
        "enter", "resume", "Enter", "go on with it, in the tool it was had in", "resume", True
    ),
    KeyBinding("ctrl+t", "resume_in", "^T", "go on with it in another tool", "tool", True),
    KeyBinding("ctrl+f", "fork", "^F", "go on in a copy of it (fork)", "fork", True),
    KeyBinding("ctrl+r", "rename", "^R", "give it another title", "rename", True),
    KeyBinding("ctrl+g", "tag", "^G", "change its tags", "tag", True),
    KeyBinding(
        "ctrl+e", "export", "^E", "write it to a file: md, html, json or jsonl", "export", True
    ),
    KeyBinding("ctrl+s", "stop", "^S", "save it and pause it", "stop", True),
    KeyBinding("ctrl+d", "done", "^D", "save it and mark it as completed", "done", True),
    KeyBinding("ctrl+x", "delete", "^X", "move it to the trash", "delete", True),
    KeyBinding("ctrl+z", "undo", "^Z", "bring back what was deleted last", ""),
    KeyBinding("tab", "scope", "Tab", "this project, or all", ""),
    KeyBinding(
        "ctrl+n", "next_match", "^N", "the next place with the words, the last one first", ""
    ),
    KeyBinding("up,ctrl+k", "move(-1)", "↑ ↓", "choose another", ""),
    KeyBinding("down,ctrl+j", "move(1)", "", "", ""),
    KeyBinding(
        "pageup", "page(-1)", "PgUp PgDn", "a screen of them; ^Home and ^End all of them", ""
    ),
    KeyBinding("pagedown", "page(1)", "", "", ""),
    KeyBinding("ctrl+home", "move(-1000000)", "", "", ""),
    KeyBinding("ctrl+end", "move(1000000)", "", "", ""),
    KeyBinding("shift+up", "turn(-1)", "⇧↑ ⇧↓", "turn the page beside it", ""),
    KeyBinding("shift+down", "turn(1)", "", "", ""),
    KeyBinding("f1", "help", "? F1", "this help (? where nothing is typed)", "help"),
    KeyBinding("escape", "leave", "Esc", "clear what was typed; then leave (^C at once)", ""),
)
QUIT = "ctrl+c,ctrl+q"
"""The keys that quit the picker, also while a dialog is open."""


def hints(width: int, help: str = "?") -> list[tuple[str, str]]:
    """Return the keys and hints for the bottom of the screen, as many as fit into `width`.

    `help` is the key that currently opens the help.
    """
    found: list[tuple[str, str]] = []
    taken = 1
    for key in KEYS:
        shown = help if key.action == "help" else key.shown
        size = len(shown) + len(key.hint) + 3
        if key.hint and taken + size <= width - (0 if key.action == "help" else 9):
            found.append((shown, key.hint))
            taken += size
    return found
