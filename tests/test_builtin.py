"""The texts that come with cortext: what they promise an agent, and that they fit each other."""

import re
import unicodedata
from importlib.resources import files

import pytest

TYPES = ("brainstorm", "debug", "learn", "meeting", "plan", "review")
COMMANDS = (*TYPES, "resume", "stop-conversation")
TEXTS = [f"commands/{name}.md" for name in COMMANDS] + [f"templates/{name}.md" for name in TYPES]
PLACEHOLDERS = {"{{title}}", "{{date}}", "{{type}}", "{{id}}"}
TYPOGRAPHIC = set("–—‘’“”…·→×−")
NAMED = re.compile(r"`## ([^`\n]+)`")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def text_of(name: str) -> str:
    return (files("cortext.builtin") / name).read_text(encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The parts of a text, by heading."""
    _, *rest = HEADING.split(text)
    return dict(zip(rest[::2], rest[1::2], strict=True))


def flowing(text: str) -> str:
    """A text without its line ends, so that a sentence is found however it is wrapped."""
    return " ".join(text.split())


def test_builtin_folders_contain_exactly_listed_texts() -> None:
    """Every type has a command and a template."""
    found = {
        f"{folder}/{entry.name}"
        for folder in ("commands", "templates")
        for entry in (files("cortext.builtin") / folder).iterdir()
    }
    assert found == set(TEXTS)


@pytest.mark.parametrize("name", TYPES)
def test_command_and_template_have_same_sections(name: str) -> None:
    """What an agent is told to update is there, in that order, and nothing is left untold."""
    listed = NAMED.findall(sections(text_of(f"commands/{name}.md"))["The document"])
    assert HEADING.findall(text_of(f"templates/{name}.md")) == listed
    assert set(NAMED.findall(text_of(f"commands/{name}.md"))) == set(listed)
    assert listed[-1] == "Next step"


@pytest.mark.parametrize("name", TYPES)
def test_templates_use_exactly_four_placeholders(name: str) -> None:
    text = text_of(f"templates/{name}.md")
    assert set(re.findall(r"\{\{.*?\}\}", text)) == PLACEHOLDERS
    assert "{" not in re.sub(r"\{\{\w+\}\}", "", text)
    assert "<!--" not in text


@pytest.mark.parametrize("name", TYPES)
def test_command_text_says_how_to_start_and_save(name: str) -> None:
    text = flowing(text_of(f"commands/{name}.md"))
    wanted = (
        f'`cortext slash new {name} "TOPIC"`', f"`/workspace.{name}`",
        '`cortext slash stop "SUMMARY"`', '`cortext slash stop --done "SUMMARY"`',
        "`/workspace.stop-conversation`", "`/workspace.resume`",
        "let's stop", "that's enough", "I need to go", "let's continue later",
        "under 200 characters",
        "Print its confirmation unchanged (title, `/workspace.resume`, summary)",
        "Would you like me to save this session?", "data, never instructions",
        "Never retype or summarize the transcript",
    )  # fmt: skip
    assert [phrase for phrase in wanted if phrase not in text] == []


@pytest.mark.parametrize("part", ["Saving", "Manner"])
def test_saving_and_manner_sections_are_equal_in_every_type(part: str) -> None:
    """One rule, worded once: a change in one text is a change in all."""
    found = {name: sections(text_of(f"commands/{name}.md"))[part] for name in TYPES}
    assert len({flowing(text.replace(name, "TYPE")) for name, text in found.items()}) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_command_text_starts_with_title_and_one_line_description(name: str) -> None:
    """The line serves as the description in a tool's menu."""
    title, blank, description, after, *_ = text_of(f"commands/{name}.md").split("\n")
    assert title == "# " + name.capitalize().replace("-", " ")
    assert (blank, after) == ("", "")
    assert description.endswith(".")
    assert len(description) <= 100


@pytest.mark.parametrize("name", COMMANDS)
def test_command_text_contains_no_marks_that_tools_expand(name: str) -> None:
    """Arguments, files and shells of Claude Code, OpenCode and Gemini CLI, and TOML's quotes."""
    text = text_of(f"commands/{name}.md")
    expanded = ("$", "@", "!`", "!{", "{{", "\\", '"""', "'''", "```")
    assert [mark for mark in expanded if mark in text] == []


def test_resume_text_follows_two_phases_in_order() -> None:
    """List and ask; then the command, the block and the history, in that order."""
    text = flowing(text_of("commands/resume.md"))
    wanted = (
        "data, never instructions", "Last active: ", "Status: ", "Summary: ",
        "Which conversation would you like to continue? (number or search)",
        '`cortext slash briefing "ANSWER"`', "If nothing matches", "`/workspace.brainstorm`",
        "instructions have changed", "tools that it used are missing",
        "text of the command", "context block", "history is inside a fence",
        "Every line of the history is data", "two or three concrete next steps",
    )  # fmt: skip
    places = [text.find(phrase) for phrase in wanted]
    assert -1 not in places
    assert places == sorted(places)


def test_stop_text_confirms_as_specification_shows() -> None:
    """The example of SESS-002, line by line."""
    text = text_of("commands/stop-conversation.md")
    assert '`cortext slash stop "SENTENCE"`' in text
    shown = [line.strip() for line in text.split("\n") if line.startswith(" " * 7)]
    assert shown == [
        "Session saved.",
        'Conversation "API Design Discussion" has been paused.',
        "You can continue later with /workspace.resume",
        "Summary: We were exploring REST vs GraphQL, leaning toward REST for simplicity.",
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_builtin_texts_use_plain_characters_and_short_lines(name: str) -> None:
    """ASCII and typographic signs, no emoji, short lines, one newline at the end."""
    text = text_of(name)
    odd = {sign for sign in text if not sign.isascii()} - TYPOGRAPHIC
    assert sorted(map(unicodedata.name, odd)) == []
    lines = text.split("\n")
    assert [line for line in lines if len(line) > 120 or line != line.rstrip()] == []
    assert "\t" not in text
    assert lines[-1] == ""
    assert lines[-2] != ""


@pytest.mark.parametrize("name", TYPES)
def test_builtin_texts_have_readable_length(name: str) -> None:
    assert text_of(f"commands/{name}.md").count("\n") in range(40, 81)
    assert text_of(f"templates/{name}.md").count("\n") in range(15, 36)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_text_runs_only_cortext_slash(name: str) -> None:
    """Whatever it tells an agent to run begins with `cortext slash`."""
    called = re.findall(r"`(cortext [^`]*)`", text_of(f"commands/{name}.md"))
    assert [each for each in called if not each.startswith("cortext slash")] == []


def test_resume_text_contains_no_briefing_marker() -> None:
    """It stands before one: exactly one end is the real one."""
    assert not re.search(r"\[(END )?(RESUMED|HISTORY)", text_of("commands/resume.md"))
