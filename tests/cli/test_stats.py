"""`cortext stats`: the report, its charts and its JSON."""

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.cli.terminal_text import cells, fit
from cortext.cli.views.bar_chart import bar, can_draw, columns
from tests.cli.show_terminal import HOSTILE, STYLE, assert_harmless, cortext, in_terminal


def keep(workspace: Path, id: str, days_ago: int = 0, **head: Any) -> Path:
    """A conversation of one question and its answer; its folder."""
    at = datetime.now(UTC) - timedelta(days=days_ago)
    messages = [SessionMessage(role, "text " * 20, timestamp=at) for role in ("user", "assistant")]
    head = {"title": "T", "kind": "plan", "created_at": at, "updated_at": at, **head}
    open_session_store(f"workspace:{workspace}").save(Session(id, messages=messages, **head))
    (folder,) = workspace.glob(f"conversations/*/{id}")
    return folder


def fill(workspace: Path) -> None:
    keep(workspace, "001-plan-a", model="sonnet-4", native=[{"tool": "claude-code"}])
    keep(workspace, "002-debug-b", 1, kind="debug", status="completed")
    keep(workspace, "003-plan-c", 40, metadata={"cost_usd": 1.5})


def test_stats_in_pipe_prints_report_in_80_columns_without_colour(tmp_workspace: Path) -> None:
    """Totals, charts and tables in 80 columns, with no colours."""
    fill(tmp_workspace)
    done = cortext(tmp_workspace, "stats")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "3 conversations · 6 messages · 3 exchanges"
    assert "1 completed" in lines[1]
    for heading in (
        "Messages per day",
        "Types ",
        "Tools ",
        "Models ",
        "Your messages by hour",
        "Longest",
    ):
        assert any(line.startswith(heading) for line in lines), heading
    assert re.search(r"^  plan +█+ +2 +4 ", done.stdout, re.MULTILINE)
    assert "estimated, in 3 conversations" in done.stdout
    assert "$1.50 recorded by the tool in 1 conversation\n" in done.stdout
    assert "unknown for 2 conversations" in done.stdout
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout


def test_stats_in_terminal_fits_any_width_and_honours_no_color(tmp_workspace: Path) -> None:
    """It fits, whatever the width; colours unless NO_COLOR."""
    fill(tmp_workspace)
    keep(
        tmp_workspace,
        "004-x",
        kind="a-type-with-a-name-that-is-much-too-long-for-a-table",
        title="日" * 99,
    )
    for width in (60, 80, 200):
        out = in_terminal(tmp_workspace, "stats", columns=width)
        assert "\x1b[36m" in out
        assert max(cells(line) for line in STYLE.sub("", out).splitlines()) <= width
    assert "\x1b" not in in_terminal(tmp_workspace, "stats", NO_COLOR="1")


def test_stats_json_has_only_documented_keys(tmp_workspace: Path) -> None:
    """Every key is on the page that documents it."""
    fill(tmp_workspace)
    found = json.loads(cortext(tmp_workspace, "stats", "--json").stdout)
    assert (found["totals"]["messages"], len(found["hours"]), len(found["days"])) == (6, 24, 3)
    page = Path(__file__).parents[2] / "docs/how-to/daily-use/stats.md"
    text = page.read_text(encoding="utf-8")
    assert [key for key in found if f"`{key}`" not in text] == []


@pytest.mark.parametrize(
    ("args", "number"),
    [
        (["--since", "7d"], 2),
        (["--since", "1mo"], 2),
        (["--since", "3mo"], 3),
        (["--type", "plan"], 2),
        (["--type", "plan", "--since", "2w"], 1),
    ],
)
def test_stats_filters_by_time_and_type(args: list[str], number: int, tmp_workspace: Path) -> None:
    """Since a time, and of a type."""
    fill(tmp_workspace)
    found = json.loads(cortext(tmp_workspace, "stats", "--json", *args).stdout)
    assert found["totals"]["conversations"] == number


@pytest.mark.parametrize("value", ["x", "99999mo", "m", "-1m", "2026-13-01"])
def test_stats_rejects_invalid_since_value(value: str, tmp_workspace: Path) -> None:
    """A usage error in one sentence."""
    done = cortext(tmp_workspace, "stats", "--since", value)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)


