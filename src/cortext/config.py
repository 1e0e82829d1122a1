"""The settings of cortext: their definitions, the files that set them, and their values.

An environment variable overrides the workspace's file. The workspace's file overrides the user's
file, and the user's file overrides the default. Every command reads the settings. To save time,
tomllib is imported only if a settings file contains settings.
"""

from __future__ import annotations

import os
import stat
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.errors import CortextError

BIGGEST_FILE = 1_000_000
ENVIRONMENT = "the environment"
# The largest number that a setting may have. Clocks and databases can handle it.
_LARGEST_NUMBER = 1_000_000_000
_MOST_DOTS = 100
_LONG_NUMBER = rb"(?<![0-9_])[0-9_]{4300}"


class UnknownSettingError(CortextError, LookupError):
    """There is no setting with the given name. The hint suggests a similar name."""

    def __init__(self, name: str) -> None:
        self.name = name
        similar = nearest(name)
        hint = f"did you mean {similar}?" if similar else "`cortext config` lists all settings"
        super().__init__(f"there is no setting {name}", hint=hint)


class BadSettingError(CortextError, ValueError):
    """A setting cannot have the given value, or a workspace's file may not set it."""


class Setting(NamedTuple):
    """The definition of one setting.

    - `kind`: the type of the value: choice, tool, whole (a whole number), number, path or paths
    - `doc`: the help text
    - `choices`: the allowed values of the kind choice. A value of the kind tool is one of `choices`
      or the name of an AI tool. This module accepts any word as the name of a tool
    - `least` and `most`: the limits of a number
    - `in_workspace`: whether the settings file of a workspace may contain this setting
    """

    name: str
    default: Any
    kind: str
    doc: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = _LARGEST_NUMBER
    in_workspace: bool = True

    @property
    def variable(self) -> str:
        """The name of the environment variable that sets this setting."""
        return "CORTEXT_" + self.name.upper().replace(".", "_")

    @property
    def allowed(self) -> str:
        """A phrase that describes the allowed values, for an error message."""
        if self.kind == "choice":
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        if self.kind == "tool":
            return f"{', '.join(self.choices)} or the name of a tool"
        if self.kind == "path":
            return "an absolute path, a path that starts with ~/, or an empty text"
        if self.kind == "paths":
            return "a list of paths that start with / or ~/ (in a variable, separated by :)"
        kind = "whole number" if self.kind == "whole" else "number"
        return f"a {kind} from {self.least} to {self.most}"

    def accepts(self, value: Any) -> bool:
        if self.kind == "choice":
            return value in self.choices
        if self.kind == "tool":
            return isinstance(value, str) and _is_word(value)
        if self.kind == "path":
            return isinstance(value, str) and _is_path(value)
        if self.kind == "paths":
            return isinstance(value, list) and all(map(_is_folder, cast("list[Any]", value)))
        kinds = int if self.kind == "whole" else (int, float)
        # For Python, True is an int. NaN fails the range check.
        number = isinstance(value, kinds) and not isinstance(value, bool)
        return number and self.least <= value <= self.most

    def parse(self, text: str) -> Any:
        """Convert text from an environment variable or a command line to a value of this setting.

        This method does not check the value. If the setting is a number, but `text` is not a
        number, the method returns `text`.
        """
        if self.kind == "paths":
            return [part for part in text.split(os.pathsep) if part]
        kinds = {"whole": (int,), "number": (int, float)}.get(self.kind, ())
        for kind in kinds if text.isascii() else ():
            try:
                return kind(text)
            except ValueError:
                continue
        return text


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "sessions.git",
        "auto",
        "choice",
        "What `stop` and `done` do in git. `auto` commits if the workspace is the root of a "
        "repository.",
        ("auto", "commit", "stage", "off"),
    ),
    Setting(
        "sessions.secrets",
        "mask",
        "choice",
        "What happens to keys and passwords before a commit. `mask` redacts them if the archive "
        "has the original, and refuses the commit otherwise.",
        ("mask", "warn", "refuse", "off"),
        # A workspace made by somebody else must not turn this off.
        in_workspace=False,
    ),
    Setting(
        "sessions.pause_minutes",
        5,
        "number",
        "Minutes without activity after which a conversation counts as paused; 0 means never. "
        "Hooks, `cortext watch` and `cortext list` write this status into `session.json`.",
    ),
    Setting(
        "resume.budget",
        200_000,
        "whole",
        "Maximum number of characters of history in a briefing.",
        least=4000,
    ),
    Setting(
        "resume.tool",
        "ask",
        "tool",
        "The tool that reopens a conversation which did not take place in a tool.",
        ("ask",),
    ),
    Setting("list.limit", 50, "whole", "Number of rows that a list shows in a terminal.", least=1),
    Setting(
        "trash.days",
        30,
        "whole",
        "Days that deleted conversations stay in the trash.",
        most=36_500,
        # All workspaces share one trash, so no workspace may empty it.
        in_workspace=False,
    ),
    Setting(
        "sessions.checksums",
        "off",
        "choice",
        "Whether each new line of a conversation gets a checksum, which `cortext doctor` checks.",
        ("on", "off"),
        in_workspace=False,
    ),
    Setting(
        "archive.enabled",
        "on",
        "choice",
        "Whether cortext keeps copies of the AI tools' transcripts.",
        ("on", "off"),
        in_workspace=False,
    ),
    Setting(
        "serve.rate",
        0,
        "whole",
        "Maximum number of requests per minute for each client; 0 means no limit.",
        in_workspace=False,
    ),
    Setting(
        "serve.max_body",
        1 << 20,
        "whole",
        "Maximum size of a request in bytes.",
        least=1024,
        in_workspace=False,
    ),
    Setting(
        "serve.max_streams",
        1000,
        "whole",
        "Maximum number of open event streams for each client, in each process; 0 means no limit.",
        in_workspace=False,
    ),
    Setting("stats.prices", "", "path", "Path of a file with model prices.", in_workspace=False),
    Setting(
        "usage.budget",
        0,
        "whole",
        "US dollars for each month. `cortext usage` warns from 80 % on; 0 means no budget.",
        in_workspace=False,
    ),
    Setting(
        "sources.documents",
        [],
        "paths",
        "More folders with session documents, for lists and searches.",
        # A workspace made by somebody else must not make cortext read a person's folders.
        in_workspace=False,
    ),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


