"""The settings of `aur spawn`, in a file of another program."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cortext import paths
from cortext.features.spawn.aurora_settings import SpawnSettings, load

DEFAULTS = ("", 0, 100_000)


def write(text: str | bytes) -> Path:
    path = Path(paths.aurora_home(), "config.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_missing_settings_file_gives_defaults() -> None:
    """The defaults hold, with nothing to say; no folder is made."""
    assert load() == SpawnSettings(*DEFAULTS, [])
    assert not Path(paths.aurora_home()).exists()


def test_load_reads_all_settings_and_leaves_file_unchanged() -> None:
    """All three settings are read; the file stays as it is, with what others keep in it."""
    interactive = {"session_expiry_days": 30, "max_tokens": 5000}
    spawner = {"tool": "my-llm --stream", "interactive": interactive, "other": 1}
    path = write(text := json.dumps({"spawner": spawner, "theme": "dark"}))
    assert load() == SpawnSettings("my-llm --stream", 30, 5000, [])
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"x"',
        '{"spawner": 3}',
        '{"spawner": {"interactive": []}}',
        b"\xff\xfe",
        "[" * 9999,
    ],
)
def test_unreadable_settings_give_defaults_and_one_warning(text: str | bytes) -> None:
    """One warning that names the file, and the defaults."""
    path = write(text)
    *values, warnings = load()
    assert tuple(values) == DEFAULTS
    (warning,) = warnings
    assert str(path) in warning


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session_expiry_days", -1),
        ("session_expiry_days", "30"),
        ("session_expiry_days", True),
        ("session_expiry_days", float("nan")),
        ("max_tokens", 0),
        ("max_tokens", 1e300),
        ("max_tokens", []),
    ],
)
def test_invalid_setting_is_named_and_others_hold(key: str, value: Any) -> None:
    """It is named and counts as not set; the others hold."""
    write(json.dumps({"spawner": {"tool": "claude", "interactive": {key: value}}}))
    settings = load()
    assert settings[:3] == ("claude", *DEFAULTS[1:])
    assert [key in warning for warning in settings.warnings] == [True]


def test_folder_in_place_of_settings_gives_defaults_and_warning() -> None:
    """A folder in its place is said, and nothing fails."""
    os.makedirs(Path(paths.aurora_home(), "config.json"))
    settings = load()
    assert settings[:3] == DEFAULTS
    assert len(settings.warnings) == 1
