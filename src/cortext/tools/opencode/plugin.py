"""Our plug-in for OpenCode: what hooks are elsewhere. It is there only by a person's choice, since
OpenCode asks the npm registry for something before it loads any plug-in."""

from __future__ import annotations

import os

from cortext import paths

NOTE = (
    "with any plug-in OpenCode asks the npm registry at each start, and waits for it: "
    "minutes, where the registry cannot be reached and does not refuse"
)
"""What a person should know before the plug-in is installed."""


class OpenCodePlugin:
    """The file of the plug-in, and what a person should know before it is installed."""

    note: str = NOTE

    @property
    def path(self) -> str:
        return plugin_path()

    def text(self) -> bytes:
        return plugin_text()


def plugin_path() -> str:
    """Where OpenCode looks for the plug-ins that a person has everywhere."""
    return os.path.join(config_folder(), "plugins", "cortext.js")


def config_folder() -> str:
    """The folder of what a person wrote for OpenCode."""
    given = os.environ.get("OPENCODE_CONFIG_DIR")
    return given or os.path.join(paths.config_home(), "opencode")


def plugin_text() -> bytes:
    from importlib.resources import files

    return (files("cortext.builtin") / "plugins" / "opencode.js").read_bytes()
