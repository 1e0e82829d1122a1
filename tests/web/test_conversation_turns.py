"""What the page tells of a session, and how its text becomes HTML."""

from datetime import UTC, datetime

import pytest

from cortext import Session, SessionMessage
from cortext.features.stats.stats import DayStats, Share
from cortext.formats.text_search.search_query import Snippet
from cortext.web import chart_geometry
from cortext.web.conversation_turns import LONGEST, Turns
from cortext.web.list_page import pieces
from cortext.web.markdown_html import render

WHEN = datetime(2026, 3, 4, tzinfo=UTC)


def call(id: str) -> dict[str, object]:
    return {"id": id, "name": "Bash", "arguments": {"command": f"run {id}"}}


def talk() -> Session:
    return Session(
        "x",
        messages=[
            SessionMessage("user", "Go **on**"),
            SessionMessage("assistant", "", tool_calls=[call("a"), call("b")]),
            SessionMessage("tool", "result of b", tool_call_id="b"),
            SessionMessage("tool", "result of a", tool_call_id="a"),
            SessionMessage("tool", "of nobody", tool_call_id="z"),
            SessionMessage("assistant", "Done."),
        ],
    )


def test_turns_place_result_with_its_call() -> None:
    """Whatever the order; a result without a call stands for itself."""
    turns = list(Turns(talk()).window(1, 6))
    assert [turn.number for turn in turns] == [1, 2, 5, 6]
    assert [(one.result.text, one.answer) for one in turns[1].calls] == [
        ("result of a", 4),
        ("result of b", 3),
    ]


def test_window_returns_only_requested_turns() -> None:
    """Only what is asked for is made ready, and a result is found in its call's turn."""
    turns = Turns(talk())
    assert [turn.number for turn in turns.window(3, 5)] == [5]
    assert list(turns.window(7, 20)) == []
    assert turns.shown_in(3) == 2
    assert turns.shown_in(6) == 6


def test_changed_since_starts_at_call_of_new_result() -> None:
    """A page that knew two messages has to show the second anew."""
    turns = Turns(talk())
    assert turns.changed_since(2) == 2
    assert turns.changed_since(4) == 5
    assert turns.changed_since(6) == 7


def test_requests_lists_nearest_to_message() -> None:
    """Of very many, those near where the reader is."""
    session = Session("x", messages=[SessionMessage("user", f"ask {n}") for n in range(1, 101)])
    found = Turns(session).requests(50, 10)
    assert len(found) == 10
    assert found[0][0] < 50 < found[-1][0]
    assert Turns(session).requests(100, 10)[-1] == (100, "ask 100")
    assert Turns(talk()).requests(1, 10) == [(1, "Go on")]


def test_long_result_is_cut_and_reports_rest() -> None:
    """And says by how much."""
    session = talk()
    session.messages[3] = SessionMessage("tool", "x" * (LONGEST + 5), tool_call_id="a")
    shown = next(Turns(session).window(2, 2)).calls[0]
    assert (len(shown.result.text), shown.result.left) == (LONGEST, 5)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "[a](https://x.invalid/)",
            '<a href="https://x.invalid/" rel="noopener noreferrer nofollow"',
        ),
        ("[a](mailto:a@x.invalid)", '<a href="mailto:a@x.invalid"'),
        ("[a](/v1/sessions)", '<span class="dead" title="/v1/sessions">a</span>'),
        ("[a](//x.invalid)", '<span class="dead"'),
        ("[a](../b.md)", '<span class="dead"'),
        ("[a](javascript:x)", "[a](javascript:x)"),
        ("[a](DATA:text/html,x)", "[a](DATA:text/html,x)"),
        ("[a](file:///etc/passwd)", "[a](file:///etc/passwd)"),
        ("![a](https://x.invalid/b.png)", 'class="image" rel='),
        ("![a](b.png)", '<span class="dead" title="b.png">image: a</span>'),
        ("<b onclick=x>", "&lt;b onclick=x&gt;"),
        ("```python\ndef f(): ...\n```", '<span class="k">def</span>'),
        ("```nonsense\n<b>\n```", "&lt;b&gt;"),
        ("|a|\n|-:|\n|1|", '<td class="right">1</td>'),
    ],
)
def test_markdown_renders_only_safe_links_and_elements(text: str, html: str) -> None:
    """Live links are web pages and mail; nothing else is an element of the text's own."""
    found = render(text)
    assert html in found
    assert "<img" not in found
    assert "style=" not in found


def test_render_breaks_lines_only_when_asked() -> None:
    """Those of agents are wrapped prose."""
    assert "<br" in render("a\nb", breaks=True)
    assert "<br" not in render("a\nb")


def test_calendar_covers_year_of_weeks_ending_today() -> None:
    """The last day is today, a Monday is at the top, and one long day does not hide the others."""
    days = {
        "2026-03-04": DayStats("2026-03-04", 1, 5),
        "2026-03-03": DayStats("2026-03-03", 2, 5000),
    }
    found = chart_geometry.calendar(days, WHEN.date())
    assert found.cells[-1].day == WHEN.date()
    assert {cell.y for cell in found.cells if cell.day.weekday() == 0} == {found.cells[0].y}
    assert [cell.level for cell in found.cells[-3:]] == [0, 4, 1]
    assert found.month_counts[0] == ("March 2026", 3, 5005)
    assert max(cell.x for cell in found.cells) + chart_geometry.CELL <= found.width


def test_bars_combine_small_shares_in_last_bar() -> None:
    """What is too small for a bar of its own is in the last one."""
    shares = [Share(f"t{n}", conversations=n) for n in range(1, 13)]
    found = chart_geometry.bars(shares)
    assert len(found) == 9
    assert found[0].length == 100
    assert sum(bar.share.conversations for bar in found) == sum(range(1, 13))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The WORD is **before** it", "The | WORD | is before it"),
        ("And keep `Cart.WORD` as *it* is", "And keep Cart.| WORD | as it is"),
        ("**WORD** and ~~gone~~", "| WORD | and gone"),
        ("refuses it. ```python def WORD(cart)", "refuses it.  def | WORD |(cart)"),
        ("## A WORD > quoted", "A | WORD | quoted"),
        ("see [the WORD](https://example.com/x) there", "see the | WORD | there"),
        ("WORD 2**3 and a * b and __init__", "| WORD | 2**3 and a * b and __init__"),
        ("x = f(*WORD, **kw)", "x = f(| WORD |, kw)"),
        ("a list WORD [1] (2)", "a list | WORD | [1] (2)"),
    ],
)
def test_snippet_drops_markdown_signs_and_keeps_marks(text: str, shown: str) -> None:
    """What was looked for stays marked; what only looks like a sign stays."""
    at = text.index("WORD")
    snippet = Snippet(text, [(at, at + 4)])
    found = [piece.strip() for piece in pieces(snippet)]
    assert found == [part.strip() for part in shown.split("|")]
    assert "".join(pieces(snippet, signs=True)) == text
