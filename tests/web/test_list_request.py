"""The filters of the web list: projects and branches."""

from cortext.catalog.row import ConversationRow
from cortext.web.list_request import ListRequest, choices


def session(key: str, folder: str, branch: str) -> ConversationRow:
    return ConversationRow(
        tool="claude", path=f"/{key}.jsonl", key=key, status="paused", last_active=0,
        working_dir=folder, branch=branch,
    )  # fmt: skip


ROWS = [
    session("a", "/work/cli", "main"),
    session("b", "/old/cli", "main"),
    session("c", "/work/api", "fix"),
]


def test_list_offers_shortest_project_names_and_branches() -> None:
    offered = choices(ROWS, ListRequest())
    assert {each.value: each.name for each in offered["project"]} == {
        "/work/cli": "work/cli",
        "/old/cli": "old/cli",
        "/work/api": "api",
    }
    assert [(each.value, each.number) for each in offered["branch"]] == [("main", 2), ("fix", 1)]


def test_list_shows_only_chosen_project_and_branch() -> None:
    for given, keys in (
        ({"project": "/work/cli"}, ["a"]),
        ({"project": "/work"}, ["a", "c"]),
        ({"branch": "main"}, ["a", "b"]),
        ({"project": "/work", "branch": "fix"}, ["c"]),
    ):
        asked = ListRequest.of(given)
        assert asked.is_filtered
        assert [row.key for row in asked.filter(ROWS)] == keys


def test_search_words_and_page_are_no_filters() -> None:
    assert not ListRequest.of({"q": "parser", "page": "2"}).is_filtered
    for name in ("kind", "tool", "status", "tag", "when", "project", "branch"):
        assert ListRequest.of({name: "x"}).is_filtered, name
