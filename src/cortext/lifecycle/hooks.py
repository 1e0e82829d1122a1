"""Callbacks on what happens to a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

EVENTS = ("session:start", "session:end", "session:message", "session:save")
Hook = Callable[..., Any]


class Hooks:
    """Hooks by event. One that raises is logged; the others and the caller go on."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[Hook]] = {event: [] for event in EVENTS}
        self._log = log()

    def register(self, event: str, hook: Hook) -> None:
        if not callable(hook):
            raise ValueError(f"a hook is called, and {type(hook).__name__} cannot be")
        self._of(event).append(hook)

    def unregister(self, event: str, hook: Hook) -> bool:
        hooks = self._of(event)
        if hook not in hooks:
            return False
        hooks.remove(hook)
        return True

    def fire(self, event: str, *args: Any) -> None:
        for hook in tuple(self._of(event)):
            try:
                hook(*args)
            except Exception:  # noqa: BLE001  it is a hook of anybody
                self._log.exception("a hook for %s failed", event)

    def _of(self, event: str) -> list[Hook]:
        if event not in self._hooks:
            raise ValueError(f"events are {', '.join(EVENTS)}, not {event!r}")
        return self._hooks[event]


def log() -> logging.Logger:
    """Where what goes wrong unseen is told. It takes long to load, so whoever may need it does that
    when it is made; at the end of the interpreter it would be too late."""
    import logging

    return logging.getLogger("cortext.lifecycle")
