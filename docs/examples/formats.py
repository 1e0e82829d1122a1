"""One session with everything in it, written to ./out by the store that is named."""

import sys
from datetime import timedelta

from sessions import START, conversation

from cortext import ToolInvocation, open_session_store

session = conversation(
    "001-brainstorm-api",
    "API design",
    START,
    "Let's brainstorm API design",
    "What is the core problem?",
)
session.kind = "brainstorm"
session.status = "paused"
session.model = "some-model-1"
session.agent = "architect"
session.command = "/workspace.brainstorm"
session.prompt_hash = "sha256:5f2c"
session.tools = ["mcp__cortext__search_workspace"]
session.summary = "REST or GraphQL, leaning toward REST"
session.tags = ["api"]
session.total_prompt_tokens, session.total_completion_tokens = 220, 41
session.tool_history.append(
    ToolInvocation(
        "grep",
        {"pattern": "fetch("},
        {"callers": 3},
        0.2,
        id="call-1",
        timestamp=START + timedelta(seconds=30),
    )
)
session.extra = {"colour": "blue"}

if __name__ == "__main__":
    open_session_store(f"{sys.argv[1]}:out").save(session)
