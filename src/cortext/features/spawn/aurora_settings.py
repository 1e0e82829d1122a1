"""The settings of `cortext spawn`.

The settings file belongs to another program, Aurora. cortext only reads it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.durability.read_files import open_file, read_range
from cortext.errors import reason_of

MAX_TOKENS = 100_000
_MAX_BYTES = 1_000_000
_MAX_DAYS = 36_500
_MAX_TOKENS = 1_000_000_000
_MIN_TOKENS = 1_000


class SpawnSettings(NamedTuple):
    """The settings of `cortext spawn`.

    `tool` is the tool or command that answers, or "". Sessions are deleted after `expiry_days`
    days without a message; 0 means never. `max_tokens` is the size of the context. `warnings`
    describe invalid settings, which are ignored.
    """

    tool: str
    expiry_days: float
    max_tokens: int
    warnings: list[str]


def load() -> SpawnSettings:
    """Return the settings in `config.json` in Aurora's folder.

    Missing and invalid settings get their defaults.
    """
    path = os.path.join(paths.aurora_home(), "config.json")
    warnings: list[str] = []
    spawner = _section(_read(path, warnings), "spawner", path, warnings)
    interactive = _section(spawner, "interactive", path, warnings, within="spawner.")

    def number(key: str, default: float, least: float, most: float) -> float:
        value: Any = interactive.get(key)
        if value is None:
            return default
        # bool is a subclass of int, and NaN fails both comparisons.
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if good and least <= value <= most:
            return value
        name = f"spawner.interactive.{key}"
        wrong = f"{path}: {name} must be a number from {least:g} to {most:g}"
        warnings.append(f"{wrong}; using {default:g}")
        return default

    tool: Any = spawner.get("tool") or ""
    if not isinstance(tool, str):
        warnings.append(f"{path}: spawner.tool must be a string; ignoring it")
        tool = ""
    days = number("session_expiry_days", 0, 0, _MAX_DAYS)
    tokens = number("max_tokens", MAX_TOKENS, _MIN_TOKENS, _MAX_TOKENS)
    return SpawnSettings(tool, days, int(tokens), warnings)


def _read(path: str, warnings: list[str]) -> Any:
    try:
        fd = open_file(path)
        try:
            data = read_range(fd, 0, _MAX_BYTES + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = reason_of(error)
        warnings.append(f"{path} cannot be read ({reason}); using the defaults")
        return None
    if len(data) > _MAX_BYTES:
        warnings.append(f"{path} is larger than {_MAX_BYTES:,} bytes; using the defaults")
        return None
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        warnings.append(f"{path}{where} is not JSON; using the defaults")
        return None


def _section(
    value: Any, name: str, path: str, warnings: list[str], *, within: str = ""
) -> dict[str, Any]:
    """Return the JSON object `name` inside the object `value`.

    If there is no such object, return {}. If `value` or the part `name` exists but is not an
    object, also add a warning to `warnings`. The warning names the settings file `path` and the
    part of the file. `within` is the name of the part `value`, such as "spawner.".
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        what = within.rstrip(".") or "the content"
        warnings.append(f"{path}: {what} must be an object; using the defaults")
        return {}
    found: Any = cast("dict[str, Any]", value).get(name)
    if found is None or isinstance(found, dict):
        return cast("dict[str, Any]", found or {})
    warnings.append(f"{path}: {within}{name} must be an object; using the defaults")
    return {}
