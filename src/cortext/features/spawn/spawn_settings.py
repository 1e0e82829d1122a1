"""The settings of `cortext spawn`.

Their file belongs to the program Aurora; cortext only reads it.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, cast

from cortext import paths
from cortext.durability.read_files import open_file, read_range
from cortext.errors import reason_of

MAX_TOKENS = 100_000
_BIGGEST = 1_000_000
_MOST_DAYS = 36_500
_MOST_TOKENS = 1_000_000_000
_LEAST_TOKENS = 1_000


class SpawnSettings(NamedTuple):
    """The settings of `cortext spawn`.

    `tool` is the tool or command that answers, or "". With `expiry_days` 0, sessions are never
    deleted. `max_tokens` is the size of the context. `warnings` describe invalid settings, which
    are ignored.
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
        said = f"{path}: {name} is to be a number from {least:g} to {most:g}"
        warnings.append(f"{said}; it counts as {default:g}")
        return default

    tool: Any = spawner.get("tool") or ""
    if not isinstance(tool, str):
        warnings.append(f"{path}: spawner.tool is to be a text; it counts as not set")
        tool = ""
    days = number("session_expiry_days", 0, 0, _MOST_DAYS)
    tokens = number("max_tokens", MAX_TOKENS, _LEAST_TOKENS, _MOST_TOKENS)
    return SpawnSettings(tool, days, int(tokens), warnings)


def _read(path: str, warnings: list[str]) -> Any:
    try:
        fd = open_file(path)
        try:
            data = read_range(fd, 0, _BIGGEST + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = reason_of(error)
        warnings.append(f"{path} cannot be read ({reason}); the defaults hold")
        return None
    if len(data) > _BIGGEST:
        warnings.append(f"{path} is larger than {_BIGGEST:,} bytes; the defaults hold")
        return None
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        warnings.append(f"{path}{where} is not JSON; the defaults hold")
        return None


def _section(
    value: Any, name: str, path: str, warnings: list[str], *, within: str = ""
) -> dict[str, Any]:
    """Return the JSON object `name` inside the object `value`.

    Return {} if it is missing or not an object. `within` is the path of `value` for warnings.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        what = within.rstrip(".") or "it"
        warnings.append(f"{path}: {what} is to be an object; the defaults hold")
        return {}
    found: Any = cast("dict[str, Any]", value).get(name)
    if found is None or isinstance(found, dict):
        return cast("dict[str, Any]", found or {})
    warnings.append(f"{path}: {within}{name} is to be an object; the defaults hold")
    return {}
