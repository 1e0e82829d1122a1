"""What a server says of itself on stderr."""

import uuid
from pathlib import Path

import pytest

from tests.service.http.serve_command import served, until


@pytest.mark.parametrize("workers", ["1", "2"])
def test_server_logs_creation_deletion_and_replacement(tmp_path: Path, workers: str) -> None:
    """The mode, each creation and deletion, and what was made in the place of a missing one; with
    several workers each says it for itself."""
    store = "memory:" if workers == "1" else f"file:{tmp_path / 'kept'}"
    with served(tmp_path, "--store", store, "--workers", workers) as server:
        missing = str(uuid.uuid4())
        made = server.ask("POST", "/v1/conversations", {"conversationId": missing}).json["id"]
        server.ask("DELETE", f"/v1/conversations/{made}")
        for line in (
            "conversation storage mode: ",
            f"conversation {made} created",
            f"conversation {missing} was not found: {made} was created",
            f"conversation {made} deleted",
        ):
            until(lambda line=line: f" INFO {line}" in "".join(server.log), line)


def test_server_warns_at_start_if_store_does_not_answer(tmp_path: Path) -> None:
    with served(tmp_path, "--store", "redis://127.0.0.1:1/0") as server:
        line = " WARNING requests get status 503 until the store answers: "
        until(lambda: line in "".join(server.log), line)
