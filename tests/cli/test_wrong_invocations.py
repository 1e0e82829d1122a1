"""Invocations that are slightly wrong: one sentence, a hint, the documented exit code."""

from pathlib import Path

import pytest

from tests.command import begin, cortext, ok

ID = "001-plan-a-pond"
WRONG: list[tuple[list[str], int, str]] = [
    (["list", "-n", "0"], 2, "0 is too small; the smallest value is 1"),
    (["list", "-n", "many"], 2, "'many' is not a number"),
    (["list", "-all"], 2, "No such option '-all'. Did you mean --all?"),
    (["list", "pond"], 2, "This command takes no words."),
    (["list", "--since", "tommorow"], 2, "'tommorow' is not a valid time"),
    (["list", "--type", "plam"], 1, "did you mean plan?"),
    (["list", "--store", "bogus:x"], 2, "'bogus:x' is not a store"),
    (["list", "--in", "nowhere"], 0, "no conversation matches: there is no folder or project "),
    (["search"], 2, "Missing argument 'WORDS...'"),
    (["search", "  "], 1, "hint: give words of the conversation"),
    (["search", "***"], 1, "The query has no word to search for."),
    (["search", "deep", "-n", "10001"], 2, "10001 is too large; the largest value is 10000"),
    (["search", "deep", "--branch", "nope"], 1, "no conversation matches --branch nope."),
    (["search", "deep", "--tag", "nope"], 1, "no conversation matches --tag nope."),
    (["search", "deep", "--in", "nowhere"], 1, "(this folder does not exist)"),
    (["search", "deep", "--since", "2025", "--until", "2020"], 2, "--since is later than --until"),
    (["show", "nope"], 3, "error: conversation not found: nope\nhint: "),
    (["show", "99"], 3, "a number refers to the last list in the same terminal"),
    (["show", ID, "--at", "9999"], 2, "error: no message 9999; this conversation has 2"),
    (["show", ID, "--at", "agents"], 2, "has no sub-agents"),
    (["resume", "-t", "codex", "pond"], 2, "No such option '-t'. Did you mean --tool?"),
    (["resume", ID, "--budget", "10"], 2, "10 is too small; the smallest value is 4000"),
    (["resume", ID, "--last"], 2, "give a query or --last, not both"),
    (["export", ID, "-o", "nowhere/x.md"], 1, "there is no folder nowhere\nhint: "),
    (["export", ID, "-o", "x.pdf"], 1, "hint: choose a format with --format"),
    (["export", ID, "--from", "0"], 2, "0 is too small"),
    (["export", ID, "--from", "7"], 2, "error: no message 7; this conversation has 2"),
    (["import", "nope.json"], 1, "error: there is no file nope.json\nhint: "),
    (["import", "/bin/sh"], 1, "error: /bin/sh is not text\nhint: "),
    (["import", "."], 1, "error: . is a folder, not a file\nhint: "),
    (["import", "-"], 1, "error: standard input is empty\nhint: "),
    (["trash", "restore", "7"], 3, "error: the trash has no item 7\nhint: "),
    (["delete", ID], 1, "error: confirmation needed, but this is not a terminal\nhint: "),
    (["tag", ID, "--remove", "nope"], 0, f"{ID} does not have the tag nope.\n"),
    (["tag", ID, ""], 2, "a tag must not be empty"),
    (["tag", ID, "#"], 2, "a tag must not be empty"),
    (["rename", ID, " "], 1, "error: the title must not be empty"),
    (["config", "list.limt", "3"], 3, "hint: did you mean list.limit?"),
    (["config", "resume.budget", "-5"], 2, "resume.budget cannot be -5; allowed: "),
    (["config", "resume.budget", "--unsett"], 2, "Did you mean --unset?"),
    (["config", "--bogus"], 2, "No such option '--bogus'."),
    (["setup", "--bogus"], 2, "No such option '--bogus'."),
    (["stats", "--since", "never"], 2, "'never' is not a valid time"),
    (["stats", "--days", "7"], 2, "No such option '--days'."),
    (["new", "brianstorm", "x"], 1, "hint: did you mean brainstorm?"),
    (["ask", "how deep"], 2, 'Give the conversation and the question: `cortext ask QUERY "QUES'),
    (["web", "--port", "99999"], 2, "99999 is too large; the largest value is 65535"),
    (["lst"], 2, "Did you mean `list`?"),
]


@pytest.fixture(scope="module")
def pond_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrong") / "work"
    root.mkdir()
    ok(root, "init")
    assert begin(root, "plan", "A pond", "How deep?", "80 cm.") == ID
    return root


@pytest.mark.parametrize(("words", "code", "sentence"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_invocation_gets_sentence_and_documented_exit_code(
    pond_workspace: Path, words: list[str], code: int, sentence: str
) -> None:
    done = cortext(pond_workspace, *words)
    assert "Traceback" not in done.stderr
    assert "unexpected error" not in done.stderr
    assert sentence in done.stderr
    assert done.returncode == code


def test_help_of_command_is_shown_by_help_word(pond_workspace: Path) -> None:
    assert ok(pond_workspace, "help", "search") == ok(pond_workspace, "search", "--help")
