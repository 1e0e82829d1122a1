"""The description of an AI tool: its name, its folders, and what cortext can do with it.

A `Tool` is plain data, so the descriptions of all tools are imported quickly. A capability field,
such as `writer`, holds the path of an object, `package.module:name`. `Tool.load` imports the object
at its first use. None means that the tool lacks the capability. Only `reader` is required.
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
    "setup": "cortext has nothing to set up in {}",
    "writer": "cortext cannot write sessions of {}",
    "launcher": "cortext cannot start {}",
    "headless": "cortext cannot run {} without a terminal",
    "hooks": "{} has no hooks that cortext can set up",
    "slash_commands": "{} has no slash commands that cortext can set up",
    "mcp_settings": "cortext cannot set up its MCP server in {}",
}


class MissingCapabilityError(CortextError):
    """A tool lacks a capability: for example, cortext cannot start the tool."""

    def __init__(self, tool: Tool, capability: str, *, hint: str = "") -> None:
        self.tool: str = tool.name
        self.capability: str = capability
        text = _LACKS.get(capability, f"{{}} has no {capability}")
        super().__init__(text.format(tool.display_name), hint=hint)


class Plugin(Protocol):
    """A file of cortext that a tool without hooks loads as a plug-in. It calls `cortext hook`."""

    note: str
    """A note that the user sees before the plug-in is installed."""

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
    """The name of the program, or "" if cortext never starts the tool."""
    script_marker: str = ""
    """A part of the path of the tool's script, if an interpreter such as Node.js runs the tool."""
    tested_version: str = ""
    """The release of the tool that cortext was tested with."""

    folder: str
    """The folder of the tool, such as `~/.claude` or `$XDG_DATA_HOME/opencode`."""
    folder_variable: str = ""
    """The name of an environment variable that replaces `folder`, or ""."""
    home_variable: str = ""
    """The name of an environment variable that replaces the `~` of `folder`, or ""."""
    transcripts: tuple[str, ...] = ()
    """The folders with transcripts, as patterns relative to `folder`.

    `*` matches any folder, and `**` matches folders of any depth.
    """
    endings: tuple[str, ...] = ENDINGS
    """The endings of the file names of transcripts."""
    excluded_prefix: str = ""
    """The prefix of file names that look like transcripts, but belong to sub-agents, or ""."""
    data_folders: tuple[str, ...] = ()
    """All folders with session data, if there are more than the folders of `transcripts`."""
    companions: tuple[str, ...] = ()
    """The files below `folder` with more facts about transcripts. The archive copies them too."""
    database_prefix: str = ""
    """The beginning of the names of session databases below `folder`, or "" if there are none."""
    database_variable: str = ""
    """The name of an environment variable that holds the path of one more database, or ""."""

    session_variable: str = ""
    """An environment variable that holds the session's id in programs that the tool starts."""
    presence_variable: str = ""
    """An environment variable that is set in programs that the tool starts.

    Unlike `session_variable`, the variable does not hold the session's id.
    """
    process_variable: str = ""
    """An environment variable that holds the process id of the tool."""
    resume_word: str = ""
    """The subcommand before a session's id, such as `resume` in `codex resume ID`.

    Options such as `--resume` are recognized for every tool.
    """

    hook_events: tuple[str, ...] = ()
    """The tool's hook events, such as the start of a session, that call `cortext hook`."""
    recall_event: str = ""
    """The hook event whose answer can pass recall to the model; "" if there is no such event."""
    hook_sends_prompt: bool = True
    """Whether the tool passes the text of the user's prompt to a hook."""
    hook_shows_message: bool = False
    """Whether the tool shows the `systemMessage` in a hook's answer."""
    has_status_line: bool = False
    """Whether the tool can show a status line, the output of a command that gets JSON on stdin."""
    has_shared_process: bool = False
    """Whether one process of the tool serves several sessions."""
    escapes_bangs: bool = False
    """Whether the tool puts a backslash before `!` in the arguments of a slash command."""
    marks_mcp_tools: bool = True
    """Whether the names of MCP tools in tool calls start with `mcp_`."""
    agents_folder: str = ""
    """The folder in a project, such as `.claude`, whose agents use models of this tool, or ""."""
    output_limit: int = 0
    """The maximum bytes of a command's output that the tool passes to its model.

    The value 0 means 28,000.
    """
    drops_pending_output: bool = False
    """Whether the tool loses output that is still in the terminal when a command ends."""

    reader: str
    """A class that implements the protocol `Bridge`."""
    writer: str | None = None
    """A class that implements the protocol `Writer`."""
    launcher: str | None = None
    """A subclass of `Launcher`."""
    headless: str | None = None
    """A subclass of `Headless`."""
    archive: str | None = None
    """A subclass of `ArchiveSource`, or None to use `ArchiveSource` itself."""
    hooks: str | None = None
    """A function that returns the `SettingsFile` for hooks."""
    recall: str | None = None
    """A function that returns whether a session that begins now gets recall."""
    plugin: str | None = None
    """A class that implements the protocol `Plugin`, for a tool without hooks."""
    consent: str | None = None
    """A function that returns a `Consent`: a permission that only the user can give."""
    slash_commands: str | None = None
    """A subclass of `SlashCommands`."""
    mcp_settings: str | None = None
    """A function that returns the `SettingsFile` for MCP servers."""
    mcp_servers: str | None = None
    """A function that yields the tables of MCP servers that the tool starts in a folder."""
    is_subagent: str | None = None
    """A function that returns whether a transcript belongs to a sub-agent."""
    empty_sessions: str | None = None
    """A function that finds sessions without messages."""
    latest_sessions: str | None = None
    """A function that finds the sessions in a database that were changed last."""
    usage: str | None = None
    """A function that yields a `UsageFile` for each file of a session: the tokens of its answers.

    The arguments are a `TranscriptSource` and the states of the files when they were last read, by
    path. If the function sets `UsageFile.keep`, it may leave out the records of earlier calls.
    """
    find_text: str | None = None
    """A function that returns whether a session in a database contains a text."""

    @property
    def home(self) -> str:
        """The folder where the tool stores its sessions."""
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
        """Whether `cortext setup` can add anything to the tool, such as hooks or slash commands."""
        return bool(self.hooks or self.plugin or self.slash_commands or self.mcp_settings)

    @property
    def has_databases(self) -> bool:
        """Whether sessions are rows of a database instead of files."""
        return bool(self.database_prefix)

    @property
    def named_database(self) -> str:
        """The path of a database that the user has set with an environment variable, or "".

        The field `database_variable` holds the name of the environment variable.
        """
        given = os.environ.get(self.database_variable, "") if self.database_variable else ""
        return "" if given in ("", ":memory:") else os.path.join(self.home, given)

    @property
    def transcript_roots(self) -> tuple[str, ...]:
        """The part before the first `*` of each pattern in `transcripts`, without duplicates."""
        parts = (pattern.partition("*")[0].rstrip("/") for pattern in self.transcripts)
        return tuple(dict.fromkeys(parts))

    @property
    def moving_variable(self) -> str:
        """The environment variable that changes where the tool stores its sessions, or ""."""
        return self.folder_variable or self.home_variable or self.database_variable

    @property
    def install_command(self) -> str:
        """The command that installs the tool, or "" if it is not known."""
        return f"{self.installer} {self.package}" if self.package else ""

    def load(self, capability: str, *, hint: str = "") -> Any:
        """Import and return the object for a capability.

        `capability` is the name of a field of this class, such as "writer". Raises
        MissingCapabilityError, with `hint`, if the tool lacks the capability.
        """
        path: str | None = getattr(self, capability)
        if path is None:
            raise MissingCapabilityError(self, capability, hint=hint)
        module, _, name = path.partition(":")
        return getattr(import_module(module), name)
