"""Without its framework an adapter says what brings it."""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.adapters.missing_framework import needs
from cortext.installation import install_command

ADAPTERS: list[tuple[str, str, str]] = [
    # module, framework, extra
    ("langgraph", "langgraph", "langgraph"),
    ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    ("openai_agents", "agents", "openai-agents"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("google_adk", "google", "google-adk"),
    ("llm", "llm", "llm"),
    ("llm.plugin", "llm", "llm"),
    ("llm.llm_commands", "llm", "llm"),
]


@pytest.mark.parametrize(("module", "framework", "extra"), ADAPTERS)
def test_import_without_framework_names_install_command(
    module: str, framework: str, extra: str
) -> None:
    """The error is one sentence with the command that helps."""
    if importlib.util.find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed here")
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"cortext.adapters.{module}")
    assert install_command(extra) in str(caught.value)


def test_folder_named_like_framework_does_not_count_as_framework(tmp_path: Path) -> None:
    (tmp_path / "framework").mkdir()
    program = (
        "from cortext.adapters.missing_framework import needs\n"
        "with needs('openai-agents'):\n"
        "    from framework import RunState\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    said = f"the package framework is not installed; run `{install_command('openai-agents')}`"
    assert f"ModuleNotFoundError: {said}" in done.stderr


def test_missing_name_in_framework_is_not_reported_as_missing_package() -> None:
    with pytest.raises(ImportError, match="cannot import name 'nothing'"), needs("llm"):
        from json import nothing  # type: ignore[attr-defined]  # noqa: F401