def test_stats_all_counts_every_workspace_and_names_missing_workspace(
    tmp_workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """With `--all`; one that is gone is named."""
    other = tmp_path_factory.mktemp("other")
    data = {"XDG_DATA_HOME": str(tmp_path_factory.mktemp("data"))}
    cortext(other, "init", **data)
    keep(other, "001-x")
    keep(tmp_workspace, "001-y")
    cortext(other, "stats", **data)
    found = json.loads(cortext(tmp_workspace, "stats", "--all", "--json", **data).stdout)
    assert found["totals"]["conversations"] == 2
    shutil.rmtree(other)
    done = cortext(tmp_workspace, "stats", "--all", **data)
    assert (done.returncode, f"warning: the folder {other} does not exist" in done.stderr) == (
        0,
        True,
    )


def test_stats_reports_empty_workspace_with_hint(tmp_workspace: Path) -> None:
    """It says so, and what to do; as JSON it is zeros."""
    done = cortext(tmp_workspace, "stats")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("No conversations to count.\nhint: ")
    found = json.loads(cortext(tmp_workspace, "stats", "--json").stdout)
    assert (found["totals"]["conversations"], found["busiest_day"]) == (0, None)


def test_stats_warns_about_damaged_conversation_and_counts_others(tmp_workspace: Path) -> None:
    """On stderr, once, and the others count."""
    fill(tmp_workspace)
    head = keep(tmp_workspace, "004-plan-bad") / ".session/session.json"
    head.write_bytes(b"{")
    done = cortext(tmp_workspace, "stats")
    assert (done.returncode, done.stderr.count("warning: only partly counted")) == (0, 1)
    assert str(head) in done.stderr
    assert "4 conversations" in done.stdout


def test_stats_prints_hostile_names_as_plain_text(tmp_workspace: Path) -> None:
    """Titles, types, tools and models come out as text."""
    nasty = " ".join(HOSTILE)
    keep(tmp_workspace, "001-x", title=nasty, kind=nasty, model=nasty, native=[{"tool": nasty}])
    assert_harmless(in_terminal(tmp_workspace, "stats"))
    done = cortext(tmp_workspace, "stats")
    assert_harmless(done.stdout)
    assert "[red]x[/]" in done.stdout


def test_stats_reports_missing_price_file_with_hint(tmp_workspace: Path) -> None:
    """And says what to do."""
    fill(tmp_workspace)
    done = cortext(tmp_workspace, "stats", CORTEXT_STATS_PRICES="/nonexistent/prices.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the prices in /nonexistent/prices.toml cannot be used")
    assert "\nhint: " in done.stderr


def test_stats_charts_use_ascii_when_encoding_lacks_blocks(tmp_workspace: Path) -> None:
    """Where the encoding has no blocks."""
    fill(tmp_workspace)
    done = cortext(tmp_workspace, "stats", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.isascii()) == (0, True)
    assert re.search(r"^  plan +#+ ", done.stdout, re.MULTILINE)
    assert "?" not in done.stdout


def test_bar_scales_by_eighths_and_never_hides_small_values() -> None:
    """By eighths, never nothing for something, never too long."""
    assert [bar(value, 8, 2) for value in (0, 1, 4, 5, 8)] == ["  ", "▎ ", "█ ", "█▎", "██"]
    assert bar(1, 10_000, 4) == "▏   "
    assert [bar(value, 8, 2, blocks=False) for value in (0, 1, 8)] == ["  ", "# ", "##"]
    assert bar(0, 0, 3) == "   "


def test_columns_scale_to_height_of_largest_value() -> None:
    """From the top; the highest fills the height."""
    assert columns([0, 1, 8, 16], height=2, gap=0) == ["   █", " ▁██"]
    assert columns([4, 2], height=2, wide=2, blocks=False) == ["##   ", "## ##"]
    assert columns([0, 0], height=2) == ["   ", "   "]


def test_cells_and_fit_count_wide_characters_as_two_columns() -> None:
    """Wide characters take two, joined ones none."""
    assert [cells(text) for text in ("abc", "日本", "e\u0301", "")] == [3, 4, 1, 0]
    assert [fit(text, 4) for text in ("ab", "abcde", "日本語", "a日本語")] == [
        "ab  ",
        "abc…",
        "日… ",
        "a日…",
    ]


def test_can_draw_is_true_only_for_encodings_with_blocks() -> None:
    """Blocks need UTF-8, or an encoding that has them."""
    assert [can_draw(name) for name in ("utf-8", "ascii", "latin-1", "no-such", None)] == [
        True,
        False,
        False,
        False,
        False,
    ]
