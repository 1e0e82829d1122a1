"""The description of one AI tool: its name, its folders, and what cortext can do with it.

A `Tool` is plain data: a list imports the descriptions of all tools, and none of their readers. A
capability is a dotted path, `package.module:name`, and is imported when it is first used. None
means that cortext cannot do that with the tool. Only `reader` is required.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from cortext import paths
from cortext.errors import CortextError

ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".jsonl.zst", ".jsonl.zst.gz")
_DATA_HOME = "$XDG_DATA_HOME/"
_LACKS = {
    "setup": "there is nothing that cortext can set up in {}",
    "writer": "cortext cannot write sessions of {}",
    "launcher": "cortext cannot start {}",
    "headless": "cortext cannot run {} without a terminal",
    "hooks": "{} has no hooks that cortext can set up",
    "slash_commands": "{} has no slash commands that cortext can set up",
    "mcp_settings": "cortext cannot set up its MCP server in {}",
}


class MissingCapabilityError(CortextError):
    """Something was asked of a tool that cortext cannot do with it."""

    def __init__(self, tool: Tool, capability: str, *, hint: str = "") -> None:
        self.tool: str = tool.name
        self.capability: str = capability
        text = _LACKS.get(capability, f"{{}} has no {capability}")
        super().__init__(text.format(tool.display_name), hint=hint)


class Plugin(Protocol):
    """A file that a tool loads, in the place of hooks."""

    note: str
    """What a person should know before the plug-in is installed."""

    @property
    def path(self) -> str: ...

    def text(self) -> bytes: ...


class Tool(Struct, frozen=True, kw_only=True):
    """An AI tool whose sessions cortext reads."""

    name: str
    """The name in commands, JSON and the archive: lower-case letters, digits, `-` and `_`."""
    display_name: str
    """The name that people read."""

    package: str = ""
    """The package that installs the program."""
    installer: str = "npm install -g"
    """The command that installs `package`."""
    executable: str = ""
    """The program; "" if cortext never starts it."""
    script_marker: str = ""
    """A part of the path of the script that an interpreter runs for the tool."""
    tested_version: str = ""
    """The release whose sessions the tests of the reader hold."""

    folder: str
    """The folder of the tool: `~/.claude`, or `$XDG_DATA_HOME/opencode`."""
    folder_variable: str = ""
    """An environment variable that names another folder."""
    home_variable: str = ""
    """An environment variable that replaces the `~` of `folder`."""
    transcripts: tuple[str, ...] = ()
    """Folders with transcripts, below `folder`; `*` is any folder, `**` also those below it."""
    endings: tuple[str, ...] = ENDINGS
    """The endings of transcripts."""
    excluded_prefix: str = ""
    """How the names of files begin that stand among transcripts and are none."""
    data_folders: tuple[str, ...] = ()
    """Folders with everything that belongs to transcripts, where these are not enough."""
    companions: tuple[str, ...] = ()
    """Files below `folder` that say more about transcripts. The archive copies them too."""
    database_prefix: str = ""
    """How the names of databases with sessions begin, below `folder`; "" if there are none."""
    database_variable: str = ""
    """An environment variable that names one more database."""

    session_variable: str = ""
    """An environment variable that tells a program in which session it was started."""
    presence_variable: str = ""
    """An environment variable that tells a program only that this tool started it."""
    process_variable: str = ""
    """An environment variable with the number of the tool's process."""
    resume_word: str = ""
    """The argument that a session's id follows, besides the usual options."""

    hook_events: tuple[str, ...] = ()
    """The events that call `cortext hook`."""
    hook_sends_prompt: bool = True
    """Whether a hook is told what the person said."""
    hook_shows_message: bool = False
    """Whether the tool shows the `systemMessage` that a hook answers."""
    has_shared_process: bool = False
    """Whether one process of the tool serves several sessions."""
    escapes_bangs: bool = False
    """Whether the tool puts a backslash before `!` in the arguments of a slash command."""
    marks_mcp_tools: bool = True
    """Whether the names of called tools tell which belong to an MCP server."""
    agents_folder: str = ""
    """A folder of a project whose agent files name models of this tool."""
    output_limit: int = 0
    """Bytes of a command's output that the tool passes on; 0 for the usual 28,000."""
    drops_pending_output: bool = False
    """Whether the tool drops the output that waits in a terminal when a command ends."""

    reader: str
    """A class with the protocol `Bridge`."""
    writer: str | None = None
    """A class with the protocol `Writer`."""
    launcher: str | None = None
    """A subclass of `launch.Launcher`."""
    headless: str | None = None
    """A subclass of `headless.Headless`."""
    archive: str | None = None
    """A subclass of `archive_items.ArchiveSource`, where that class itself does not do."""
    hooks: str | None = None
    """A function that returns the `settings.SettingsFile` with hooks."""
    plugin: str | None = None
    """A class with the protocol `Plugin`, in the place of hooks."""
    consent: str | None = None
    """A function that tells what only the person can allow, as a `settings.Consent`."""
    slash_commands: str | None = None
    """A subclass of `slash_commands.SlashCommands`."""
    mcp_settings: str | None = None
    """A function that returns the `settings.SettingsFile` with MCP servers."""
    mcp_servers: str | None = None
    """A function that yields the tables of MCP servers which hold in a folder."""
    is_subagent: str | None = None
    """A function that tells a sub-agent's transcript among the others."""
    empty_sessions: str | None = None
    """A function that finds sessions in which nothing was said yet."""
    latest_sessions: str | None = None
    """A function that finds the sessions of a database which were written to last."""
    find_text: str | None = None
    """A function that tells whether a session that is no file has a text."""

    @property
    def home(self) -> str:
        """The folder where the tool itself looks for its sessions."""
        given = os.environ.get(self.folder_variable) if self.folder_variable else ""
        if given:
            return given
        if self.folder.startswith(_DATA_HOME):
            return os.path.join(paths.data_home(), self.folder.removeprefix(_DATA_HOME))
        if self.folder.startswith("~/"):
            person = os.environ.get(self.home_variable) if self.home_variable else ""
            person = person or os.path.expanduser("~")
            return os.path.join(person, self.folder.removeprefix("~/"))
        return self.folder

    @property
    def is_connectable(self) -> bool:
        """Whether `cortext setup` can add something to the tool."""
        return bool(self.hooks or self.plugin or self.slash_commands or self.mcp_settings)

    @property
    def has_databases(self) -> bool:
        """Whether sessions are rows of a database and not files."""
        return bool(self.database_prefix)

    @property
    def named_database(self) -> str:
        """The path of the database that the environment names; "" if it names none."""
        given = os.environ.get(self.database_variable, "") if self.database_variable else ""
        return "" if given in ("", ":memory:") else os.path.join(self.home, given)

    @property
    def transcript_roots(self) -> tuple[str, ...]:
        """The folders of `transcripts` down to the first `*`."""
        parts = (pattern.partition("*")[0].rstrip("/") for pattern in self.transcripts)
        return tuple(dict.fromkeys(parts))

    @property
    def moving_variable(self) -> str:
        """The environment variable that says where sessions are; "" if there is none."""
        return self.folder_variable or self.home_variable or self.database_variable

    @property
    def install_command(self) -> str:
        """The command that installs the tool; "" if it is not known."""
        return f"{self.installer} {self.package}" if self.package else ""

    def load(self, capability: str, *, hint: str = "") -> Any:
        """Import a capability. MissingCapabilityError if the tool does not have it."""
        path: str | None = getattr(self, capability)
        if path is None:
            raise MissingCapabilityError(self, capability, hint=hint)
        module, _, name = path.partition(":")
        return getattr(import_module(module), name)
