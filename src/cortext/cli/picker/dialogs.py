"""The dialogs of the picker: one for a line of text, one for a choice, and one for the help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from cortext.cli.picker.key_bindings import KEYS
from cortext.model.safe_text import clean


class _Dialog(ModalScreen[str | None]):
    """A dialog in the middle of the screen. The Esc key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, priority=True),
        # The dialog catches these keys, because the picker below it uses them.
        *(Binding(key, "ignore_key", show=False, priority=True) for key in ("tab", "shift+tab")),
    ]

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_ignore_key(self) -> None:
        """Ignore a key, so that the screen below the dialog does not get it."""


class LineDialog(_Dialog):
    """A dialog in which the user types a line of text. `value` is the initial text.

    The result of the dialog is the typed text, or None if the user cancels.
    """

    def __init__(self, question: str, value: str, note: str = "") -> None:
        super().__init__()
        self._question, self._value, self._note = question, value, note

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Text(clean(self._question, lines=False), style="bold"))
            yield Input(self._value, compact=True, select_on_focus=False)
            if self._note:
                yield Static(Text(self._note, style="dim"))
            yield Static(Text("Enter confirms, Esc cancels.", style="dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class ChoiceDialog(_Dialog):
    """A dialog in which the user presses a key to choose a name from the list `among`.

    The result of the dialog is the chosen name, or None if the user cancels.
    """

    def __init__(self, question: str, among: Sequence[str], note: str = "") -> None:
        super().__init__()
        self._question, self._choices, self._note = question, among, note
        self._choice_keys = _choose_keys(among)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Text(clean(self._question, lines=False), style="bold"))
            yield Static(self._options())
            note = self._note or "Press a letter or number above, or Esc to cancel."
            yield Static(Text(note, style="dim"))

    def _options(self) -> Text:
        lines = [
            Text.assemble("  ", (letter, "bold cyan"), f"  {name}")
            for letter, name in zip(self._choice_keys, self._choices, strict=True)
        ]
        return Text("\n").join(lines)

    def on_key(self, event: object) -> None:
        pressed = getattr(event, "character", None) or ""
        if pressed in self._choice_keys and pressed:
            self.dismiss(self._choices[self._choice_keys.index(pressed)])


def _choose_keys(names: Sequence[str]) -> list[str]:
    """Return a different key for each name: a letter of the name, or its number in the list."""
    keys: list[str] = []
    for number, name in enumerate(names, 1):
        free = (letter for letter in name.lower() if letter.isalnum() and letter not in keys)
        keys.append(next(free, str(number)))
    return keys


class Help(_Dialog):
    """The dialog that lists the keys of the picker."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,enter,f1", "cancel", show=False, priority=True)
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="box help"):
            yield Static(Text("cortext: pick a conversation", style="bold"))
            yield Static(Text("Type to filter by title and by the text of messages.\n"))
            yield Static(self._keys())

    def _keys(self) -> Text:
        lines = [
            Text.assemble((key.shown.ljust(11), "bold cyan"), key.said) for key in KEYS if key.said
        ]
        return Text("\n").join(lines)
