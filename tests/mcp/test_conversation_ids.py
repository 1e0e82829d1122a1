"""The ids that an agent gets, and that it finds again what it saved."""

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.claude_person import Person
from tests.command import begin, folder_of, ok
from tests.mcp.mcp_client import call, facts, text


def test_conversation_saved_outside_workspace_is_listed_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the id that is answered, by a list and by a search in the same folder."""
    person = Person(tmp_path)
    monkeypatch.setenv("HOME", str(person.home))
    proj = person.project("proj")
    monkeypatch.chdir(proj)
    id = person.say(proj, ["Which queue?", "Kafka it is."])
    saved = facts(call("save_conversation", id=id, summary="we chose kafka"))
    (listed,) = facts(call("list_conversations"))["conversations"]
    assert (listed["id"], listed["folder"]) == (saved["id"], str(proj))
    hits = facts(call("search_workspace", query="kafka"))["hits"]
    assert {hit["id"] for hit in hits} == {saved["id"]}
    assert "| Kafka it is." in text(call("get_conversation", id=saved["id"]))


def test_conversations_with_same_id_get_distinct_ids(workspace: Path, tmp_path: Path) -> None:
    """One hit each; an id that two have which differ is answered as one that every tool takes."""
    copy = tmp_path / "copy of here"
    shutil.copytree(workspace, copy)
    ok(copy, "list")
    (hit,) = facts(call("search_workspace", query="opaque", all_=True))["hits"]
    assert "With opaque" in text(call("get_conversation", id=hit["id"], all_=True))
    id = begin(workspace, "plan", "Same", "An axolotl.")
    assert begin(copy, "plan", "Same", "Another axolotl.", "Two of them.") == id
    hits = facts(call("search_workspace", query="axolotl", all_=True))["hits"]
    listed = facts(call("list_conversations", all_=True))["conversations"]
    for folder, words in ((workspace, "An axolotl."), (copy, "Another axolotl.")):
        name = str(folder_of(folder, id))
        assert name in {hit["id"] for hit in hits} & {each["id"] for each in listed}
        (resume,) = {hit["resume"] for hit in hits if hit["id"] == name}
        assert words in ok(tmp_path, "show", name)
        assert resume == shlex.join(["cortext", "resume", name])
        assert f"| {words}" in text(call("get_conversation", id=name, all_=True))