class SettingValue(NamedTuple):
    """The value of a setting, and where the value comes from.

    `origin` is `default`, `the environment`, or the path of a settings file.
    """

    value: Any
    origin: str


class Config:
    """The values of all settings.

    `warnings` has a sentence for each unknown setting in the files and in the environment.
    """

    def __init__(self, values: dict[str, SettingValue], warnings: list[str]) -> None:
        self._values = values
        self.warnings = warnings

    @classmethod
    def load(cls, root: str | None) -> Config:
        """Load the settings from the environment, the user's file and the workspace at `root`.

        If `root` is None, no workspace's file is read. A missing file is not an error. Raises
        CortextError if a file cannot be read or a value is not allowed. The message names the file.
        """
        values = {setting.name: SettingValue(setting.default, "default") for setting in SETTINGS}
        warnings: list[str] = []
        _add_file(user_file(), values, warnings, workspace=False)
        if root is not None:
            _add_file(workspace_file(root), values, warnings, workspace=True)
        _add_environment(values, warnings)
        return cls(values, warnings)

    def get(self, name: str) -> SettingValue:
        """Return the value of a setting and its origin.

        Raises UnknownSettingError if there is no setting with this name.
        """
        return self._values[definition(name).name]

    def __getitem__(self, name: str) -> Any:
        return self.get(name).value


def definition(name: str) -> Setting:
    """Return the definition of the setting `name`. Raises UnknownSettingError if there is none."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise UnknownSettingError(name) from None


def check_text(setting: Setting, text: str) -> Any:
    """Convert text to a value of a setting. Raises BadSettingError if the value is not allowed."""
    value = setting.parse(text)
    _check_value(setting, value, "")
    return value


def user_file() -> str:
    return os.path.join(paths.config_home(), "cortext", "config.toml")


def workspace_file(root: str) -> str:
    return os.path.join(root, ".workspace", "config.toml")


def nearest(name: str) -> str:
    """Return the name of the setting that is most similar to `name`, or "" if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.lower(), _BY_NAME, 1)), "")


def read_settings(path: str) -> tuple[bytes, dict[tuple[str, ...], Any]]:
    """Return the bytes of a settings file, and its values.

    The values are in a dict like `{("list", "limit"): 50}`. Both are empty if the file is missing.
    """
    data = _read(path)
    return data, parse_settings(data, path)


