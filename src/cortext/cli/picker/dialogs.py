"""The dialogs of the picker: for a line of text, for a choice, and for the help."""

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


class _Box(ModalScreen[str | None]):
    """A dialog in the middle of the screen, which the Esc key closes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, priority=True),
        # The screen below uses these keys, so the dialog must catch them.
        *(Binding(key, "nothing", show=False, priority=True) for key in ("tab", "shift+tab")),
    ]

    def action_cancel(self) -> None:
        self.dismiss(None)

    def action_nothing(self) -> None:
        """Ignore a key, so that the screen below the dialog does not get it."""


class LineDialog(_Box):
    """A dialog in which the user types a line of text. Its result is None if the user cancels."""

    def __init__(self, question: str, value: str, note: str = "") -> None:
        super().__init__()
        self._question, self._value, self._note = question, value, note

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Text(clean(self._question, lines=False), style="bold"))
            yield Input(self._value, compact=True, select_on_focus=False)
            if self._note:
                yield Static(Text(self._note, style="dim"))
            yield Static(Text("Enter to do it, Esc to leave it as it is", style="dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class ChoiceDialog(_Box):
    """A dialog in which the user chooses a name by its letter or number.

    Its result is the name, or None if the user cancels.
    """

    def __init__(self, question: str, among: Sequence[str], note: str = "") -> None:
        super().__init__()
        self._question, self._among, self._note = question, among, note
        self._letters = _letters(among)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(Text(clean(self._question, lines=False), style="bold"))
            yield Static(self._options())
            note = self._note or "press its letter, or Esc to leave it"
            yield Static(Text(note, style="dim"))

    def _options(self) -> Text:
        lines = [
            Text.assemble("  ", (letter, "bold cyan"), f"  {name}")
            for letter, name in zip(self._letters, self._among, strict=True)
        ]
        return Text("\n").join(lines)

    def on_key(self, event: object) -> None:
        pressed = getattr(event, "character", None) or ""
        if pressed in self._letters and pressed:
            self.dismiss(self._among[self._letters.index(pressed)])


def _letters(names: Sequence[str]) -> list[str]:
    """Return a different key for each name: a letter of the name, or the number in the list."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        free = (letter for letter in name.lower() if letter.isalnum() and letter not in found)
        found.append(next(free, str(number)))
    return found


class Help(_Box):
    """The dialog that lists the keys of the picker."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,enter,f1", "cancel", show=False, priority=True)
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="box help"):
            yield Static(Text("cortext: pick a conversation", style="bold"))
            yield Static(Text("What you type filters: titles first, then what was said.\n"))
            yield Static(self._keys())

    def _keys(self) -> Text:
        lines = [
            Text.assemble((key.shown.ljust(11), "bold cyan"), key.said) for key in KEYS if key.said
        ]
        return Text("\n").join(lines)
