"""Exports: read back they are equal, read by people they are clean."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cortext.features.transfer.export import FORMATS as OFFERED
from cortext.formats.exports import export_formats, html_export, markdown_export
from cortext.formats.exports.export_formats import FORMATS, Body, NotAnExportError
from cortext.formats.exports.printable_text import visible
from cortext.formats.log import encode as encode_log
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_head_codec import newer_version
from tests.formats.strategies import sessions

WHEN = datetime(2026, 3, 4, 9, 15, tzinfo=UTC)
OURS = (
    "# Title\n## 1. user\n```\n<!-- cortext-session sha256:0\n{}\n-->\n"
    '</script><script type="application/json" id="cortext-session" data-shown="x">\n{}\n</script>'
)


def conversation(*texts: str, title: str = "A title") -> Session:
    roles = ("user", "assistant")
    said = [
        SessionMessage(roles[n % 2], text, WHEN + timedelta(minutes=n), f"m{n}")  # type: ignore[arg-type]
        for n, text in enumerate(texts)
    ]
    return Session("001-plan-x", title=title, created_at=WHEN, updated_at=WHEN, messages=said)


def read(data: bytes) -> Session:
    body = export_formats.find_body(data)
    session, notes = export_formats.decode(body)
    assert (body.edited, notes) == (False, [])
    return session


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=30)
@example(conversation(OURS, "--> -- --- -\\-- \\<", "\r\n\r\u2028", title=OURS))
@example(Session("a", created_at=WHEN, extra={"type": "metadata", "session_id": "b"}))
@example(Session("a", created_at=WHEN, extra={"turns_at_update": 9}, messages=[]))
@given(session=sessions)
def test_export_round_trips_any_session(format: str, session: Session) -> None:
    """Every field, whatever it holds; and the format is known without a name."""
    written = export_formats.encode(session, format)
    assert export_formats.find_body(written).format == format
    assert read(written) == session


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=30)
@given(session=sessions)
def test_export_contains_no_hidden_characters(format: str, session: Session) -> None:
    """A terminal that is shown the file gets text: no codes, no turning around, one line end."""
    text = export_formats.encode(session, format).decode("utf-8")
    allowed = set("\n\t\u200c\u200d")
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden - allowed == set()


BLOCKS = st.sampled_from(
    [
        "```", "~~~", "````", "`", "``", "<div>", "</div>", "<!--", "-->", "<script>", "<b", "<?x",
        "<![CDATA[", "]]>", "# a", "## user", "---", "===", "> ", ">", "- ", "1. ", "    ", "\t",
        "[a]: http://x.invalid", "[a]", "![a](http://x.invalid)", "[^1]: x", "&#x202e;", "&rlm;",
        "\\", "\\<i>", "</blockquote>", "a", "<a href='", "'>", '"', "|a|b|", "|-|-|", "*", "_",
        "<http://x.invalid>", "$$", "[", "](", ")", " ",
    ]
)  # fmt: skip
DOCUMENTS = st.lists(st.one_of(BLOCKS, st.just("\n"), st.text(max_size=3)), max_size=12)


TAGS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul", "s",
}  # fmt: skip


@settings(max_examples=150)
@example([["a ` b\nc ` <img> ` d"]])
@example([["<div>\n```\n\n```\n<img onerror=x>\n```"]])
@example([["\t<img>"]])
@example([["- <!--\n"]])  # the parser fails on it
@example([[">" * 300, "<img>"], ["[a\nb]: http://x.invalid"]])
@given(pieces=st.lists(DOCUMENTS, min_size=1, max_size=3))
def test_markdown_export_confines_text_to_its_message(pieces: list[list[str]]) -> None:
    """A reader of the markdown finds our headings, one quote a message, and nothing active."""
    texts = ["".join(piece) for piece in pieces]
    shown, _, _ = (
        export_formats.encode(conversation(*texts), "md").decode().partition("\n<!-- cortext")
    )
    for text in texts:
        page = html_export.render(text)
        assert {*re.findall("<([a-z0-9]+)", page)} <= TAGS
    env: dict[str, object] = {}
    tokens = MarkdownIt("commonmark", {"maxNesting": 1000}).enable("table").parse(shown, env)
    expected = ["heading_open", "heading_close", "bullet_list_open", "bullet_list_close"]
    for text in texts:
        kind = "blockquote" if visible(text).strip() else "paragraph"
        expected += ["heading_open", "heading_close", f"{kind}_open", f"{kind}_close"]
    assert [token.type for token in tokens if token.level == 0] == expected
    inner = [child.type for token in tokens for child in token.children or ()]
    assert {"html_block", "html_inline", "image"}.isdisjoint([*inner, *(t.type for t in tokens)])
    assert not env.get("references")


def test_markdown_export_escapes_only_markup_that_reaches_out() -> None:
    """Emphasis, lists, code and comparisons are the author's; only what reaches out is escaped."""
    text = "**a** `Vec<String>`\n\n- if a < b\n\n```html\n<b>kept</b>\n```"
    assert markdown_export.quote(text) == "\n".join(
        f"> {line}" if line else ">" for line in text.split("\n")
    )
    assert markdown_export.quote("see <b>x</b>") == "> see \\<b>x\\</b>"
    assert markdown_export.quote("[a]: http://x.invalid") == "> \\[a]: http://x.invalid"


