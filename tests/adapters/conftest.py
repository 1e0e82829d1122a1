"""An adapter's tests run where its framework is: `make adapters` has a place for each."""

from importlib.util import find_spec

_FRAMEWORKS = {
    "claude_agent_sdk": "claude_agent_sdk",
    "google_adk": "google.adk",
    "langgraph": "langgraph",
    "llm": "llm",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [folder for folder, package in _FRAMEWORKS.items() if not _is_there(package)]
