"""Our plug-in for OpenCode. It calls `cortext hook`, because OpenCode has no hooks.

The plug-in is installed only if the user chooses it, because OpenCode contacts the npm registry
before it loads any plug-in.
"""

from __future__ import annotations

import os

from cortext import paths

NOTE = (
    "with any plug-in, OpenCode contacts the npm registry at each start and waits for the answer; "
    "this can take minutes if the registry does not respond"
)
"""The note that the user sees before the plug-in is installed."""


class OpenCodePlugin:
    """The file of our plug-in, and the note that the user sees before it is installed."""

    note: str = NOTE

    @property
    def path(self) -> str:
        return plugin_path()

    def text(self) -> bytes:
        return plugin_text()


def plugin_path() -> str:
    """Return the path of our plug-in, in the user's settings folder for OpenCode."""
    return os.path.join(config_folder(), "plugins", "cortext.js")


def config_folder() -> str:
    """Return the folder of the user's settings for OpenCode."""
    given = os.environ.get("OPENCODE_CONFIG_DIR")
    return given or os.path.join(paths.config_home(), "opencode")


def plugin_text() -> bytes:
    from importlib.resources import files

    return (files("cortext.builtin") / "plugins" / "opencode.js").read_bytes()