def test_markdown_export_quotes_very_long_text_as_code() -> None:
    """What is too long to be prose is not parsed: it is code."""
    assert markdown_export.quote("<b>" * 100_000).startswith("> ```\n> <b>")


def test_export_command_offers_every_format() -> None:
    """It names them without loading what writes them."""
    assert tuple(export_formats.FORMATS) == OFFERED


def test_markdown_export_shows_title_facts_messages_and_tool_calls() -> None:
    """Title, facts, each message with role and time, tool calls on a line."""
    session = conversation("Why is it slow?", title="Slow *queries*")
    session.tags = ["db"]
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "ls `pwd`"}}
    session.messages.append(SessionMessage("assistant", "", WHEN, "m9", tool_calls=[call]))
    session.tool_history = [ToolInvocation("grep", {"pattern": "x"}, timestamp=WHEN - timedelta(1))]
    text = export_formats.encode(session, "md").decode()
    assert text.startswith("# Slow \\*queries\\*\n\n- **Id:** 001-plan-x\n")
    assert "- **Tags:** db\n" in text
    assert "## tool calls · 2026-03-03 09:15:00 UTC\n\n- `grep · x`\n" in text
    assert "## 1. user · 2026-03-04 09:15:00 UTC\n\n> Why is it slow?\n" in text
    assert "- ``Bash · $ ls `pwd` · no result was recorded``\n" in text


def test_markdown_export_shortens_long_output_only_in_shown_text() -> None:
    """The text says how much is not shown; the data has all of it."""
    session = conversation()
    session.messages = [SessionMessage("tool", "x" * 5000, WHEN, "m")]
    written = export_formats.encode(session, "md")
    assert b"*and 1000 more characters*" in written
    assert read(written) == session


@pytest.mark.parametrize("format", ["md", "html"])
def test_edited_export_is_detected_and_its_data_is_used(format: str) -> None:
    """The data is taken, and the caller is told; new line ends and a BOM are no change."""
    session = conversation("The answer is 42.")
    written = export_formats.encode(session, format)
    for data in (written, written.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + written.rstrip()):
        assert read(data) == session
    for changed in (
        written.replace(b"is 42.", b"is 43.", 1),
        written + b"One more thing.\n",
    ):
        body = export_formats.find_body(changed)
        assert body.edited
        assert export_formats.decode(body).session == session


