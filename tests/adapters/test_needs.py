"""Without its framework an adapter says what brings it."""

import importlib
import importlib.util

import pytest

from cortext.installation import install_command

ADAPTERS: list[tuple[str, str, str]] = [
    # module, framework, extra
    ("langgraph", "langgraph", "langgraph"),
    ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    ("openai_agents", "agents", "openai-agents"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("google_adk", "google", "google-adk"),
    ("llm", "llm", "llm"),
    ("llm_plugin", "llm", "llm"),
    ("llm_commands", "llm", "llm"),
]


@pytest.mark.parametrize(("module", "framework", "extra"), ADAPTERS)
def test_the_extra_is_named(module: str, framework: str, extra: str) -> None:
    """The error is one sentence with the command that helps."""
    if importlib.util.find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed here")
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"cortext.adapters.{module}")
    assert install_command(extra) in str(caught.value)
