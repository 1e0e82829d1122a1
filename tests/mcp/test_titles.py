"""Titles, as an agent finds them."""

from pathlib import Path

from tests.command import begin
from tests.mcp.mcp_client import call, facts


def test_title_is_hit_only_without_matching_message(workspace: Path) -> None:
    """Neither a title nor the heading of a document takes the place of what was said."""
    said = begin(workspace, "plan", "Bustard nests", "Where do bustard nests lie?", "On the ground")
    alone = begin(workspace, "plan", "Other bustard nests", "Nothing of that.")
    hits = facts(call("search_workspace", query="bustard nests", limit=2))["hits"]
    assert {(hit["id"], hit["role"]) for hit in hits} == {(said, "user"), (alone, "title")}
    (first,) = facts(call("search_workspace", query="lie nests", limit=1))["hits"]
    assert (first["id"], first["message"]) == (said, 1)


def test_paging_past_titles_returns_each_text_once(workspace: Path) -> None:
    """Each text once, however few are taken at a time."""
    for number in range(5):
        begin(workspace, "plan", f"Bustard {number}", f"bustard of {number}", f"bustard! {number}")
    seen: list[tuple[str, int]] = []
    after = 1
    for _ in range(20):
        page = facts(call("search_workspace", query="bustard", limit=2, from_=after))
        seen += [(hit["id"], hit["message"]) for hit in page["hits"]]
        after = page["next"]
        if not after:
            break
    assert (len(seen), len(set(seen))) == (10, 10)