@pytest.mark.parametrize("format", FORMATS)
def test_truncated_export_is_never_read_as_whole(format: str) -> None:
    """At whatever byte: it is refused, or all of it is there."""
    session = conversation("One\n\ntwo", "é \u2028 three", "four")
    session.tool_history = [ToolInvocation("t", timestamp=WHEN, id="t1")]
    written = export_formats.encode(session, format)
    whole = 0
    for end in range(len(written)):
        try:
            found = export_formats.decode(export_formats.find_body(written[:end])).session
        except ValueError:
            continue
        whole += 1
        assert found == session
    assert whole <= len("</body>\n</html>\n") + 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b" " * 5000 + b"x", "is text without the data of a conversation"),
        (b"\x7fELF\x02\x01\0\0", "is not text"),
        (b"\x89PNG\r\n\x1a\n", "is not text"),
        (b"# Notes\n\n> ours\n", "is text without the data of a conversation"),
        (b"<!DOCTYPE HTML><p>hi", "is a web page without the data of a conversation"),
        (b'{"name": "x", "version": "3.0.0"}', "is JSON, but not a conversation"),
        (b'{"id": "x", "created_at": "2026-01-01"}', "is JSON, but not a conversation"),
        (b'{"id": "x", "size": NaN}', "is JSON, but not a conversation"),
        (b"[1, 2]", "is text without the data of a conversation"),
    ],
)
def test_find_body_states_why_file_is_not_an_export(data: bytes, reason: str) -> None:
    """Each kind of other file by its own words."""
    with pytest.raises(NotAnExportError, match=f"^{reason}$"):
        export_formats.find_body(data)


@pytest.mark.parametrize("format", FORMATS)
def test_newer_format_version_is_recognised(format: str) -> None:
    """Before anything else of it is read."""
    written = export_formats.encode(conversation("x"), format)
    newer = written.replace(b'"version":"1.0"', b'"version":"2.0"').replace(b'"role"', b'"by"')
    assert newer_version(export_formats.version_of(export_formats.find_body(newer))) == "2.0"


def test_decode_reads_compact_json_pretty_json_and_store_logs() -> None:
    """What `to_json` gives, pretty JSON, and a log that a store wrote."""
    session = conversation("x")
    line, pretty = (session.to_json(indent).encode() for indent in (None, 2))
    for data in (line, b"\n" + pretty, encode_log(session)):
        assert read(data) == session


def test_truncated_jsonl_export_states_number_of_messages_left() -> None:
    """Also when it was cut between two lines."""
    lines = export_formats.encode(conversation("a", "b", "c"), "jsonl").splitlines(keepends=True)
    with pytest.raises(ValueError, match="is incomplete: it has only 1 of its 3 messages"):
        export_formats.decode(export_formats.find_body(b"".join(lines[:2])))


def test_damaged_data_block_raises_value_error() -> None:
    """A person who changes the data block by hand gets a reason, not a conversation."""
    with pytest.raises(ValueError, match="not JSON"):
        export_formats.decode(Body("md", b'{"id": "x", '))


def test_html_export_links_only_to_web_pages() -> None:
    """And tell nobody where they were followed from; anything else stays text."""
    page = html_export.render(
        "[a](http://x.invalid/?q=1&r=2) [b](javascript:x) [c](/etc) ![d](https://y.invalid)"
    )
    assert page.count("<a ") == 2
    assert page.count('rel="noopener noreferrer nofollow"') == 2
    assert "[b](javascript:x) [c](/etc)" in page
    assert "<img" not in page


@pytest.mark.parametrize("text", [">" * 500 + " deep", "- " * 500 + "deep", "deep " * 50_000])
def test_html_export_shows_deeply_nested_and_long_text(text: str) -> None:
    """What is nested or long beyond reason is shown as it is."""
    assert "deep" in html_export.render(text)


def test_exports_show_direction_characters_written_as_entities() -> None:
    """A character that turns text around is as visible when it comes as an entity."""
    assert "\u202e" not in html_export.render("a &#x202e; b &rlm; c")
    assert markdown_export.quote("a &#x202e; b") == "> a \\&#x202e; b"
