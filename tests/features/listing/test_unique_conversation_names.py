"""The names by which the commands below a hit open the right conversation."""

import shlex

from cortext.catalog.row import ConversationRow
from cortext.features.listing.row_filters import without_copies
from cortext.features.listing.unique_conversation_names import Names, reopens


def row(
    path: str, key: str, *, workspace: str = "", tool: str = "", messages: int = 0
) -> ConversationRow:
    return ConversationRow(
        workspace=workspace,
        tool=tool,
        path=path,
        key=key,
        status="paused",
        last_active=0,
        messages=messages,
    )


def ours(root: str, day: str, name: str, messages: int = 0) -> ConversationRow:
    path = f"conversations/{day}/{name}"
    return row(path, name, workspace=root, messages=messages)


def document(folder: str, key: str) -> ConversationRow:
    return row(f"{folder}/{key}.json", key, tool="document")


def test_name_count_matches_path_ends_and_session_id_prefixes() -> None:
    """The end of a path, the beginning of a session's id."""
    names = Names(
        [
            ours("/a", "2026-03-01", "001-plan-x"),
            ours("/a", "2026-03-02", "001-plan-x"),
            row("/t/1", "abcd-1", tool="claude"),
            row("/t/2", "abcd-2", tool="codex"),
        ]
    )
    assert names.count("001-plan-x") == 2
    assert names.count("2026-03-01/001-plan-x") == 1
    assert [names.count(name) for name in ("abcd", "abcd-1", "abce", "plan-x")] == [2, 1, 0, 0]


def test_resume_command_uses_shortest_unique_name() -> None:
    """Else the day, else the whole path of the file or the folder."""
    rows = [
        ours("/a", "2026-03-01", "001-plan-x"),
        ours("/b", "2026-03-02", "001-plan-x"),
        ours("/a", "2026-03-03", "001-plan-y"),
        ours("/b", "2026-03-03", "001-plan-y", messages=1),
        document("/one", "ticket"),
        document("/two", "ticket"),
        document("/one", "other"),
        row("/s/talk.jsonl", "talk", tool="aur"),
    ]
    names = Names(rows)
    assert [reopens(each, names.of(each), shlex.quote) for each in rows] == [
        "cortext resume 2026-03-01/001-plan-x",
        "cortext resume 2026-03-02/001-plan-x",
        "cortext resume /a/conversations/2026-03-03/001-plan-y",
        "cortext resume /b/conversations/2026-03-03/001-plan-y",
        "cortext resume /one/ticket.json",
        "cortext resume /two/ticket.json",
        "cortext resume other",
        "cortext spawn --resume talk",
    ]


def test_session_whose_id_is_prefix_of_another_has_unique_name() -> None:
    """Its whole id is its own; one that a session of another kind has too is named by its file."""
    rows = [
        row("/s/qa-1.jsonl", "qa-1", tool="aur"),
        document("/one", "qa-1"),
        row("/t/2", "abcd", tool="claude"),
        row("/t/3", "abcd-1", tool="claude"),
    ]
    names = Names(rows)
    assert [*map(names.of, rows)] == ["/s/qa-1.jsonl", "/one/qa-1.json", "abcd", "abcd-1"]
    assert reopens(rows[0], names.of(rows[0]), shlex.quote) == "cortext spawn --resume qa-1"


def test_without_copies_lists_copied_conversation_once() -> None:
    """The one of the current workspace stays, and what has gone on elsewhere; else the longest, and
    of those the one with the shorter name."""
    first, copy = (ours(root, "2026-03-01", "001-plan-x", 2) for root in ("/a", "/a-copy"))
    assert (without_copies([copy, first]), without_copies([copy, first], "/a-copy")) == (
        [first],
        [copy],
    )
    assert Names([first, copy]).of(copy) == "001-plan-x"
    gone_on = ours("/a-copy", "2026-03-01", "001-plan-x", 3)
    assert (
        without_copies([gone_on, first]) == without_copies([gone_on, first], "/a-copy") == [gone_on]
    )
    assert without_copies([gone_on, first], "/a") == [gone_on, first]
