"""Documents of programs, as an agent has them."""

from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage
from tests.command import head_of
from tests.mcp.mcp_client import call, facts, refused, text


@pytest.fixture
def document(workspace: Path, tmp_path: Path) -> Session:
    """Had in the workspace; there is another that was not."""
    for id, folder in (("bird-1", workspace), ("bird-2", tmp_path)):
        session = Session(id, title=f"About {id}", working_dir=str(folder), agent="scout")
        session.messages.append(SessionMessage("user", "Where do bustards nest?"))
        session.messages.append(SessionMessage("assistant", "On the ground."))
        SessionStorage().save(session)
    return SessionStorage().load("bird-1")


def test_program_document_is_listed_found_and_read(document: Session) -> None:
    """In its own workspace; with `all`, from anywhere."""
    listed = facts(call("list_conversations"))["conversations"]
    assert [each["id"] for each in listed if each["tool"] == "document"] == ["bird-1"]
    listed = facts(call("list_conversations", all_=True))["conversations"]
    assert {each["id"] for each in listed if each["tool"] == "document"} == {"bird-1", "bird-2"}
    found = facts(call("search_workspace", query="bustards"))["hits"]
    assert [(hit["id"], hit["tool"], hit["message"]) for hit in found] == [
        ("bird-1", "document", 1)
    ]
    assert found[0]["resume"] == "cortext resume bird-1"
    assert "| On the ground." in text(call("get_conversation", id="bird-1"))
    assert refused(call("get_conversation", id="bird-2")).startswith("session not found")


def test_resume_of_program_document_creates_conversation(
    document: Session, workspace: Path
) -> None:
    """The program's file stays as it is, and either name finds the conversation."""
    told = facts(call("resume_conversation", id="bird-1"))
    made = told["conversation"]["id"]
    assert "| Where do bustards nest?" in told["briefing"]
    assert head_of(workspace, made)["parent_id"] == "document:bird-1"
    assert head_of(workspace, made)["status"] == "active"
    assert SessionStorage().load("bird-1") == document
    saved = facts(call("save_conversation", id="bird-1", summary="They nest on the ground."))
    assert (saved["id"], saved["status"]) == (made, "paused")