def parse_settings(data: bytes, path: str) -> dict[tuple[str, ...], Any]:
    """Return the values in a settings file, in a dict like `{("list", "limit"): 50}`.

    `data` is the content of the file, and `path` is its path for error messages. Raises
    CortextError if the content is not valid TOML.
    """
    lines = [line for line in map(bytes.strip, data.split(b"\n")) if line[:1] not in (b"", b"#")]
    if not lines:
        return {}
    import re
    import tomllib

    try:
        # The parser needs much memory for a long number before Python refuses the number.
        if long_number := re.search(_LONG_NUMBER, data):
            line = data.count(b"\n", 0, long_number.start()) + 1
            raise ValueError(f"a number has too many digits (at line {line})")
        # The parser needs minutes for a key with very many parts.
        if max(line.count(b".") for line in lines) > _MOST_DOTS:
            raise RecursionError
        return _flatten(tomllib.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        line, reason = data.count(b"\n", 0, error.start) + 1, "not UTF-8"
    except RecursionError:
        raise CortextError(f"{path}: nested too deeply") from None
    except ValueError as error:
        reason, _, rest = str(error).partition(" (at ")
        word = rest.removeprefix("line ").rstrip(")").partition(",")[0]
        line = int(word) if word.isdecimal() else data.rstrip().count(b"\n") + 1
    raise CortextError(
        f"{path}, line {line}: not TOML: {reason[:1].lower()}{reason[1:]}",
        hint="correct the line in an editor",
    )


def _add_file(
    path: str, values: dict[str, SettingValue], warnings: list[str], *, workspace: bool
) -> None:
    for parts, value in read_settings(path)[1].items():
        name = ".".join(parts)
        setting = _BY_NAME.get(name) if len(parts) == 2 else None
        if setting is None:
            warnings.append(f"{path}: there is no setting {_quote_name(parts)}{_suggestion(name)}")
        elif workspace and not setting.in_workspace:
            raise BadSettingError(
                f"{path}: a workspace may not set {name}",
                hint=f"set it in {user_file()} or as {setting.variable}",
            )
        else:
            values[name] = SettingValue(_check_value(setting, value, f"{path}: "), path)


def _add_environment(values: dict[str, SettingValue], warnings: list[str]) -> None:
    for setting in SETTINGS:
        text = os.environ.get(setting.variable, "")
        if text:
            value = _check_value(setting, setting.parse(text), f"{setting.variable}: ")
            values[setting.name] = SettingValue(value, ENVIRONMENT)
    known = {setting.variable for setting in SETTINGS}
    sections = tuple({variable[: variable.index("_", 8) + 1] for variable in known})
    for variable in os.environ:
        if variable.startswith(sections) and variable not in known:
            name = variable.removeprefix("CORTEXT_").lower().replace("_", ".", 1)
            warnings.append(
                f"{variable} has no effect: there is no setting {name}{_suggestion(name)}"
            )


def _check_value(setting: Setting, value: Any, where: str) -> Any:
    if setting.accepts(value):
        if setting.kind == "paths":
            return [os.path.expanduser(path) for path in value]
        return os.path.expanduser(value) if setting.kind == "path" else value
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    raise BadSettingError(f"{where}{setting.name} cannot be {shown}; allowed: {setting.allowed}")


def _read(path: str) -> bytes:
    try:
        return _read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise CortextError(f"{path} is a link to a file that does not exist") from None
        return b""
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        hint = "check the owner and the permissions of the file"
        raise CortextError(f"could not read {path}: {reason}", hint=hint) from error


def _read_file(path: str) -> bytes:
    # If the path is a pipe, opening it must not wait for a writer.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise CortextError(f"{path} is not a file")
        data = b""
        while more := os.read(fd, BIGGEST_FILE + 1 - len(data)):
            data += more
    finally:
        os.close(fd)
    if len(data) > BIGGEST_FILE:
        raise CortextError(f"{path} is too large: settings files have at most {BIGGEST_FILE} bytes")
    return data


def _flatten(table: dict[str, Any], parents: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flatten(cast("dict[str, Any]", value), (*parents, key))
        else:
            flat[*parents, key] = value
    return flat


def _is_word(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def _is_path(text: str) -> bool:
    plain = not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in text)
    return plain and (not text or os.path.isabs(text) or text.startswith("~/"))


def _is_folder(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and _is_path(value)


def _quote_name(parts: tuple[str, ...]) -> str:
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def _suggestion(name: str) -> str:
    similar = nearest(name)
    return f"; did you mean {similar}?" if similar and similar != name else ""
