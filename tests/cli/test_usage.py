"""`cortext usage`: what it prints."""

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from click.testing import CliRunner, Result

from cortext.cli.command_group import cortext as group
from tests.features.usage.usage_transcripts import SESSION_A, claude_answer, claude_file

NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def run(*args: str) -> Result:
    return CliRunner().invoke(group, ["usage", *args])


def test_table_has_a_line_for_each_model_and_a_total(empty_home: Path) -> None:
    many = 50_000
    claude_file(
        empty_home, SESSION_A,
        claude_answer("m1", input=many, output=many),
        claude_answer("m2", read=many, write=2 * many, hour=many),
    )  # fmt: skip
    lines = [line.split() for line in run("--by", "model").stdout.splitlines()]
    # Sonnet 4.5, for a million: 3 + 15 for fresh tokens, 0.30 + 3.75 + 6 for the cache.
    numbers = ["2", "50.0", "k", "50.0", "k", "50.0", "k", "100.0", "k", "$1.40"]
    assert lines[1:] == [["claude-sonnet-4-5", *numbers], ["Total", *numbers]]


def test_model_without_price_is_named_and_marked(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", model="unknown-model-9", output=10))
    done = run("--by", "model")
    assert "$0.00+" in done.stdout
    assert "warning: no price is known for unknown-model-9" in done.stderr


def test_json_and_csv_have_the_same_figures(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", input=7, output=11, read=13))
    shown = json.loads(run("--by", "tool", "--json").stdout)
    [row] = csv.DictReader(StringIO(run("--by", "tool", "--csv").stdout))
    assert shown["groups"][0]["tool"] == row["tool"] == "claude"
    for key in ("answers", "input", "output", "cache_read", "tokens"):
        assert str(shown["groups"][0][key]) == row[key]
    assert shown["total"]["tokens"] == 31


def test_current_block_has_a_projection(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", at=NOW, output=100))
    [block] = json.loads(run("--blocks", "--json").stdout)
    assert block["is_current"]
    assert block["projected_tokens"] >= 100
    assert "The current block ends at" in run("--blocks").stdout


def test_budget_warning_names_spent_and_budget(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", at=NOW, output=10, costUSD=85.0))
    assert "budget" not in run().stderr
    CliRunner().invoke(group, ["config", "usage.budget", "100"])
    expected = "warning: this month you have used 85% of your budget: $85.00 of $100"
    assert expected in run().stderr


def test_empty_home_has_a_hint(empty_home: Path) -> None:
    done = run()
    assert (done.exit_code, done.stdout) == (0, "")
    assert "No usage was found." in done.stderr


def test_title_of_a_conversation_cannot_change_the_terminal(empty_home: Path) -> None:
    path = claude_file(empty_home, SESSION_A, claude_answer("m1", output=1))
    path.write_text(path.read_text().replace("Hello", "Clear \\u001b[2J the screen"))
    assert "\x1b" not in run("--by", "conversation").stdout


def test_blocks_name_models_without_price(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", model="unknown-model-9", output=10))
    assert "no price is known for unknown-model-9" in run("--blocks").stderr


def test_filter_that_hides_all_usage_is_named(empty_home: Path) -> None:
    claude_file(empty_home, SESSION_A, claude_answer("m1", output=10))
    assert "hint: try again without --since" in run("--since", "1h").stderr
