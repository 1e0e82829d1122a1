"""The names by which the commands below a hit open the right conversation."""

from cortext.cli.hit_page import Names, reopens
from cortext.index.listed import Listed, facts


def row(root: str, path: str, key: str) -> Listed:
    return Listed(root, path, key, "paused", 0, facts(kind="plan", title="x"))


def ours(root: str, day: str, name: str) -> Listed:
    return row(root, f"conversations/{day}/{name}", name)


def document(folder: str, key: str) -> Listed:
    return row("document:/w", f"{folder}/{key}.json", key)


def test_a_name_is_counted_as_commands_take_it() -> None:
    """The end of a path, the beginning of a session's id."""
    names = Names(
        [
            ours("/a", "2026-03-01", "001-plan-x"),
            ours("/a", "2026-03-02", "001-plan-x"),
            row("claude:/a", "/t/1", "abcd-1"),
            row("codex:/a", "/t/2", "abcd-2"),
        ]
    )
    assert names.count("001-plan-x") == 2
    assert names.count("2026-03-01/001-plan-x") == 1
    assert [names.count(name) for name in ("abcd", "abcd-1", "abce", "plan-x")] == [2, 1, 0, 0]


def test_the_shortest_name_that_is_no_others() -> None:
    """Else the day, the file, or the folder to be in."""
    rows = [
        ours("/a", "2026-03-01", "001-plan-x"),
        ours("/b", "2026-03-02", "001-plan-x"),
        ours("/a", "2026-03-03", "001-plan-y"),
        ours("/b", "2026-03-03", "001-plan-y"),
        document("/one", "ticket"),
        document("/two", "ticket"),
        document("/one", "other"),
        row("aur:/a", "/s/talk.jsonl", "talk"),
    ]
    names = Names(rows)
    assert [reopens(each, names) for each in rows] == [
        "cortext resume 2026-03-01/001-plan-x",
        "cortext resume 2026-03-02/001-plan-x",
        "cd /a && cortext resume 2026-03-03/001-plan-y",
        "cd /b && cortext resume 2026-03-03/001-plan-y",
        "cortext resume /one/ticket.json",
        "cortext resume /two/ticket.json",
        "cortext resume other",
        "cortext spawn --resume talk",
    ]
