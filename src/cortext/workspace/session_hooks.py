"""Hooks: functions that a `SessionManager` calls when something happens to a session.

`EVENTS` has the names of the events, such as `session:save`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from cortext.workspace.running_loop import running_loop

if TYPE_CHECKING:
    import logging
    from asyncio import AbstractEventLoop, Future

EVENTS = ("session:start", "session:end", "session:message", "session:save")
Hook = Callable[..., Any]

_running: set[Future[Any]] = set()
"""The coroutine hooks that run now.

An event loop has only weak references to its tasks, so this set keeps the tasks alive.
"""


class Hooks:
    """The hooks of each event. An error in a hook is logged and does not affect the caller."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[tuple[Hook, AbstractEventLoop | None]]] = {
            event: [] for event in EVENTS
        }
        self._log = log()

    def register(self, event: str, hook: Hook) -> None:
        """Register `hook`, a function that is called each time the event happens.

        Raises ValueError for an unknown event, or if `hook` is not callable. Raises RuntimeError if
        `hook` is a coroutine function and no event loop is running.
        """
        hooks = self._hooks_for(event)
        if not callable(hook):
            raise ValueError(f"a hook must be callable, and {type(hook).__name__} is not")
        loop = running_loop()
        if loop is None and _is_coroutine_function(hook):
            raise RuntimeError(
                f"the hook {_name_of(hook)} is a coroutine function, but no event loop is running; "
                "register it inside the loop, or register a plain function"
            )
        hooks.append((hook, loop))

    def unregister(self, event: str, hook: Hook) -> bool:
        """Remove a hook from an event. Return False if the hook was not registered.

        Raises ValueError for an unknown event.
        """
        hooks = self._hooks_for(event)
        for position, (registered, _) in enumerate(hooks):
            if registered == hook:
                del hooks[position]
                return True
        return False

    def fire(self, event: str, *args: Any) -> None:
        """Call the hooks of an event with `args`. Coroutine hooks run later, on the event loop."""
        for hook, loop in tuple(self._hooks_for(event)):
            try:
                result = hook(*args)
                if isinstance(result, Awaitable):
                    self._schedule(event, hook, result, loop)  # pyright: ignore[reportUnknownArgumentType]
            except Exception:  # noqa: BLE001  a hook is foreign code and may raise anything
                self._log.exception("a hook for %s failed", event)

    def _schedule(
        self, event: str, hook: Hook, work: Awaitable[Any], registered: AbstractEventLoop | None
    ) -> None:
        """Run `work`, the coroutine of a hook, on the event loop of this thread.

        If this thread has no loop, use `registered`, the loop in which the hook was registered. For
        example, auto-save calls hooks in a thread that has no loop.
        """
        loop = running_loop()
        if loop is not None:
            self._start(event, work, loop)
        elif registered is not None and registered.is_running():
            registered.call_soon_threadsafe(self._start, event, work, registered)
        else:
            # Python warns about a coroutine that is neither awaited nor closed.
            getattr(work, "close", lambda: None)()
            self._log.error(
                "the coroutine hook %s for %s did not run: no event loop is running",
                _name_of(hook),
                event,
            )

    def _start(self, event: str, work: Awaitable[Any], loop: AbstractEventLoop) -> None:
        asyncio: Any = sys.modules["asyncio"]
        task: Future[Any] = asyncio.ensure_future(work, loop=loop)
        _running.add(task)

        def finish(task: Future[Any]) -> None:
            _running.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._log.error("a hook for %s failed", event, exc_info=error)

        task.add_done_callback(finish)

    def _hooks_for(self, event: str) -> list[tuple[Hook, AbstractEventLoop | None]]:
        if event not in self._hooks:
            raise ValueError(f"unknown event {event!r}; events are {', '.join(EVENTS)}")
        return self._hooks[event]


def _is_coroutine_function(hook: Hook) -> bool:
    return iscoroutinefunction(hook) or iscoroutinefunction(type(hook).__call__)


def _name_of(hook: Hook) -> str:
    return getattr(hook, "__qualname__", None) or repr(hook)


def log() -> logging.Logger:
    """Return the logger "cortext.lifecycle".

    Importing `logging` is slow, so this function imports the module on demand. Code that logs while
    the interpreter exits must call this function earlier, because nothing can be imported then.
    """
    import logging

    return logging.getLogger("cortext.lifecycle")
